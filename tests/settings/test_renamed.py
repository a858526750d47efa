"""Old names: what is typed with one is refused with the new one, what a run wrote with one is read."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from click.testing import Result
from typer.testing import CliRunner

import heteroselect
from heteroselect.cli.app import app
from heteroselect.comparison import results, study
from heteroselect.comparison.report.load import compare
from heteroselect.core.part import declared
from heteroselect.errors import HeteroSelectError
from heteroselect.files import read_toml
from heteroselect.parts.kinds import KINDS
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.settings import renamed
from heteroselect.settings.config import flatten, load, nested
from heteroselect.settings.renamed import RENAMED, current, current_state
from run_folders import POINTS, write_points

OLD = Path(__file__).parent / "old_names"
"""What `heteroselect run mnist --rounds 2` wrote before the roles had their names of today; without the model."""
ROLES = {old.removeprefix("method."): new.removeprefix("method.") for old, new in RENAMED.items()}


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_every_new_name_is_one_of_today_and_no_old_one_is():
    assert set(ROLES.values()) <= KINDS.keys()
    assert not ROLES.keys() & KINDS.keys()


@pytest.mark.parametrize("old", ROLES)
def test_an_old_name_is_refused_with_the_new_one(old):
    sentence = f"method.{old} is now method.{ROLES[old]}; set method.{ROLES[old]}.kind."
    with pytest.raises(HeteroSelectError) as typed:
        load({"method": {old: {"kind": "none"}}})
    assert str(typed.value) == sentence
    with pytest.raises(HeteroSelectError) as typed:
        load("mnist", changes={f"method.{old}.kind": "none"})
    assert str(typed.value) == sentence


def test_a_study_is_told_the_new_name_too(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('[[row]]\nmethod = "fedavg"\n[row.settings]\n"method.train.steps" = 3\n')
    with pytest.raises(HeteroSelectError, match=r"row fedavg: method.train is now method.solver; set method.solver.st"):
        study.plan(study.read(file), tmp_path / "out")


def test_a_run_of_then_is_read_shown_and_reported(tmp_path):
    assert "[method.train]" in (OLD / "config.toml").read_text()
    assert load(OLD / "config.toml").config == load("mnist", changes={"rounds": 2}).config
    assert call("show", str(OLD)).exit_code == 0
    assert call("report", str(OLD), "--out", str(tmp_path / "page.html")).exit_code == 0


def with_old_names(folder: Path) -> None:
    """Write the settings of a run in a folder as they were once written."""
    old = {new: name for name, new in ROLES.items()}
    config = read_toml(folder / "config.toml")
    config["method"] = {old.get(role, role): table for role, table in config["method"].items()}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    then = Fingerprint.read(folder)
    tables = nested(then.settings)
    tables["method"] = {old.get(role, role): table for role, table in tables["method"].items()}
    then = replace(then, settings=flatten(tables))
    then.write(folder)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "fingerprint": then.sha256}))


def test_nothing_is_run_twice_because_a_name_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_points(tmp_path)
    heteroselect.run(POINTS, method="stc", out="old", threads=1)
    shutil.copytree("old", "new")
    with_old_names(tmp_path / "old")
    assert "method.memory.kind" in Fingerprint.read(tmp_path / "old").settings
    assert len(compare([tmp_path / "old", tmp_path / "new"]).groups[0].runs) == 1
    assert heteroselect.read("old").config == heteroselect.read("new").config
    assert heteroselect.resume("old").summary["model_sha256"] == heteroselect.read("new").summary["model_sha256"]
    row = study.read({"row": [{"method": "stc", "settings": POINTS}], "charge": "paper"})
    (cell,) = study.plan(row, tmp_path / "out", also=[tmp_path / "old"]).cells
    assert cell.done
    assert cell.path == tmp_path / "old"


def test_a_row_of_results_is_that_of_the_same_settings_by_their_new_names(tmp_path):
    cell = study.plan(study.read({"row": [{"method": "fedavg", "settings": {"method.solver.steps": 3}}]}), tmp_path)
    row = {"study": "s", "row": "fedavg", "preset": "mnist", "method": "fedavg", "seed": 42, "charge": "everything"}
    file = tmp_path / "results.json"
    for steps, known in ((3, 1), (4, 0)):
        file.write_text(json.dumps({"runs": [{**row, "settings": {"method.train.steps": steps}}]}))
        assert len(results.recorded(file, "s", cell.cells)) == known


def test_every_constant_is_refused_with_its_value_and_shadows_no_setting():
    for key, value in renamed.REMOVED.items():
        group, _, name = key.rpartition(".")
        if key.startswith("method."):
            _, role, kind = group.split(".")
            assert name not in declared(KINDS[role][kind])
            written = {f"method.{role}.kind": kind, f"method.{role}.{name}": value}
            assert current(written) == {f"method.{role}.kind": kind}
            with pytest.raises(HeteroSelectError, match=f"{name} is no setting any more but always"):
                load("mnist", changes=written)


def test_what_parts_keep_has_the_roles_of_today():
    kept = {"memory.residual": np.zeros(2), "train.control": np.ones(2), "score.last": np.ones(1)}
    assert list(current_state(kept)) == ["error_feedback.residual", "solver.control", "score.last"]


@pytest.fixture
def removed(monkeypatch):
    """Two settings that became constants, one of them of a kind of part."""
    monkeypatch.setitem(renamed.REMOVED, "world.tides", 2.0)
    monkeypatch.setitem(renamed.REMOVED, "method.compress.topk.spare", False)


@pytest.mark.usefixtures("removed")
def test_a_setting_that_became_a_constant_is_read_over_and_not_typed():
    written = {**flatten(read_toml(OLD / "config.toml")), "method.compress.kind": "topk"}
    assert current({**written, "world.tides": 2.0, "method.compress.spare": False}) == current(written)
    compress = {"kind": "drive", "spare": False}
    assert current(flatten({"method": {"compress": compress}})) == flatten({"method": {"compress": compress}})
    for source in ({"version": 2, "world": {"tides": 3.0}}, {"world": {"tides": 2.0}}):
        with pytest.raises(
            HeteroSelectError, match=r"^world.tides is no setting any more but always 2.0; leave it out"
        ):
            load(source)
    with pytest.raises(HeteroSelectError, match=r"^method.compress.spare is no setting any more but always false; "):
        load("mnist", changes={"method.compress.kind": "topk", "method.compress.spare": True})
