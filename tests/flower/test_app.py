"""The app's server side: what goes wrong in it is left where the command finds it."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from heteroselect.errors import FolderError, HeteroSelectError
from heteroselect.flower import app
from heteroselect.flower.plan import ERROR, Plan
from heteroselect.runs.api import settings_of
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import FINGERPRINT, ROUNDS, RunFolder
from heteroselect.settings.config import to_toml

pytestmark = pytest.mark.slow  # they train, draw or start processes


class Empty:
    """A grid without nodes, or one that breaks."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def get_node_ids(self):
        if self.error:
            raise self.error
        return []


def context(tmp_path: Path, **changes: float) -> SimpleNamespace:
    config = settings_of("mnist", changes={"clients": 3, "selected": 2, "rounds": 1, **changes})
    if not (tmp_path / "run").exists():
        RunFolder.create(tmp_path / "run", to_toml(config)).close()
    plan = Plan("deploy", "a", 3, timeout=0.1).text
    run = {"config": to_toml(config), "out": str(tmp_path / "run"), "work": str(tmp_path), "plan": plan}
    return SimpleNamespace(run_config=run)


def test_an_error_for_people_is_left_as_it_is(tmp_path):
    with pytest.raises(HeteroSelectError):
        app.main(Empty(), context(tmp_path))
    assert "3 of 3 clients have no node" in (tmp_path / ERROR).read_text()


def test_any_other_is_named_and_its_traceback_kept(tmp_path):
    with pytest.raises(RuntimeError):
        app.main(Empty(RuntimeError("no more")), context(tmp_path))
    assert "the ServerApp failed (RuntimeError: no more)" in (tmp_path / ERROR).read_text()
    assert "Traceback" in (tmp_path / "error.log").read_text()


def test_what_the_run_is_is_noted_before_its_first_round_and_holds_for_the_next_start(tmp_path):
    started = context(tmp_path)
    with pytest.raises(HeteroSelectError, match="have no node"):
        app.main(Empty(), started)
    noted = (tmp_path / "run" / FINGERPRINT).read_bytes()
    with pytest.raises(HeteroSelectError, match="have no node"):  # the same again goes on
        app.main(Empty(), started)
    with pytest.raises(HeteroSelectError, match=r"of another experiment \(method.solver.steps: 50 → 7\)"):
        app.main(Empty(), context(tmp_path, **{"method.solver.steps": 7}))
    assert (tmp_path / "run" / FINGERPRINT).read_bytes() == noted


def test_a_run_with_rounds_and_no_fingerprint_is_refused_and_given_none(tmp_path):
    run = context(tmp_path).run_config
    experiment = prepare(Plan.of(run["plan"]).load(tomllib.loads(run["config"])), identify=True)
    (tmp_path / "run" / ROUNDS).write_text(json.dumps({"round": 1}) + "\n")
    with pytest.raises(FolderError, match=r"has no fingerprint.json; run it again in a new folder"):
        app.identified(experiment, tmp_path / "run")
    assert not (tmp_path / "run" / FINGERPRINT).exists()
