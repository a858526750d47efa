"""The parts of a page's charts, by hand: scales and lines. What they look like in a browser is tested there."""

import math
import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.lines import UNITS, Panel, Scale, Series, path
from heteroselect.comparison.report.style import COLOURS, ON_DARK

ends = st.floats(-1e3, 1e3)


def test_the_ticks_of_a_scale():
    assert Scale(0, 100).ticks == [(0, "0"), (0.2, "20"), (0.4, "40"), (0.6, "60"), (0.8, "80"), (1, "100")]
    assert [label for _, label in Scale(0.842, 0.925, percent=True).ticks] == ["86%", "88%", "90%", "92%"]
    assert [label for _, label in Scale(0.9, 0.905, percent=True).ticks] == [f"90.{digit}%" for digit in range(6)]
    assert [label for _, label in Scale(0, 2_500).ticks] == ["0", "500", "1,000", "1,500", "2,000", "2,500"]
    assert [label for _, label in Scale(0.05, 30, log=True).ticks] == ["0.1", "1", "10"]
    assert Scale(1, 100, log=True).places(np.array([1.0, 10.0, 100.0])).tolist() == [0, UNITS // 2, UNITS]


@given(ends, st.floats(1e-4, 1e6))
def test_every_scale_has_a_few_ticks_in_order_and_within(low, span):
    ticks = Scale(low, low + span).ticks
    shares = [share for share, _ in ticks]
    assert 2 <= len(ticks) <= 7
    assert shares == sorted(shares)
    assert all(-1e-6 <= share <= 1 + 1e-6 for share in shares)


def test_a_scale_has_room_for_all_values():
    assert Scale.over([3.0, 5.0], zero=True) == Scale(0.0, 5.0)
    assert Scale.over([1.0, 3.0], margin=0.5) == Scale(0.0, 4.0)
    one = Scale.over([7.0, 7.0])
    assert one.low < 7 < one.high
    assert Scale.over([], zero=True) == Scale(0.0, 1.0)


def test_a_line_is_where_its_values_are():
    series = Series(0, "a <b>", "c0 solid", np.array([0.0, 5.0, 10.0]), np.array([0.0, 1.0, 0.5]))
    panel = Panel("round", "share", Scale(0, 10), Scale(0, 1), (series,), (0.25, "target"))
    html = panel.html()
    assert f'd="M0 {UNITS}l5000-10000 5000 5000"' in html
    assert '<path class="rule" d="M0 7500h10000"/>' in html


def test_one_point_is_a_dot():
    series = Series(0, "a", "c0 solid", np.array([1.0]), np.array([0.5]))
    assert (
        '<path class="dots c0 solid" data-m="0" d="M10000 5000h0"/>'
        in Panel("round", "y", Scale(0, 1), Scale(0, 1), (series,), (0.5, "target")).html()
    )


@given(st.lists(st.integers(0, UNITS), min_size=2, max_size=60))
def test_the_moves_of_a_line_lead_to_its_end(heights):
    x, y = np.arange(len(heights)) * 10, np.array(heights)
    numbers = [int(number) for number in re.findall(r"-?\d+", path(x, y))]
    assert (sum(numbers[0::2]), sum(numbers[1::2])) == (x[-1], y[-1])


def test_many_clients_and_rounds_share_cells_and_the_highest_is_shown():
    lines = [{"selected": [t % 1000], "weights": [0.5 if t == 321 else 0.1]} for t in range(900)]
    cells = curves.by_client(lines, "weights", 1000)
    assert cells.shape == (250, 225)
    assert cells[321 // 4, 321 // 4] == np.float32(0.5)
    assert np.nansum(np.isfinite(cells)) == 225
    assert curves.by_client(lines[:5], "weights", 10).shape == (10, 5)


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
