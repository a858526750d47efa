"""Tables and curves in a notebook: numbers that can be checked by hand, and nothing that runs or loads."""

import re
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heteroselect import HeteroSelectError
from heteroselect.core.measure import ACCURACY, Measure
from heteroselect.runs.display.curves import Curve, curve
from heteroselect.runs.display.html import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, chart, table, ticks

LINES = [
    {"round": t, "accuracy": a, "bytes_up": 250_000, "cumulative_seconds": 10.0 * t}
    for t, a in ((1, 0.5), (2, None), (3, 0.7), (4, 0.9))
]


def test_a_curve_has_the_rounds_that_were_evaluated_by_what_was_spent_until_then():
    assert curve(LINES, "rounds") == Curve((1, 3, 4), (0.5, 0.7, 0.9))
    assert curve(LINES, "seconds").x == (10, 30, 40)
    assert curve(LINES, "megabytes", "a", 1) == Curve((0.25, 0.75, 1.0), (0.5, 0.7, 0.9), "a", 1)
    with pytest.raises(HeteroSelectError, match="axis: allowed are rounds, seconds, megabytes, not 'bytes'"):
        curve(LINES, "bytes")


def drawing(text: str) -> Xml.Element:
    return Xml.fromstring(re.search(r"<svg.*?</svg>", text, re.S)[0])


def test_the_points_of_a_chart_are_where_they_belong():
    found = drawing(chart([Curve((0, 5, 10), (0.2, 0.6, 1.0))], "round", ACCURACY, target=0.6))
    (line,) = found.findall(".//{*}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    middle = (HEIGHT - BOTTOM + TOP) / 2
    assert points == [(LEFT, HEIGHT - BOTTOM), ((LEFT + WIDTH - RIGHT) / 2, middle), (WIDTH - RIGHT, TOP)]
    (target,) = found.findall(".//{*}line")
    assert float(target.get("y1")) == float(target.get("y2")) == middle
    words = [text.text for text in found.findall(".//{*}text")]
    assert [word for word in words if word.endswith("%")] == ["20%", "40%", "60%", "80%", "100%"]
    assert words[-2:] == ["round", "accuracy"]


def test_a_page_of_a_stranger_runs_nothing():
    name = "<script>alert(1)</script>"
    text = table(("", name), [[name, "1"]]) + chart(
        [Curve((1, 2), (3, 4), name), Curve((1,), (2,), "b", 1)], name, Measure(name, False, "")
    )
    assert "<script" not in text
    assert not re.search(r"(href|src)=", text)
    assert text.count("■") == 2, "a legend"
    assert text.count("<circle") == 1, "of the curve with one point"
    assert chart([Curve((), ())], "round", ACCURACY) == ""


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_and_within_the_axis(low, width):
    high = low + width
    if high - low < 1e-9 * max(1, abs(low)):
        return
    found = ticks(low, high)
    assert 1 <= len(found) <= 5
    assert all(low - 1e-6 * width <= tick <= high + 1e-6 * width for tick in found)
    assert found == sorted(set(found))
