"""What charts are made of, by hand: the numbers of a page's curves, and colours."""

import math

import pytest

from heteroselect.comparison.report.chart import drawn
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.style import COLOURS, ON_DARK


def test_scales_have_room_for_all_seeds_and_the_target(make_run, tmp_path):
    """The metric from 0.1 to 0.9, which is the target, with 3 % of that on both sides; costs begin at 0."""
    make_run("a1", accuracies=(0.1, 0.3))
    make_run("a2", seed=2, accuracies=(0.2, 0.5))
    found = drawn(compare([tmp_path]))
    assert (found["y"]["low"], found["y"]["high"]) == pytest.approx((0.076, 0.924))
    rounds, seconds, *_ = found["panels"]
    assert [(one["low"], one["high"], one["log"]) for one in (rounds, seconds)] == [(0, 2, False), (0, 21, False)]
    (line,) = rounds["lines"]
    assert (line["x"], line["y"], line["low"], line["high"]) == ([1, 2], [0.15, 0.4], [0.1, 0.3], [0.2, 0.5])


def test_amounts_of_another_order_have_a_logarithmic_axis(make_run, tmp_path):
    make_run("a")
    make_run("b", method="frugal", each={"bytes_up": 100_000})
    scales = [(one["low"], one["high"], one["log"]) for one in drawn(compare([tmp_path]))["panels"]]
    assert scales == [(0, 4, False), (0, 41, False), (0.1, 8, True), (0, 4, False)]


def test_runs_that_never_change_have_a_scale_of_some_height(make_run):
    y = drawn(compare([make_run("a", accuracies=(0.9, 0.9))]))["y"]
    assert y["low"] < 0.9 < y["high"]


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_lines_stand_out_from_both_pages():
    """Contrast by WCAG: 2 for the lightest of Okabe and Ito's colours on white, 4.5 for all on the dark page."""
    for colours, page, least in ((COLOURS, "#ffffff", 2.0), (ON_DARK, "#1a1d21", 4.5)):
        for colour in colours:
            light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= least, colour
    assert not math.isclose(luminance(COLOURS[0]), luminance(ON_DARK[0]))
