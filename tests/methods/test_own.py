"""A user's own method: the example of docs/extend.md, as it stands there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.methods import own
from heteroselect.runs.experiment import method_of
from heteroselect.runs.folder import read_rounds, read_summary

PAGE = Path(__file__).parents[2] / "docs" / "extend.md"
SMALL = {"clients": 8, "selected": 2, "rounds": 4}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The code of the page, in a file."""
    blocks = re.findall(r"<!-- mine\.py.*?-->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 2
    path = tmp_path / "mine.py"
    path.write_text("\n\n".join(blocks))
    return path


def call(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def sets() -> list[str]:
    return [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]


def test_the_selector_is_ten_lines(mine: Path) -> None:
    body = mine.read_text().split("class Seldom:")[1].split("seldom = ")[0]
    assert len([line for line in body.splitlines() if line.strip()]) <= 10


def test_it_runs_from_the_command_line_and_does_what_it_says(mine: Path, tmp_path: Path) -> None:
    found = call("run", "mnist", "--method", f"{mine}:seldom", "--out", tmp_path / "run", "--quiet", *sets())
    assert found.exit_code == 0, found.output
    assert read_summary(tmp_path / "run")["method"] == "seldom"
    chosen = [client for line in read_rounds(tmp_path / "run") for client in line["selected"]]
    assert sorted(chosen) == list(range(8)), "four rounds of two, nobody twice"


def test_the_same_in_python(mine: Path) -> None:
    result = heteroselect.run("mnist", method=own.load(f"{mine}:seldom"), settings=SMALL)
    assert sorted(client for line in result.rounds for client in line["selected"]) == list(range(8))


def test_settings_reach_a_function(mine: Path, tmp_path: Path) -> None:
    words = ["--set", "method.train.rate=0.01", *sets()]
    found = call("run", "mnist", "--method", f"{mine}:tunable", "--out", tmp_path / "run", "--quiet", *words)
    assert found.exit_code == 0, found.output
    assert read_rounds(tmp_path / "run")[-1]["learning_rate"] == pytest.approx(0.005)


def test_a_run_of_a_function_is_run_again_from_its_config_and_resumed(mine: Path, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    words = ["--method", f"{mine}:tunable", "--quiet"]
    changes = ["--set", "method.train.rate=0.01", "--set", "simulate.checkpoint_rounds=1", *sets()]
    assert call("run", "mnist", "--out", first, *words, *changes).exit_code == 0
    assert call("run", first / "config.toml", "--out", second, *words).exit_code == 0
    assert (second / "config.toml").read_bytes() == (first / "config.toml").read_bytes()

    def stop(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    tunable = own.load(f"{mine}:tunable")
    heteroselect.run(first / "config.toml", method=tunable, out=third, watch=stop)
    assert call("resume", third, *words).exit_code == 0
    ends = {read_summary(path)["model_sha256"] for path in (first, second, third)}
    assert len(ends) == 1
    found = call("run", first / "config.toml", "--out", tmp_path / "no")
    assert isinstance(found.exception, HeteroSelectError)
    assert "FILE.py:NAME" in str(found.exception)


def test_a_setting_that_a_ready_method_cannot_follow_is_refused(mine: Path, tmp_path: Path) -> None:
    words = ["mnist", "--set", "method.train.steps=2", *sets()]
    for command in (
        ["run", *words, "--method", f"{mine}:seldom"],
        ["compare", *words, "--methods", f"fedavg,{mine}:seldom"],
    ):
        found = call(*command, "--out", tmp_path / "run")
        assert isinstance(found.exception, HeteroSelectError)
        assert "method.train.steps: it would have no effect beside a ready method" in str(found.exception)
    assert not (tmp_path / "run").exists()


def test_it_is_compared_with_others_and_the_grid_goes_on(mine: Path, tmp_path: Path) -> None:
    names = ["--methods", f"heteroselect,{mine}:seldom,{mine}:tunable", "--seeds", "1,2", "--out", tmp_path / "grid"]
    for _ in range(2):
        found = call("compare", "mnist", *names, "--quiet", *sets())
        assert found.exit_code == 0, found.output
    table = json.loads((tmp_path / "grid" / "compare.json").read_text())
    assert [(run["method"], run["seed"]) for run in table["runs"]] == [
        (name, seed) for seed in (1, 2) for name in ("heteroselect", "seldom", "tunable")
    ]
    found = call("compare", "mnist", "--methods", f"{mine}:seldom,{mine.parent}/./{mine.name}:seldom", *sets())
    assert "two of them have one name" in str(found.exception)


def test_it_is_marked_as_the_users_own(mine: Path) -> None:
    found = call("methods", f"{mine}:seldom")
    assert found.exit_code == 0
    assert "seldom: your own" in found.output
    assert "Seldom" in found.output


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:x", "is not there"),
        ("{mine}:nothing", "has no 'nothing'"),
        ("{mine}:np", "neither a Method nor a function"),
        ("{mine}:Cohort", "Cohort"),
        ("{mine}", "FILE.py:NAME"),
    ],
)
def test_what_is_wrong_is_said(mine: Path, name: str, sentence: str) -> None:
    with pytest.raises((HeteroSelectError, TypeError), match=sentence):
        method_of(heteroselect.load("mnist"), own.load(name.format(mine=mine)))


def test_a_file_that_fails_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(HeteroSelectError, match=r"cannot be read .ZeroDivisionError"):
        own.load(f"{path}:x")


def test_a_file_that_has_changed_is_not_gone_on_with(mine: Path, tmp_path: Path) -> None:
    out, grid, words = tmp_path / "run", tmp_path / "grid", ["--method", f"{mine}:tunable", "--quiet"]
    compare = ["compare", "mnist", "--methods", f"{mine}:seldom", "--out", grid, "--quiet", *sets()]
    assert call(*compare).exit_code == 0

    def stop(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    settings = {**SMALL, "method.source": own.digest(f"{mine}:tunable")}
    heteroselect.run("mnist", method=own.load(f"{mine}:tunable"), settings=settings, out=out, watch=stop)
    before = mine.read_text()
    mine.write_text(before + "\n# another rule\n")
    for command, sentence in ((["resume", out, *words], "has changed since"), (compare, "other settings")):
        found = call(*command)
        assert isinstance(found.exception, HeteroSelectError), found.output
        assert sentence in str(found.exception)
    mine.write_text(before)
    assert call("resume", out, *words).exit_code == 0
    assert call(*compare).exit_code == 0
