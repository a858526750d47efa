"""Crossing: pairs of two settings, what is refused before the first run, and what is written."""

import csv
import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from commands import call, sets
from heteroselect import HeteroSelectError
from heteroselect.comparison import cross as crosses
from heteroselect.comparison import cross_table as tables
from heteroselect.comparison import grid as grids
from heteroselect.comparison.over_seeds import in_line
from heteroselect.comparison.report import heatmap
from heteroselect.comparison.study import plan
from heteroselect.runs.folder import read_rounds, read_summary

SMALL = {"clients": 8, "selected": 3, "rounds": 2, "method.solver.steps": 2, "target": 0.1}
AXES = ("--cross", "method.compress.kind=topk,drive", "--cross", "method.error_feedback.kind=none,error")


def words(out: Path, *more: str) -> list[object]:
    return ["compare", "mnist", "--seeds", "1,2", "--out", out, *sets(SMALL), *more]


def crossing(out: Path, axes: dict, seeds: list[int], method: str = "fedavg") -> crosses.Crossing:
    study = crosses.study_of("mnist", [method], axes, seeds, {})
    return crosses.arranged(study, plan(study, out))


@pytest.mark.parametrize(
    "pairs",
    [
        ["method.select.kind=uniform,oort"],
        ["method.select.kind=uniform,oort", "rounds"],
        ["method.select.kind=uniform,oort", "rounds=3"],
        ["method.select.kind=uniform,oort", "rounds=3,3"],
        ["rounds=3,4", "rounds=5,6"],
    ],
)
def test_axes_that_cannot_be_understood(pairs: list[str], tmp_path: Path) -> None:
    with pytest.raises(HeteroSelectError, match="--cross: give two settings, each with two or more values"):
        crossing(tmp_path, crosses.read_axes(pairs), [1])


def test_a_pair_that_cannot_work_is_refused_and_a_value_that_never_works_is_an_error(tmp_path: Path) -> None:
    found = crossing(tmp_path, crosses.read_axes([AXES[1], AXES[3]]), [2, 1])
    assert list(found.refused) == [(1, 1)]
    assert "error_feedback none only" in found.refused[1, 1]
    pairs = ["topk, none", "topk, error", "drive, none"]
    assert [cell.method for cell in found.all_cells[:3]] == [f"fedavg, {pair}" for pair in pairs]
    wrong = {"method.compress.kind": ("topk", "dirve"), "method.error_feedback.kind": ("none", "error")}
    with pytest.raises(HeteroSelectError, match=r"compress.kind=dirve works with no value"):
        crossing(tmp_path, wrong, [1])


@pytest.mark.slow
def test_all_pairs_are_run_and_a_failure_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = grids.play_cell

    def fails(cell: grids.Cell, **more):
        if cell.method == "fedavg, topk, error" and cell.seed == 2:
            raise ZeroDivisionError("as a part of one's own may")
        return played(cell, **more)

    monkeypatch.setattr(grids, "play_cell", fails)
    out = tmp_path / "out"
    found = call(*words(out, *AXES))
    assert found.exit_code == 1, found.output
    assert "left out: compress drive and error_feedback error" in found.output
    assert "1 of 6 runs are not there yet: fedavg, topk, error" in found.output
    with (out / "cross.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["status"] for line in lines] == ["finished"] * 3 + ["failed"] + ["finished"] * 2 + ["refused"]
    page = (out / "cross.html").read_text()
    for text in (
        "error_feedback none only",
        "no result with seed 2",
        'alt="Final accuracy, %. compress ',
        "too few to tell",
        "The clock (everything)",
        "fedavg leaves out epochs of plain SGD",
    ):
        assert text in page
    assert "- fedavg leaves out epochs of plain SGD" in (out / "cross.md").read_text()
    assert "<script" not in page
    monkeypatch.setattr(grids, "play_cell", played)
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("summary.json")}
    again = call(*words(out, *AXES, "--json"))
    assert again.exit_code == 0, again.output
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items()), "nothing is run twice"
    content = json.loads(again.stdout)
    assert "error_feedback none only" in content["refused"]["compress drive and error_feedback error"]
    folder = out / "fedavg, drive, none" / "seed-2"
    summary, rounds = read_summary(folder), read_rounds(folder)
    cell = {name: np.array(one["values"], float)[1, 0, 1] for name, one in content["outcomes"].items()}
    assert cell["final_accuracy"] == rounds[-1]["accuracy"]
    assert cell["megabytes_up"] == pytest.approx(sum(line["bytes_up"] for line in rounds) / 1e6)
    kinds = ("up", "down", "scoring", "calibration")
    assert cell["megabytes"] == pytest.approx(sum(line[f"bytes_{kind}"] for line in rounds for kind in kinds) / 1e6)
    assert summary["title"] == "fedavg with compress drive"
    other = call(*words(out, *AXES, "--set", "method.solver.steps=3"))
    assert "holds a run with other settings" in str(other.exception), "and nobody's result is taken for another's"


def test_one_method_is_crossed_and_nobody_elses_tables_are_replaced(tmp_path: Path) -> None:
    found = call(*words(tmp_path / "x", *AXES, "--methods", "fedavg,oort"))
    assert "--methods: give one method" in str(found.exception)
    (tmp_path / "cross.md").write_text("mine")
    assert "no report" in str(call(*words(tmp_path, *AXES)).exception)
    (tmp_path / "cross.md").write_text(tables.MADE)
    (tmp_path / "cross.json").write_text(json.dumps({"runs": [{"row": "fedavg, qsgd, 1", "seed": 1}]}))
    found = str(call(*words(tmp_path, *AXES)).exception)
    assert "cross.md has the rows fedavg, qsgd, 1 with the seeds 1, some of which would be lost; ask for" in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cross.json", "cross.md"]


def test_costs_are_taken_apart_by_factors() -> None:
    """A codec that halves the bytes of both selectors does not interact with them."""

    class Given(crosses.Crossing):
        def values(self, outcome: str) -> np.ndarray:
            return np.array([[[8.0], [4.0]], [[2.0], [1.0]]])

        runs: ClassVar = {(0, 0, 0): dict.fromkeys(crosses.OUTCOMES, 1.0)}

    found = Given("fedavg", {"a": (1, 2), "b": (1, 2)}, (1,), {})
    effects = found.effects("megabytes_up")
    assert effects.interaction.value == pytest.approx(0, abs=1e-12)
    outcome = crosses.OUTCOMES["megabytes_up"]
    assert [outcome.effect(one.value) for one in (*effects.rows, *effects.columns)] == [
        "× 2", "× 0.5", "× 1.41", "× 0.707",
    ]  # fmt: skip
    assert tables.interaction(outcome, effects) == "Interaction (root mean square over pairs): × 1."
    additive = found.effects("final_accuracy")
    assert additive.interaction.value == pytest.approx(0.75)
    assert tables.pair_rows(found, "final_accuracy", additive) == [["1", "+75.00", "-75.00"], ["2", "-75.00", "+75.00"]]
    assert tables.interaction(crosses.OUTCOMES["megabytes"], effects).endswith("no chance is given.")


def test_the_page_shows_what_each_pair_has_beyond_its_two_values() -> None:
    """Means 1, 2 / 3, 8 % of accuracy: the pairs have 1 point more and 1 less than their values add up to."""
    shared = np.array([-0.005, 0.0, 0.005])
    means = dict(zip(PLACES, (0.01, 0.02, 0.03, 0.08), strict=True))
    found = filled({place: (mean + shared).tolist() for place, mean in means.items()}, "final_accuracy")
    text = tables.markdown(found, "heteroselect compare")
    assert "| interaction: a / b | 1 | 2 |" in text
    assert "| 1 | +1.00 (+1.00 to +1.00) | -1.00 (-1.00 to -1.00) |" in text
    assert "<td>+1.00 (+1.00 to +1.00)</td><td>-1.00 (-1.00 to -1.00)</td>" in heatmap.render(found, "")


def filled(figures: dict[tuple[int, int], list[float | None]], outcome: str) -> crosses.Crossing:
    """A crossing of two by two whose runs, of three seeds, have these figures; one that is missing failed."""

    class Filled(crosses.Crossing):
        runs: ClassVar = {
            (*place, at): {**dict.fromkeys(crosses.OUTCOMES), outcome: value, "summary": ENDS}
            for place, values in figures.items()
            for at, value in enumerate(values)
        }

    return Filled("fedavg", {"a": (1, 2), "b": (1, 2)}, (1, 2, 3), dict.fromkeys(PLACES, ()))


PLACES = [(0, 0), (0, 1), (1, 0), (1, 1)]
ENDS = {"total_seconds": 30.0, "total_wire_megabytes": 3.0, "status": "finished"}


def test_a_seed_that_never_arrives_counts_and_there_is_no_mean_over_the_others() -> None:
    """Of 10, never and 20 seconds the median is 20; 15 is the mean of those who happened to arrive."""
    seconds = {(0, 0): [10.0, None, 20.0], (0, 1): [10.0, None, None], (1, 0): [1.0, 2.0, 6.0]}
    found = filled(seconds, "seconds_to_target")
    told = [in_line(*tables.told(found, "seconds_to_target", place)) for place in PLACES]
    assert told == ["20.00 (from 10.00), 2 of 3 arrived", "> 30.00, 1 of 3 arrived", "2.00 (1.00 – 6.00)", "failed"]
    np.testing.assert_array_equal(found.middles("seconds_to_target"), [[20, np.inf], [2, np.inf]])
    assert found.effects("seconds_to_target") is None
    text = f"{tables.markdown(found, 'heteroselect compare')}{heatmap.render(found, '')}"
    assert "15.00" not in text


def test_what_the_chosen_kinds_leave_out_of_their_papers_stands_below(tmp_path: Path) -> None:
    axes = crosses.read_axes(["method.select.kind=uniform,oort", "method.compress.kind=none, stc"])
    assert axes == {"method.select.kind": ("uniform", "oort"), "method.compress.kind": ("none", "stc")}
    found = tables.missing_of_papers(crossing(tmp_path, axes, [1], "flexcom"))
    assert found[0] == "flexcom: the rule is a reconstruction from the paper's abstract."
    assert [line.split(",")[0] for line in found[1:]] == [
        "flexcom leaves out energy",
        "oort leaves out over-commitment",
        "stc leaves out compression downwards",
    ]


def test_a_pair_with_a_failed_run_has_no_mean_of_its_others() -> None:
    found = filled({(0, 0): [0.5, 0.7], (0, 1): [0.5, 0.6, 0.7]}, "final_accuracy")
    assert tables.told(found, "final_accuracy", (0, 0)) == ("—", "2 of 3 runs")
    assert tables.told(found, "final_accuracy", (0, 1)) == ("60.00", "± 10.00")
    np.testing.assert_allclose(found.middles("final_accuracy"), [[np.nan, 0.6], [np.nan, np.nan]])
