"""Comparisons and studies from Python: the command line's runs to the bit, and models and data of one's own."""

import json
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from commands import call, sets
from heteroselect import HeteroSelectError, Metric, methods
from heteroselect.comparison.grid import play_cell
from heteroselect.world import DrawnWorld, GivenDevices, Links

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # whole runs

SMALL = {"clients": 8, "selected": 3, "method.solver.steps": 2, "target": 0.3}


@dataclass(frozen=True)
class Newest:
    """Those with the highest numbers."""

    def select(self, scores, context):
        return context.cohort(np.arange(len(context.ids))[-context.size :])


OWN = replace(methods.get("fedavg"), name="newest", select=Newest())


def points(seed: int = 0) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Six clients, and a test set of the same kind."""
    generator, found = torch.Generator().manual_seed(seed), []
    for _ in range(7):
        x = torch.randn(30, 4, generator=generator)
        found.append((x, (x[:, 0] > 0).long()))
    return found


def own(seed: int = 0) -> dict[str, object]:
    *data, test = points(seed)
    return {"model": lambda: nn.Linear(4, 2), "data": data, "test": test}


def test_python_and_the_command_line_do_the_same(tmp_path):
    words = ["compare", "mnist", "--methods", "fedavg,oort", "--seeds", "1,2", "--rounds", "2", *sets(SMALL)]
    found = call(*words, "--out", tmp_path / "there")
    assert found.exit_code == 0, found.output
    context = heteroselect.compare("mnist", ["fedavg", "oort"], seeds=[1, 2], rounds=2, settings=SMALL)
    kept = json.loads((tmp_path / "there" / "compare.json").read_text())
    assert [run["model_sha256"] for run in kept["runs"]] == [run["model_sha256"] for run in context.summaries]
    assert [row["label"] for row in kept["table"]] == [row.label for row in context.table.rows]
    assert context.folder is None
    # and goes on with what the other began, in the same folder
    given = {"seeds": [1, 2], "rounds": 2, "settings": SMALL, "out": tmp_path / "there"}
    again = heteroselect.compare("mnist", ["fedavg", "oort"], **given)
    assert json.loads((again.folder / "compare.json").read_text())["command"] == kept["command"]


def test_methods_models_and_data_of_ones_own(tmp_path, monkeypatch):
    given = {"settings": {"selected": 2, "rounds": 2}, "out": tmp_path / "mine"}
    heteroselect.compare({}, ["fedavg"], seeds=[1], **given, **own())
    found = heteroselect.compare({}, ["fedavg", OWN], seeds=[1, 2], **given, **own())  # more methods and more seeds
    assert [(one["row"], one["seed"], one["dataset"]) for one in found.summaries] == [
        (row, seed, "own") for row in ("fedavg", "newest") for seed in (1, 2)
    ]
    assert {tuple(line["selected"]) for line in found.rounds["newest", 1]} == {(4, 5)}
    changes = {**given["settings"], "world.charge": "everything"}
    alone = heteroselect.run({}, seed=1, method="fedavg", settings=changes, **own())
    assert found.summaries[0]["model_sha256"] == alone.model_sha256

    # what is there is not run again, and other data is not taken for it
    runs = []
    monkeypatch.setattr(
        "heteroselect.comparison.grid.play_cell", lambda cell, **rest: runs.append(cell.done) or play_cell(cell, **rest)
    )
    again = heteroselect.compare({}, ["fedavg", OWN], seeds=[1, 2], **given, **own())
    assert runs == [True] * 4
    assert [one["model_sha256"] for one in again.summaries] == [one["model_sha256"] for one in found.summaries]
    with pytest.raises(HeteroSelectError, match=r"holds another run \(data: .*name a new folder"):
        heteroselect.compare({}, ["fedavg", OWN], seeds=[1, 2], **given, **own(seed=1))


def test_a_comparison_shows_itself(monkeypatch):
    found = heteroselect.compare("mnist", ["fedavg", "fedcg"], seeds=[1, 2], rounds=2, settings=SMALL)
    page = found._repr_html_()
    assert page.count("<table>") == 3, "how good, how soon, at what cost"
    assert page.count("<polyline") == 4
    assert page.count("■") == 2
    assert not re.search(r"<script|href=|src=", page)
    assert repr(found).endswith(": 4 runs>")
    assert repr(replace(found, rounds={("fedavg", 1): []})).endswith(": 1 run>")
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib

    matplotlib.use("agg")
    axes = found.plot("rounds")
    assert len(axes.lines) == 5, "a line per run, and the target"
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"fedavg", "fedcg*"}
    matplotlib.pyplot.close(axes.figure)
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = found.to_frame()
    assert frame.loc[("fedcg", 2), "model_sha256"] == found.summaries[-1]["model_sha256"]


def test_rounds_and_steps_that_do_not_wait_are_on_one_axis_of_time():
    """Five clients take a second per step, and one takes fifty: FedAvg's rounds last for 100 s, and FedBuff's steps, of
    five answers each, for 2 s."""
    world = DrawnWorld(Links(1e6, 1e6), GivenDevices(np.array([1.0] * 5 + [50.0])))
    settings = {"selected": 6, "method.solver.steps": 2, "method.lr.start": 0.5, "target": 0.7}
    given = {"seeds": [1], "rounds": 12, "charge": "uplink", "settings": settings, "world": world}
    found = heteroselect.compare({}, ["fedavg", "fedbuff"], **given, **own())
    for summary, each in zip(found.summaries, (100.0, 2.0), strict=True):
        lines, reached = found.rounds[summary["method"], 1], summary["rounds_to_target"]
        assert np.cumsum([line["seconds"] for line in lines]) == pytest.approx(each * np.arange(1, 13), rel=1e-3)
        assert summary["seconds_to_target"] == pytest.approx(each * reached, rel=1e-3)
    shown = {row.method: row.figures["seconds_to_target"] for row in found.table.rows}
    assert shown == {summary["method"]: [summary["seconds_to_target"]] for summary in found.summaries}
    assert shown["fedbuff"] < shown["fedavg"]
    curves = {line.get_label(): line.get_xdata()[-1] for line in found.plot("seconds").lines[:2]}
    assert sorted(curves.values()) == pytest.approx([24, 1200], rel=1e-3)


def test_a_method_that_fails_does_not_stop_the_others():
    @dataclass(frozen=True)
    class Broken:
        def select(self, scores, context):
            raise RuntimeError("no selection")

    broken = replace(methods.get("fedavg"), name="broken", select=Broken())
    with pytest.warns(UserWarning, match=r"broken, seed 1 \(2 of 2\): RuntimeError: no selection"):
        found = heteroselect.compare({}, ["fedavg", broken], seeds=[1], settings={"selected": 2, "rounds": 1}, **own())
    assert [row.method for row in found.table.rows] == ["fedavg"]
    assert list(found.failed) == ["broken"]


def test_a_reason_is_told_once_whoever_else_fails_for_it(tmp_path, monkeypatch):
    """As where the data set is not there: the rows keep it each, people read it once."""
    said = []
    monkeypatch.setattr("warnings.warn", lambda text, *_, **__: said.append(str(text)))
    with pytest.raises(HeteroSelectError, match="compare: no run has come to its end"):
        heteroselect.compare("cifar10", ["fedavg", "oort"], seeds=[1, 2], settings={"data.dir": str(tmp_path)})
    first, *others = [text for text in said if "seed" in text]
    assert first.startswith("fedavg, seed 1 (1 of 4): The data set cifar10 is not in")
    assert [text.partition(": ")[2] for text in others] == 3 * [
        "stopped, for the same reason as fedavg, seed 1 (1 of 4)."
    ]


def test_a_study_from_tables_with_claims_and_ones_own_data(tmp_path):
    rows = [{"method": "fedavg"}, {"name": "far", "method": "fedavg", "settings": {"method.solver.steps": 9}}]
    claim = {"text": "more steps end higher", "better": "far", "than": "fedavg"}
    tables = {"seeds": [1, 2], "settings": {"selected": 2, "rounds": 2}, "row": rows, "claim": [claim]}
    found = heteroselect.study(tables, out=tmp_path / "mine", results=tmp_path / "all.json", **own())
    assert [row.method for row in found.table.rows] == ["fedavg", "far"]
    assert "more steps end higher" in found.claims[0]
    assert "more steps end higher" in found._repr_html_()
    assert (tmp_path / "mine" / "study.md").is_file()
    assert len(json.loads((tmp_path / "all.json").read_text())["runs"]) == 4
    with pytest.raises(HeteroSelectError, match="study: row: give one or more rows"):
        heteroselect.study({"row": []})


def test_a_metric_that_a_table_cannot_tell_is_refused():
    with pytest.raises(HeteroSelectError, match=r'metric: .*unit "%" and higher=True, not MSE'):
        heteroselect.compare({}, ["fedavg"], metric=Metric(lambda a, b: 0.0, "MSE", False, ""), **own())


def test_a_comparison_is_a_function_whatever_was_imported_before():
    import heteroselect.comparison.calls

    assert callable(heteroselect.compare)
    assert callable(heteroselect.study)
    assert set(heteroselect.__all__) <= set(dir(heteroselect))
