"""The picture of a run: it draws what is in the folder, and the same run gives the same file."""

import pytest

from heteroselect.comparison.report.figure import draw_run, drawn
from heteroselect.errors import HeteroSelectError
from heteroselect.settings import PaperRow

pytestmark = pytest.mark.slow  # pictures

SUMMARY = {"method": "heteroselect", "dataset": "mnist", "seed": 42, "target": 0.9}
ROUNDS = [
    {
        "round": t,
        "accuracy": 0.8 + 0.01 * t if t != 2 else None,
        "cumulative_seconds": 20.0 * t,
        "bytes_up_paper": 1e5,
        "bytes_up": 110000,
    }
    for t in range(1, 6)
]
PAPER = [PaperRow(source="Table", rounds_to_target=5, seconds_to_target=118.3, megabytes_to_target=0.61)]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_each_format(tmp_path, ending, magic):
    path = tmp_path / f"run.{ending}"
    draw_run(SUMMARY, ROUNDS, PAPER, path)
    assert path.read_bytes().startswith(magic)


def test_the_same_run_gives_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_another_run_gives_another_file(tmp_path):
    draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "a.svg")
    draw_run(SUMMARY, ROUNDS[:-1], PAPER, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def ticks(panel, axis):
    """What is written beside an axis, as far as it can be seen."""
    panel.figure.draw_without_rendering()
    low, high = sorted(panel.get_ylim() if axis == "y" else panel.get_xlim())
    found = (panel.yaxis if axis == "y" else panel.xaxis).get_major_ticks()
    return [tick.label1.get_text() for tick in found if low <= tick.get_loc() <= high]


@pytest.mark.parametrize("values", [(0.899, 0.9, 0.901), (0.1, 0.9, 0.95), (0.9,)])
@pytest.mark.parametrize("metric", [{}, {"metric": {"name": "MSE", "higher": False, "unit": ""}}])
def test_ticks_are_distinct(values, metric):
    lines = [{**ROUNDS[0], "round": t, "accuracy": value} for t, value in enumerate(values, 1)]
    left, *_ = drawn(SUMMARY | metric, lines, []).axes
    for axis in ("x", "y"):
        found = ticks(left, axis)
        assert len(set(found)) == len(found) >= 2
    assert all(float(word) == int(float(word)) for word in ticks(left, "x")), "a round is a whole number"
    assert any("%" in word for word in ticks(left, "y")) is not bool(metric)


def test_the_papers_mark_is_inside_the_panel():
    for panel, x in zip(drawn(SUMMARY, ROUNDS[:2], PAPER).axes, (5, 118.3, 0.61), strict=True):
        assert panel.get_xlim()[1] > x


def test_values_that_are_not_float32_are_drawn_by_real_bytes_alone():
    plain, few = (drawn({**SUMMARY, "sends_float32": one}, ROUNDS, PAPER).axes[2] for one in (True, False))
    assert "values only" in plain.get_xlabel()
    assert "values only" not in few.get_xlabel()
    assert few.get_lines()[0].get_xdata()[-1] == pytest.approx(0.55)
    assert all(line.get_marker() != "*" for line in few.get_lines()), "the paper counted values"


def test_a_long_name_is_wrapped():
    figure = drawn({**SUMMARY, "title": "heteroselect with " + "another part, " * 20}, ROUNDS, [])
    figure.draw_without_rendering()
    box = figure.get_suptitle()
    assert "\n" in box
    assert figure._suptitle.get_window_extent().width < figure.bbox.width


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(HeteroSelectError, match=r"allowed endings are \.png, \.svg, \.pdf"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "run.gif")


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(HeteroSelectError, match="cannot be written"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "none" / "run.png")
