"""A run folder of version 0.1.0, whose config.toml is of another format: it is read, and never run."""

import json
import shutil
from pathlib import Path

import pytest

from heteroselect.runs.folder import CONFIG

pytestmark = pytest.mark.slow  # they train, draw or start processes

OLD = Path(__file__).parents[1] / "old_run"


@pytest.fixture
def old(here):
    """Written by `heteroselect run mnist --rounds 3` of version 0.1.0; without the model, which nobody reads."""
    return shutil.copytree(OLD, here / "old")


def test_it_is_shown_and_drawn(call, here, old):
    code, out, _ = call("show", "old", "--figure", "old.svg")
    assert code == 0
    assert "heteroselect on mnist, seed 42" in out
    assert "89.31%" in out
    assert "91.94%" not in out, "three rounds are too few to stand beside the paper"
    assert "<svg" in (here / "old.svg").read_text()
    assert json.loads(call("show", "old", "--json")[1])["environment"]["heteroselect"] == "0.1.0"


def test_it_is_reported(call, here, old):
    code, _, err = call("report", "old", "--out", "page.html")
    assert (code, err) == (0, "written: page.html\n")
    assert "89.31" in (here / "page.html").read_text()


def test_it_is_compared_with_a_log(call, here, old):
    parts = {"score_D_mean": 0.5, "score_F_mean": 0.1, "score_St_mean": 0.5}
    lines = [{"round": t, "test_acc": 0.88, "losses_mean": 0.5, **parts} for t in (1, 2, 3)]
    log = {"config": {}, "fl_config": {}, "summary": {}, "rounds": lines}
    (here / "log.json").write_text(json.dumps(log))
    code, out, err = call("paper", "compare-log", "old", "log.json", "--rounds", "2")
    assert (code, err) in ((0, ""), (1, ""))
    assert "| test accuracy, mean |" in out
    assert "| mean loss of all clients | 2 | 0.459 | 0.500 |" in out


@pytest.mark.parametrize("words", [["resume", "old"], ["run", f"old/{CONFIG}"]])
def test_it_is_not_run_again(call, old, words):
    before = {path: path.read_bytes() for path in old.iterdir()}
    for more in ([], ["--method", "fedavg"]):
        code, out, err = call(*words, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "0.1.0" in err
        assert "shown and reported" in err
    assert {path: path.read_bytes() for path in old.iterdir()} == before
