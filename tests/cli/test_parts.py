"""Parts chosen by name on the command line, shipped ones and a user's own."""

import json
import re
import tomllib
from importlib.util import find_spec

import pytest

import heteroselect
from heteroselect.runs.folder import CONFIG, SUMMARY
from heteroselect.settings.config import load

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # they train, draw or start processes

SELDOM = """
from dataclasses import dataclass
import numpy as np
from heteroselect.round.method import Method

@dataclass(frozen=True)
class Seldom:
    weight: float = 1.0
    def select(self, scores, context):
        return context.cohort(np.argsort(context.population.counts, kind="stable")[:context.size])

MINE = Method("mine", select=Seldom(2.0))
"""


@pytest.fixture
def seldom(here):
    (here / "mine.py").write_text(SELDOM)
    return "mine.py:Seldom"


def test_every_role_can_be_chosen_and_what_a_kind_brought_is_printed(call, here, quick):
    chosen = ("--method", "fedavg", "--set", "method.select.kind=oort", "--set", "method.compress.kind=stc")
    code, _, err = call(*quick(*chosen, "--out", "mine"))
    assert code == 0
    brought = [line for line in err.splitlines() if " brings " in line]
    assert [re.sub(r" \(.*", "", line) for line in brought] == [
        "method.select.kind=oort brings method.weigh.kind=uniform",
        "method.compress.kind=stc brings method.error_feedback.kind=error",
        "method.compress.kind=stc brings method.allocate.kind=uniform",
    ]
    config = tomllib.loads((here / "mine" / CONFIG).read_text())
    assert config["version"] == 2
    kinds = {"select": "oort", "weigh": "uniform", "compress": "stc", "error_feedback": "error", "allocate": "uniform"}
    assert {role: config["method"][role]["kind"] for role in kinds} == kinds
    for silent in ("--quiet", "--json"):
        assert " brings " not in call(*quick(*chosen, silent))[2]


def test_python_and_the_command_line_agree_and_settings_are_resolved_once(call, here, quick, monkeypatch):
    changes = {"clients": 12, "selected": 4, "target": 0.5, "method.solver.steps": 5, "method.solver.batch": 8}
    changes |= {"data.name": "points.npz", "method.select.kind": "oort"}
    result = heteroselect.run("mnist", rounds=3, settings=changes)
    calls = []
    monkeypatch.setattr("heteroselect.runs.calls.load", lambda *words, **more: calls.append(1) or load(*words, **more))
    printed = json.loads(call(*quick("--json", "--set", "method.select.kind=oort"))[1])
    assert printed["model_sha256"] == result.model_sha256
    assert len(calls) == 1


def test_a_part_of_ones_own_is_run_shown_and_resumed(call, here, quick, seldom):
    assert call(*quick("--quiet", "--out", "mine", "--set", f"method.select.kind={seldom}"))[0] == 0
    written = tomllib.loads((here / "mine" / CONFIG).read_text())["method"]["select"]
    assert (written["kind"], written["weight"], len(written["source"])) == (seldom, 1.0, 32)
    assert "heteroselect with select mine.py:Seldom on points.npz" in " ".join(call("show", "mine")[1].split())
    summary = json.loads((here / "mine" / SUMMARY).read_text())
    (here / "mine" / SUMMARY).unlink()  # as if it had been killed before its end
    code, _, err = call("resume", "mine")
    assert (code, "name its file again, --set method.select.kind=FILE.py:NAME" in err) == (2, True)
    code, out, _ = call("resume", "mine", "--json", "--quiet", "--set", f"method.select.kind={seldom}")
    assert code == 0
    assert json.loads(out)["model_sha256"] == summary["model_sha256"]


def test_a_method_of_ones_own_is_run_listed_and_resumed(call, here, quick, seldom):
    assert call(*quick("--quiet", "--out", "mine", "--method", "mine.py:MINE"))[0] == 0
    shown = call("methods", "mine.py:MINE")[1]
    assert "mine: your own, from mine.py:MINE" in shown
    assert re.search(r"select +own:Seldom +weight=2.0\n", shown)
    (here / "mine" / SUMMARY).unlink()
    assert "--method FILE.py:NAME" in call("resume", "mine")[2]
    assert call("resume", "mine", "--quiet", "--method", "mine.py:MINE") == (0, "", "")
    (here / "mine" / SUMMARY).unlink()
    (here / "mine.py").write_text(SELDOM + "\n")
    assert "has changed since the run began" in call("resume", "mine", "--method", "mine.py:MINE")[2]


def test_an_interrupted_run_names_the_files_that_it_needs(call, here, quick, seldom, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("heteroselect.runs.loop.play_round", stop)
    code, _, err = call(*quick("--quiet", "--out", "a", "--set", f"method.select.kind={seldom}"))
    assert code == 130
    assert f"`heteroselect resume a --set method.select.kind={seldom}` continues it" in err
    err = call(*quick("--quiet", "--out", "b", "--method", "mine.py:MINE"))[2]
    assert "`heteroselect resume b --method FILE.py:NAME` continues it" in err


def test_a_mistake_in_ones_own_code_shows_that_code_alone_and_leaves_the_place_free(call, here, quick, seldom):
    words = quick("--quiet", "--out", "mine", "--set", f"method.select.kind={seldom}")
    (here / "mine.py").write_text(SELDOM.replace("context.population", "context.popultion"))
    code, _, err = call(*words)
    assert code == 2
    assert "line 10, in select" in err
    assert "AttributeError" in err
    assert err.splitlines()[-1] == f"heteroselect: {here / 'mine.py'} has raised this."
    assert err.count('File "') == 1  # nothing of ours
    assert not (here / "mine").exists()
    if find_spec("tensorboard"):
        assert call(*words, "--log", "tensorboard")[0] == 2
        assert not (here / "mine").exists(), "its log is not left, either"
    (here / "mine.py").write_text(SELDOM)
    assert call(*words)[0] == 0


def test_a_comparison_says_that_ones_own_file_has_changed(call, here, seldom):
    words = ("compare", "mnist", "--methods", "mine.py:MINE", "--seeds", 1, "--rounds", 1, "--out", "grid")
    small = [word for change in ("clients=12", "selected=4", "data.name=points.npz") for word in ("--set", change)]
    assert call(*words, *small)[0] == 0
    (here / "mine.py").write_text(SELDOM + "# the same\n")
    code, _, err = call(*words, *small)
    assert (code, "(method.source: your file has changed); name a new folder" in err) == (2, True)


def test_a_mistake_after_the_first_round_loses_none_of_the_rounds(call, here, quick, seldom):
    check = "        assert context.moment.round < 2\n"
    (here / "mine.py").write_text(
        SELDOM.replace("        return context.cohort", check + "        return context.cohort")
    )
    code, _, err = call(*quick("--quiet", "--out", "mine", "--set", f"method.select.kind={seldom}"))
    assert (code, "AssertionError" in err) == (2, True)
    assert len((here / "mine" / "rounds.jsonl").read_text().splitlines()) == 1


def test_comparing_prints_what_each_method_was_brought(call, here):
    small = ("--set", "clients=12", "--set", "selected=4", "--set", "rounds=2", "--set", "method.solver.steps=2")
    chosen = ("--set", "data.name=points.npz", "--set", "method.compress.kind=stc")
    code, out, err = call("compare", "mnist", "--methods", "fedavg,fedprox", *small, *chosen, "--out", "grid")
    assert code == 0, err
    assert "fedprox" in out
    assert err.count("brings method.error_feedback.kind=error") == 2
    assert "fedavg: method.compress.kind=stc brings" in err
    code, _, err = call("show", "grid")
    assert (code, err.endswith("the table of this comparison is grid/compare.md.\n")) == (2, True)
