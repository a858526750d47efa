"""Pictures of a comparison: every one in its formats, and the same runs give the same files."""

import pytest
from matplotlib import rc_context

from heteroselect.comparison.report import MARK, pictures
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.pictures import (
    accuracy,
    draw_run,
    embedded,
    names,
    of_run,
    race,
    score_parts,
    selections,
    target_bars,
    uniform_curves,
    write,
)
from heteroselect.errors import HeteroSelectError
from heteroselect.settings import PaperRow
from run_folders import NOTE, line

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
    others = write(compare([make_run("c", accuracies=(0.2, 0.3, 0.4))]), tmp_path / "others")
    assert [a.name for a, b in zip(others, written, strict=True) if a.read_bytes() == b.read_bytes()] == []


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


def test_bars_that_have_no_length_say_why(make_run):
    """The paper names no round: it never reached its target. Its bytes count values of 32 bits."""
    paper = [{"source": "Table I", "peak_accuracy": 0.5}]
    found = compare([make_run("a", summary={"sends_float32": False}, settings={"paper": paper})])
    assert bars(found, "seconds")["the paper: Table I"] == (0.0, 0.0, 0.0, "not reached")
    assert bars(found, "megabytes")["ours"] == (0.0, 0.0, 0.0, "— not float32")
    assert bars(found, "wire_megabytes")["ours"][0] == 6.0


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


SUMMARY = {"method": "heteroselect", "dataset": "mnist", "seed": 42, "target": 0.9}
ROUNDS = [line(t, seed=1, accuracy=0.8 + 0.01 * t if t != 2 else None) for t in range(1, 6)]
PAPER = [PaperRow(source="Table", rounds_to_target=9, seconds_to_target=118.3, megabytes_to_target=8.61)]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_picture_of_a_run_in_each_format(tmp_path, ending, magic):
    for name, rounds in (("a", ROUNDS), ("b", ROUNDS), ("other", ROUNDS[:-1])):
        draw_run(SUMMARY, rounds, PAPER, tmp_path / f"{name}.{ending}")
    one, again, other = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("a", "b", "other"))
    assert one.startswith(magic)
    assert one == again != other


@pytest.mark.parametrize(("name", "why"), [("run.gif", r"\.png, \.svg, \.pdf"), ("none/run.png", "cannot be written")])
def test_a_picture_that_cannot_be_made(tmp_path, name, why):
    with pytest.raises(HeteroSelectError, match=f"--figure: .*{why}"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / name)


def ticks(panel, axis):
    """What is written beside an axis, as far as it can be seen."""
    panel.figure.draw_without_rendering()
    low, high = sorted(panel.get_ylim() if axis == "y" else panel.get_xlim())
    found = (panel.yaxis if axis == "y" else panel.xaxis).get_major_ticks()
    return [tick.label1.get_text() for tick in found if low <= tick.get_loc() <= high]


@pytest.mark.parametrize("values", [(0.899, 0.9, 0.901), (0.1, 0.9, 0.95), (0.9,)])
@pytest.mark.parametrize("metric", [{}, {"metric": {"name": "MSE", "higher": False, "unit": ""}}])
def test_ticks_are_distinct(values, metric):
    lines = [line(t, seed=1, accuracy=value) for t, value in enumerate(values, 1)]
    first, *_ = of_run(SUMMARY | metric, lines, []).axes
    for axis in ("x", "y"):
        found = ticks(first, axis)
        assert len(set(found)) == len(found) >= 2
    assert all(float(word) == int(float(word)) for word in ticks(first, "x")), "a round is a whole number"
    assert any("%" in word for word in ticks(first, "y")) is not bool(metric)


def test_the_papers_mark_is_inside_the_panels_and_real_bytes_have_none():
    rounds, seconds, real, values = of_run(SUMMARY, ROUNDS, PAPER).axes
    assert [panel.get_xlim()[1] > at for panel, at in ((rounds, 9), (seconds, 118.3), (values, 8.61))] == [True] * 3
    assert all(drawn.get_marker() != "*" for drawn in real.get_lines())
