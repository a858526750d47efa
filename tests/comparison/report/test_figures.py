"""Figures for a paper: every one in both formats, and the same runs give the same files."""

import pytest
from matplotlib import rc_context

from heteroselect.comparison.report import figures
from heteroselect.comparison.report.figures import accuracy, names, race, score_parts, selections, write
from heteroselect.comparison.report.load import compare
from heteroselect.errors import HeteroSelectError

pytestmark = pytest.mark.slow  # pictures


def test_each_figure_is_a_pdf_and_a_png(make_run, tmp_path):
    make_run("a1", method="$_^{", seed=1)
    make_run("a2", method="$_^{", seed=2)
    make_run("b", method="_slow", accuracies=(0.1,), summary={"reconstruction": True})
    found = compare([tmp_path / "runs"])
    written = write(found, tmp_path / "figures", "mark-of-ours")
    assert sorted(path.name for path in written) == sorted(names())
    for path in written:
        content = path.read_bytes()
        assert content.startswith({".pdf": b"%PDF", ".png": b"\x89PNG", ".svg": b"<?xml"}[path.suffix])
        assert b"mark-of-ours" in content
    again = write(found, tmp_path / "again", "mark-of-ours")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_other_runs_give_other_figures(make_run, tmp_path):
    one = write(compare([make_run("a")]), tmp_path / "one", "m")
    two = write(compare([make_run("b", accuracies=(0.2, 0.3, 0.4))]), tmp_path / "two", "m")
    assert [a.name for a, b in zip(one, two, strict=True) if a.read_bytes() == b.read_bytes()] == []


def test_score_parts_only_where_a_method_scores(make_run, tmp_path):
    written = write(compare([make_run("a", each={"score_parts": None})]), tmp_path / "figures", "m")
    assert {path.stem for path in written} == {"accuracy", "to-target", "selections", "race"}


def test_each_part_of_the_score_has_a_scale_of_its_own(make_run):
    figure = score_parts(compare([make_run("a")]))
    figure.canvas.draw()
    for panel in figure.axes:
        assert panel.get_ylabel().startswith("mean ")
        assert any(label.get_text() and label.get_visible() for label in panel.get_yticklabels())
    assert [panel.get_xlabel() for panel in figure.axes] == ["", "", "round", "round"]


@pytest.mark.parametrize("draw", [accuracy, selections, score_parts])
def test_many_methods_with_long_names_leave_room_for_the_panels(make_run, tmp_path, draw):
    with rc_context(figures._STYLE):
        few = draw(compare([make_run("few")]))
        for place in range(12):
            make_run(f"run{place}", method=f"method {place:02} with a name of some length, as rows of a study have")
        many = draw(compare([tmp_path / "runs"]))
        for figure in (few, many):
            figure.canvas.draw()
    heights = [figure.axes[0].get_window_extent().height for figure in (few, many)]
    assert heights[1] > 0.8 * heights[0]
    (legend,) = many.legends
    assert legend.get_window_extent().width <= many.bbox.width


def test_the_race_has_a_logarithmic_axis_where_methods_send_amounts_of_another_order(make_run, tmp_path):
    make_run("a")
    make_run("b", method="alike", each={"bytes_up": 4_000_000})
    assert [panel.get_xscale() for panel in race(compare([tmp_path / "runs"])).axes] == ["linear", "linear"]
    make_run("c", method="frugal", each={"bytes_up": 100_000})
    assert [panel.get_xscale() for panel in race(compare([tmp_path / "runs"])).axes] == ["linear", "log"]


def test_a_place_that_cannot_be_written(make_run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(HeteroSelectError, match="cannot be written"):
        write(compare([make_run("a")]), tmp_path / "file", "m")
