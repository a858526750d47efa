"""A user's own method from a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.settings import own
from heteroselect.settings.config import load

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # whole runs

SMALL = {"clients": 8, "selected": 2, "rounds": 4}

MINE = '''
from dataclasses import dataclass, replace

import numpy as np

from heteroselect import methods


@dataclass(frozen=True)
class Seldom:
    """Whoever has taken part least often; among equals those with the higher score."""

    patience: int = 0

    def select(self, scores, context):
        return context.cohort(np.lexsort((-scores, context.population.counts))[: context.size])


seldom = replace(methods.get("heteroselect"), name="seldom", select=Seldom())
plain = replace(methods.get("fedavg"), name="plain", select=Seldom())


def tunable(settings):
    return seldom
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def sets(**more: object) -> list[str]:
    return [word for key, value in {**SMALL, **more}.items() for word in ("--set", f"{key}={value}")]


def test_the_command_line_and_python_run_the_same(mine: Path, tmp_path: Path) -> None:
    found = call("run", "mnist", "--method", f"{mine}:seldom", "--out", tmp_path / "run", "--quiet", *sets())
    assert found.exit_code == 0, found.output
    handed = heteroselect.run("mnist", method=own.method(f"{mine}:seldom"), settings=SMALL)
    assert handed.model_sha256 == read_summary(tmp_path / "run")["model_sha256"]
    chosen = [client for line in read_rounds(tmp_path / "run") for client in line["selected"]]
    assert sorted(chosen) == list(range(8)), "four rounds of two, nobody twice"


def test_settings_reach_its_parts(mine: Path, tmp_path: Path) -> None:
    words = ["--set", "method.lr.start=0.01", "--set", "method.select.patience=2", *sets()]
    found = call("run", "mnist", "--method", f"{mine}:seldom", "--out", tmp_path / "run", "--quiet", *words)
    assert found.exit_code == 0, found.output
    assert read_rounds(tmp_path / "run")[-1]["learning_rate"] == pytest.approx(0.005)
    found = load("mnist", method=f"{mine}:seldom", changes={"method.select.patience": 2, "method.solver.steps": 3})
    assert (found.method.select.patience, found.method.solver.steps) == (2, 3)
    assert found.config.method["select"] == {"kind": "own:Seldom", "patience": 2}
    with pytest.raises(HeteroSelectError, match=r"method\.select\.patience: allowed is a whole number"):
        load("mnist", method=f"{mine}:seldom", changes={"method.select.patience": "long"})


def test_kinds_are_crossed_into_it_by_name(mine: Path) -> None:
    found = load("mnist", method=f"{mine}:plain", changes={"method.compress.kind": "stc"})
    assert (found.method.name, found.method.error_feedback.kind) == ("plain", "error")
    assert len(found.brought) == 2


def test_a_run_of_it_is_run_again_from_its_config_and_resumed(mine: Path, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    words = ["--method", f"{mine}:seldom", "--quiet"]
    changes = sets(**{"method.lr.start": 0.01, "simulate.checkpoint_rounds": 1})
    assert call("run", "mnist", "--out", first, *words, *changes).exit_code == 0
    assert call("run", first / "config.toml", "--out", second, *words).exit_code == 0
    assert (second / "config.toml").read_bytes() == (first / "config.toml").read_bytes()

    def stop(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heteroselect.run(first / "config.toml", method=f"{mine}:seldom", out=third, watch=stop)
    with pytest.raises(HeteroSelectError, match=r"FILE\.py:NAME"):
        heteroselect.resume(third)
    assert call("resume", third, *words).exit_code == 0
    ends = {read_summary(path)["model_sha256"] for path in (first, second, third)}
    assert len(ends) == 1
    found = call("run", first / "config.toml", "--out", tmp_path / "no")
    assert isinstance(found.exception, HeteroSelectError)
    assert "FILE.py:NAME" in str(found.exception)


def test_it_is_compared_with_others_and_the_grid_goes_on(mine: Path, tmp_path: Path) -> None:
    names = ["--methods", f"heteroselect,{mine}:seldom,{mine}:plain", "--seeds", "1,2", "--out", tmp_path / "grid"]
    for _ in range(2):
        found = call("compare", "mnist", *names, "--quiet", *sets(**{"method.solver.steps": 2}))
        assert found.exit_code == 0, found.output
    table = json.loads((tmp_path / "grid" / "compare.json").read_text())
    assert [(run["method"], run["seed"]) for run in table["runs"]] == [
        (name, seed) for name in ("heteroselect", "seldom", "plain") for seed in (1, 2)
    ]
    found = call("compare", "mnist", "--methods", f"{mine}:seldom,{mine.parent}/./{mine.name}:seldom", *sets())
    assert "two of them have one name" in str(found.exception)


def test_it_is_marked_as_the_users_own(mine: Path) -> None:
    found = call("methods", f"{mine}:seldom")
    assert found.exit_code == 0, found.output
    assert "seldom: your own" in found.output
    assert "Seldom" in found.output


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:x", "is not there"),
        ("{mine}:nothing", "has no 'nothing'"),
        ("{mine}:np", "is a module; allowed is a Method"),
        ("{mine}:tunable", "is a function; allowed is a Method"),
        ("{mine}:Seldom", "allowed is a Method"),
        ("{mine}", "FILE.py:NAME"),
    ],
)
def test_what_is_wrong_is_said(mine: Path, name: str, sentence: str) -> None:
    with pytest.raises(HeteroSelectError, match=sentence):
        load("mnist", method=name.format(mine=mine))


def test_a_whole_method_is_no_part(mine: Path) -> None:
    with pytest.raises(HeteroSelectError, match=r"method\.select\.kind: .* is a whole Method"):
        load("mnist", changes={"method.select.kind": f"{mine}:seldom"})


def test_a_file_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(HeteroSelectError, match=r"cannot be read .ZeroDivisionError"):
        own.method(f"{path}:x")


def test_a_name_of_a_published_method_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from heteroselect import Method\nmine = Method('oort')\n")
    with pytest.raises(HeteroSelectError, match="'oort' is taken"):
        heteroselect.run("mnist", method=f"{path}:mine", settings=SMALL)


def test_a_file_that_has_changed_is_not_gone_on_with(mine: Path, tmp_path: Path) -> None:
    out, grid, words = tmp_path / "run", tmp_path / "grid", ["--method", f"{mine}:seldom", "--quiet"]
    compare = ["compare", "mnist", "--methods", f"{mine}:seldom", "--out", grid, "--quiet", *sets()]
    assert call(*compare).exit_code == 0

    def stop(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heteroselect.run("mnist", method=f"{mine}:seldom", settings=SMALL, out=out, watch=stop)
    before = mine.read_text()
    mine.write_text(before + "\n# another rule\n")
    for command, sentence in ((["resume", out, *words], "has changed since"), (compare, "other settings")):
        found = call(*command)
        assert isinstance(found.exception, HeteroSelectError), found.output
        assert sentence in str(found.exception)
    mine.write_text(before)
    assert call("resume", out, *words).exit_code == 0
    assert call(*compare).exit_code == 0
