"""Pictures of a comparison: every one in its formats, and the same runs give the same files."""

import pytest
from matplotlib import rc_context

from heteroselect.comparison.report import MARK, pictures
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.pictures import (
    accuracy,
    embedded,
    names,
    race,
    score_parts,
    selections,
    target_bars,
    uniform_curves,
    write,
)
from heteroselect.errors import HeteroSelectError
from run_folders import NOTE

pytestmark = pytest.mark.slow  # pictures


def test_each_figure_is_a_pdf_and_a_png(make_run, tmp_path):
    make_run("a1", method="$_^{", seed=1)
    make_run("a2", method="$_^{", seed=2)
    make_run("b", method="_slow", accuracies=(0.1,), summary={"reconstruction": True})
    found = compare([tmp_path / "runs"])
    written = write(found, tmp_path / "figures")
    assert sorted(path.name for path in written) == sorted(names())
    for path in written:
        content = path.read_bytes()
        assert content.startswith({".pdf": b"%PDF", ".png": b"\x89PNG", ".svg": b"<?xml"}[path.suffix])
        assert MARK.encode() in content
    again = write(found, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_other_runs_give_other_figures(make_run, tmp_path):
    one = write(compare([make_run("a")]), tmp_path / "one")
    two = write(compare([make_run("b", accuracies=(0.2, 0.3, 0.4))]), tmp_path / "two")
    assert [a.name for a, b in zip(one, two, strict=True) if a.read_bytes() == b.read_bytes()] == []


def test_score_parts_only_where_a_method_scores(make_run, tmp_path):
    written = write(compare([make_run("a", each={"score_parts": None})]), tmp_path / "figures")
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
    with rc_context(pictures._STYLE):
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
        write(compare([make_run("a")]), tmp_path / "file")


def bars(comparison, axis):
    labels = [group.label for group in comparison.groups] + [f"the paper: {row.source}" for row in comparison.paper]
    return dict(zip(labels, target_bars(comparison, axis), strict=True))


def test_bars_are_medians_with_the_range_of_the_seeds_and_the_paper_below(make_run, tmp_path):
    make_run("a1", seed=1)
    make_run("a2", seed=2)
    make_run("b", method="slow", accuracies=(0.1, 0.2))
    make_run("c1", method="lucky", seed=1)
    make_run("c2", method="lucky", seed=2, accuracies=(0.1, 0.2))
    for seed in (1, 2, 3):
        make_run(f"d{seed}", method="often", seed=seed, accuracies=(0.1, 0.2) if seed == 1 else (0.1, 0.9))
    found = compare([tmp_path])
    assert bars(found, "seconds") == {
        "ours": (31.5, 31.0, 32.0, ""),
        "slow": (0.0, 0.0, 0.0, "not reached"),
        "lucky": (0.0, 0.0, 0.0, "1 of 2 arrived"),  # the median seed did not
        "often": (23.0, 22.0, 23.0, "2 of 3 arrived"),
        "the paper: Table I": (42.0, 42.0, 42.0, ""),
    }
    assert bars(found, "megabytes")["ours"] == (3.0, 3.0, 3.0, "")
    assert bars(found, "megabytes")["the paper: Table I"][0] == 6.1
    assert bars(found, "wire_megabytes")["ours"] == (6.0, 6.0, 6.0, "")
    assert bars(found, "wire_megabytes")["the paper: Table I"][-1] == "not given"


def test_values_that_are_not_float32_have_no_count_of_values(make_run):
    found = compare([make_run("a", summary={"sends_float32": False})])
    assert bars(found, "megabytes")["ours"] == (0.0, 0.0, 0.0, "— not float32")
    assert bars(found, "wire_megabytes")["ours"][0] == 6.0


def test_a_paper_that_names_no_round_never_reached_it(make_run):
    found = compare([make_run("a", settings={"paper": [{"source": "Table I", "peak_accuracy": 0.5}]})])
    assert bars(found, "seconds")["the paper: Table I"] == (0.0, 0.0, 0.0, "not reached")


def test_one_binomial_for_runs_of_the_same_size(make_run, tmp_path):
    make_run("a")
    make_run("b", method="other")
    make_run("c", method="short", accuracies=(0.5, 0.6))
    (long, four), (short, two) = uniform_curves(compare([tmp_path]))
    assert long == "even chances: Binomial(4, 0.4)"
    assert four == pytest.approx([0.1296, 0.3456, 0.3456, 0.1536, 0.0256])
    assert short == "even chances: Binomial(2, 0.4)"
    assert two == pytest.approx([0.36, 0.48, 0.16])


def test_the_world_is_drawn_of_runs_that_noted_it(make_run):
    folders = [make_run("new", each={"world": NOTE}), make_run("old", method="theirs")]
    world = {"seconds_spent", "waited_for", "speeds", "available"}
    assert world <= set(embedded(compare(folders)))
    assert not world & set(embedded(compare([folders[1]])))
    always = embedded(compare([make_run("all", each={"world": NOTE | {"there": None}})]))
    assert world - set(always) == {"available"}
