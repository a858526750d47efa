"""Two runs are the same only where everything that decides them is, and a run goes on only as what it is."""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch
from torch import nn

import heteroselect
from heteroselect import FolderError, HeteroSelectError, Method
from heteroselect.comparison import grid
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.study import plan, read
from heteroselect.files import read_toml
from heteroselect.runs.digest import UNKNOWN, digest_of
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.identity import horizon
from run_folders import PowerError, stop

pytestmark = pytest.mark.slow  # they train, draw or start processes

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 4)).astype(np.float32), RNG.integers(0, 2, 60)
SMALL = {
    **{"clients": 6, "selected": 2, "rounds": 4, "data.partition": "iid", "target": 0.5},
    **{"method.solver.steps": 2, "simulate.checkpoint_rounds": 1},
}


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 2))


def softer(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return 0.5 * nn.functional.cross_entropy(outputs, targets)


def hits(outputs: torch.Tensor, targets: torch.Tensor) -> float:
    return float((outputs.argmax(1) == targets).float().mean())


@dataclass(frozen=True)
class Some:
    """Selects by a field that no config.toml can hold."""

    order: tuple[int, ...] = field(default=(0, 1, 2))

    def select(self, scores, context):
        return context.cohort(np.array(self.order[: context.size]))


OWN = {"model": network, "data": (X, Y), "test": (X, Y)}


def play(out: Path, **changes: Any) -> Any:
    own = {**OWN, **changes}
    settings = {**SMALL, **own.pop("settings", {})}
    return heteroselect.run({}, **{"method": Method("mine", select=Some()), **own}, settings=settings, out=out)


def test_runs_that_differ_in_what_no_setting_says_are_all_reported(tmp_path):
    others = {
        "a": {},
        "loss": {"loss": softer},
        "model": {"model": lambda: nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))},
        "select": {"method": Method("mine", select=Some((3, 4, 5)))},
        "data": {"data": (X, Y[::-1].copy())},
    }
    for name, changes in others.items():
        play(tmp_path / name, **changes)
    shutil.copytree(tmp_path / "a", tmp_path / "copy")
    found = compare([tmp_path])
    assert sum(len(group.runs) for group in found.groups) == len(others)
    assert len(found.groups) == len(others), "each is something else, and its label says what"
    assert [f"{tmp_path / 'copy'} is the same run" in note for note in found.left_out] == [True]
    labels = {group.runs[0].path.name: group.label for group in found.groups}
    assert "loss (digest)=" in labels["loss"]
    assert "select (digest)=" in labels["select"]


def test_a_run_with_something_unknown_is_nobody_elses(tmp_path):
    lock = threading.Lock()

    def loss(outputs, targets):
        with lock:
            return nn.functional.cross_entropy(outputs, targets)

    for name in ("a", "b"):
        play(tmp_path / name, loss=loss)
    assert Fingerprint.read(tmp_path / "a").unknown == ["own loss"]
    found = compare([tmp_path, tmp_path / "a"])
    assert sorted(run.path.name for group in found.groups for run in group.runs) == ["a", "b"]


ASIDE = {"data.validation_fraction": 0.2, "data.evaluate": "validation"}


@pytest.mark.parametrize(("data", "settings"), [((X, Y), {}), ([(X[k::6], Y[k::6]) for k in range(6)], ASIDE)])
def test_seeds_are_still_one_group_even_where_examples_are_set_aside(tmp_path, data, settings):
    for seed in (1, 2):
        play(tmp_path / str(seed), settings={"seed": seed, **settings}, data=data, test=None)
    assert [group.seeds for group in compare([tmp_path]).groups] == ["1, 2"]


def test_where_a_file_lies_and_how_a_run_is_saved_make_no_other_experiment(tmp_path):
    for seed in (1, 2):
        file = tmp_path / f"place {seed}" / "mine.py"
        file.parent.mkdir()
        file.write_text(
            "from heteroselect.parts.select import Uniform\n\nclass Mine(Uniform):\n    kind = 'own:Mine'\n"
        )
        settings = {"seed": seed, "method.select.kind": f"{file}:Mine", "simulate.checkpoint_rounds": seed}
        play(tmp_path / "runs" / str(seed), settings=settings, method=None)
    assert [group.seeds for group in compare([tmp_path / "runs"]).groups] == ["1, 2"]


@pytest.fixture
def broken(tmp_path) -> Path:
    with pytest.raises(PowerError):
        play(tmp_path / "run", watch=stop)
    return tmp_path / "run"


MINE = {**OWN, "method": Method("mine", select=Some())}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": softer}, "loss: "),
        ({"metric": hits}, "metric: "),
        ({"data": (X, Y[::-1].copy())}, "data: "),
        ({"test": (X, 1 - Y)}, "data: "),
        ({"model": lambda: nn.Sequential(nn.Linear(4, 2), nn.Identity())}, "model: "),
        ({"method": Method("mine", select=Some((0, 1, 5)))}, r"method\.select: "),
    ],
    ids=["loss", "metric", "labels", "test", "model", "field"],
)
def test_a_run_does_not_go_on_as_another_and_says_what_differs(broken, changes, named):
    before = {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()}
    with pytest.raises(HeteroSelectError, match=rf"is of another experiment \(.*{named}"):
        heteroselect.resume(broken, **{**MINE, **changes})
    with pytest.raises(HeteroSelectError, match="is of the method 'mine'"):
        heteroselect.resume(broken, **{**MINE, "method": "fedavg"})
    assert {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()} == before
    assert heteroselect.resume(broken, **MINE).status == "finished"


@pytest.mark.parametrize("name", ["heteroselect", "torch", "scipy"])
def test_a_run_of_other_versions_does_not_go_on(broken, name):
    then = Fingerprint.read(broken)
    now = then.versions[name]
    rewrite(broken, replace(then, versions={**then.versions, name: "0.0.1"}))
    with pytest.raises(HeteroSelectError, match=rf"is of another experiment \({name}: 0\.0\.1 → {re.escape(now)}\)"):
        heteroselect.resume(broken, **MINE)


def test_a_module_of_other_weights_is_another_model(tmp_path):
    modules = [network(), network()]
    with pytest.raises(PowerError):
        play(tmp_path / "run", model=modules[0], watch=stop)
    with pytest.raises(HeteroSelectError, match=r"is of another experiment \(model: "):
        heteroselect.resume(tmp_path / "run", **{**MINE, "model": modules[1]})
    assert heteroselect.resume(tmp_path / "run", **{**MINE, "model": modules[0]}).status == "finished"


def test_what_has_no_digest_is_said_when_a_run_goes_on(tmp_path):
    lock, said = threading.Lock(), []

    def loss(outputs, targets):
        with lock:
            return nn.functional.cross_entropy(outputs, targets)

    with pytest.raises(PowerError):
        play(tmp_path / "run", loss=loss, watch=stop)
    assert heteroselect.resume(tmp_path / "run", **MINE, loss=loss, warn=said.append).status == "finished"
    assert [text.startswith("of own loss there is no digest") for text in said] == [True]


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        (("rounds",), 9, "rounds: 4 → 9"),
        (("method", "lr", "start"), 0.5, r"method\.lr\.start: 0\.05 → 0\.5"),
        (("world", "bandwidth_max_mbps"), 50.0, r"world\.bandwidth_max_mbps: 5\.0 → 50\.0"),
    ],
)
def test_an_edited_config_is_refused_with_both_values(broken, key, value, named):
    edit(broken, key, value)
    with pytest.raises(HeteroSelectError, match=named):
        heteroselect.resume(broken, **MINE)


def edit(folder: Path, key: tuple[str, ...], value: object) -> None:
    config = read_toml(folder / "config.toml")
    table = config
    for step in key[:-1]:
        table = table[step]
    table[key[-1]] = value
    (folder / "config.toml").write_text(tomli_w.dumps(config))


def test_what_decides_nothing_may_be_edited(broken):
    edit(broken, ("simulate", "checkpoint_rounds"), 2)
    assert heteroselect.resume(broken, **MINE).status == "finished"


def test_a_finished_run_whose_config_was_edited_is_not_reported(tmp_path):
    play(tmp_path / "a")
    edit(tmp_path / "a", ("selected",), 3)
    with pytest.raises(HeteroSelectError, match=r"was changed since the run began \(selected: 2 → 3\)"):
        compare([tmp_path / "a"])
    with pytest.raises(HeteroSelectError, match="selected: 2 → 3"):
        heteroselect.resume(tmp_path / "a", **MINE)


def test_a_fingerprint_that_was_changed_or_taken_away_is_found(broken):
    file = broken / "fingerprint.json"
    whole = file.read_text()
    content = json.loads(whole)
    content["settings"]["rounds"] = 9
    file.write_text(json.dumps(content))
    edit(broken, ("rounds",), 9)
    with pytest.raises(HeteroSelectError, match=r"fingerprint\.json: .* is damaged"):
        heteroselect.resume(broken, **MINE)
    file.unlink()
    with pytest.raises(FolderError, match=r"has no fingerprint\.json; run it again"):
        heteroselect.resume(broken, **MINE)


def test_more_rounds_are_asked_for_and_the_schedules_are_named(broken, tmp_path):
    said: list[str] = []
    with pytest.raises(HeteroSelectError, match=r"^rounds: the run in .* has 4; give it more"):
        heteroselect.resume(broken, rounds=4, **MINE)
    result = heteroselect.resume(broken, rounds=6, warn=said.append, **MINE)
    assert (result.rounds_run, result.config.rounds) == (6, 6)
    assert read_toml(broken / "config.toml")["rounds"] == 6
    assert len(said) == 1
    assert "from round 3 on the run goes by 6 rounds instead of 4" in said[0]
    assert "lr shared" in said[0]
    assert Fingerprint.read(broken).extended == ({"after": 2, "from": 4, "to": 6},)
    play(tmp_path / "six", settings={"rounds": 6})
    found = compare([tmp_path])
    assert len(found.groups) == 2, "it is not the run that six rounds give"
    with pytest.raises(HeteroSelectError, match="has finished"):
        heteroselect.resume(broken, rounds=8, **MINE)


def test_a_run_that_was_given_more_rounds_is_resumed_again(broken):
    with pytest.raises(PowerError):
        heteroselect.resume(broken, rounds=6, warn=lambda _: None, watch=stop, **MINE)
    assert heteroselect.resume(broken, **MINE).rounds_run == 6


def test_parts_that_ask_for_the_total_are_named():
    assert horizon(heteroselect.Method()) == ["lr shared"]
    found = horizon(heteroselect.Method("a", select=Some()))
    assert found == ["lr shared"]


STUDY = """
preset = "mnist"
[settings]
clients = 6
selected = 2
rounds = 2
data.name = "points.npz"
data.partition = "iid"
method.solver.steps = 2
[[row]]
method = "fedavg"
"""


@pytest.fixture
def points(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "points.npz", x=X, y=Y)
    (tmp_path / "s.toml").write_text(STUDY)
    return tmp_path


def test_a_study_takes_a_run_of_another_only_if_data_and_versions_are_the_same(points):
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    assert plan(read(points / "s.toml"), points / "two").cells[0].path == cell.path
    np.savez(points / "points.npz", x=X, y=1 - Y)
    assert plan(read(points / "s.toml"), points / "two").cells[0].path == points / "two" / "fedavg" / "seed-42"
    with pytest.raises(HeteroSelectError, match=r"holds another run \(data: "):
        plan(read(points / "s.toml"), points / "one")
    with pytest.raises(HeteroSelectError, match=r"holds another run \(data: "):
        grid.grid(STUDY_SETTINGS, ["fedavg"], [42], {"world.charge": "everything"}, points / "one")


STUDY_SETTINGS = {**SMALL, "rounds": 2, "data.name": "points.npz", "target": 0.9}


def test_a_study_that_was_edited_does_not_take_its_old_runs(points):
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    (points / "s.toml").write_text(STUDY.replace("rounds = 2", "rounds = 3"))
    with pytest.raises(HeteroSelectError, match="holds a run with other settings"):
        plan(read(points / "s.toml"), points / "one")


def test_the_summary_has_the_digest_and_equal_runs_have_equal_ones(tmp_path):
    a, b = play(tmp_path / "a"), play(tmp_path / "b", settings={"simulate.store": "disk"})
    assert a.summary["fingerprint"] == b.summary["fingerprint"] == read_summary(tmp_path / "a")["fingerprint"]
    assert read_rounds(tmp_path / "a") == read_rounds(tmp_path / "b")
    assert play(tmp_path / "c", settings={"seed": 1}).summary["fingerprint"] != a.summary["fingerprint"]


def aged(folder: Path) -> None:
    """Make the run in a folder one from before there was the role `average`, a setting of `server` and one of the
    world."""
    config = read_toml(folder / "config.toml")
    del config["method"]["model_average"], config["method"]["server_optimizer"]["rate"], config["world"]["attack"]
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    then = Fingerprint.read(folder)
    gone = ("method.model_average.", "method.server_optimizer.rate", "world.attack.")
    settings = {key: value for key, value in then.settings.items() if not key.startswith(gone)}
    rewrite(folder, replace(then, settings=settings))


def rewrite(folder: Path, fingerprint: Fingerprint) -> None:
    """Make this the fingerprint that the run in a folder was begun with."""
    fingerprint.write(folder)
    if (folder / "summary.json").exists():
        summary = {**read_summary(folder), "fingerprint": fingerprint.sha256}
        (folder / "summary.json").write_text(json.dumps(summary))
    for manifest in (folder / "checkpoint").glob("manifest-*"):
        content = json.loads(json.loads(manifest.read_text())["content"])
        content["facts"]["fingerprint"] = fingerprint.sha256
        text = json.dumps(content)
        manifest.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "content": text}))


def test_a_setting_or_a_role_that_is_newer_than_a_run_does_not_make_it_another(points):
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    aged(cell.path)
    assert plan(read(points / "s.toml"), points / "one").cells[0].done
    assert plan(read(points / "s.toml"), points / "two").cells[0].path == cell.path
    assert heteroselect.resume(cell.path).status == "finished"
    (points / "s.toml").write_text("seeds = [43]" + STUDY)
    (other,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(other, threads=1)
    assert [group.seeds for group in compare([points / "one"]).groups] == ["42, 43"]
    edit(cell.path, ("method", "server_optimizer", "rate"), 0.5)
    with pytest.raises(HeteroSelectError, match=r"method\.server_optimizer\.rate: 1\.0 → 0\.5"):
        heteroselect.resume(cell.path)


def test_a_run_that_was_broken_off_before_there_was_a_setting_goes_on_to_the_same_bits(tmp_path):
    plain = {
        "method": None,
        "settings": {"method.server_optimizer.momentum": 0.5, "method.server_optimizer.kind": "momentum"},
    }
    with pytest.raises(PowerError):
        play(tmp_path / "run", watch=stop, **plain)
    aged(tmp_path / "run")
    resumed = heteroselect.resume(tmp_path / "run", **OWN)
    assert resumed.model_sha256 == play(tmp_path / "whole", **plain).model_sha256


MOVED = """
import shutil, sys
from pathlib import Path
import heteroselect

copy, run, points = (Path(one) for one in sys.argv[1:])
assert Path(heteroselect.__file__).is_relative_to(copy), heteroselect.__file__
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.study import plan, read

assert heteroselect.resume(run).status == "finished"
heteroselect.run(run / "config.toml", out=run.parent / "again")
print(len(compare([run, run.parent / "again"]).groups), plan(read(points / "s.toml"), points / "two").cells[0].path)
"""


def test_a_file_of_the_package_may_move(points):
    """A copy in which the module of a selector, of a solver and of a model have other names goes on with a run of this
    one, reports the two as one and takes a study's cell."""
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    settings = {**SMALL, "data.name": "points.npz", "method.score.kind": "none"}
    with pytest.raises(PowerError):
        heteroselect.run("mnist", method="oort", settings=settings, out=points / "run", watch=stop)
    package = points / "copy" / "heteroselect"
    shutil.copytree(Path(heteroselect.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for old in ("parts/select/oort", "parts/select/uniform", "parts/train/sgd", "models/logistic"):
        new = f"{old}_of_old"
        (package / f"{old}.py").rename(package / f"{new}.py")
        before, after = (f"{name.replace('/', '.')}" for name in (old, new))
        for file in package.rglob("*.py"):
            text = file.read_text()
            file.write_text(re.sub(rf"heteroselect\.{re.escape(before)}\b", f"heteroselect.{after}", text))
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    call = [sys.executable, "-c", MOVED, str(package.parent), str(points / "run"), str(points)]
    found = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split() == ["1", str(cell.path)]


def renumbered(folder: Path) -> None:
    """Make the run in a folder one of another NumPy."""
    then = Fingerprint.read(folder)
    rewrite(folder, replace(then, versions={**then.versions, "numpy": "1.0"}))


def test_a_study_that_has_finished_is_told_whatever_is_installed_now(points):
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    renumbered(cell.path)
    (again,) = plan(read(points / "s.toml"), points / "one").cells
    assert (again.done, grid.play_cell(again)) == (True, "finished")
    assert plan(read(points / "s.toml"), points / "two").cells[0].path != cell.path, "nobody else takes it for theirs"


def test_a_study_does_not_go_on_with_a_run_of_other_versions(points):
    (points / "s.toml").write_text(STUDY.replace("rounds = 2", "rounds = 4"))
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    with pytest.raises(PowerError):
        heteroselect.run(cell.config, out=cell.path, watch=stop)
    renumbered(cell.path)
    with pytest.raises(HeteroSelectError, match=r"holds another run \(numpy: 1\.0 → "):
        plan(read(points / "s.toml"), points / "one")


def test_arrays_of_ones_own_go_by_what_is_in_them_and_not_by_their_place(points):
    (points / "s.toml").write_text(STUDY.replace("points.npz", str(points / "points.npz")))
    (cell,) = plan(read(points / "s.toml"), points / "one").cells
    grid.play_cell(cell, threads=1)
    (points / "moved").mkdir()
    shutil.move(points / "points.npz", points / "moved" / "points.npz")
    for seed in (42, 43):
        text = STUDY.replace("points.npz", str(points / "moved" / "points.npz"))
        (points / "s.toml").write_text(f"seeds = [{seed}]" + text)
        (again,) = plan(read(points / "s.toml"), points / "one").cells
        assert again.done == (seed == 42)
        grid.play_cell(again, threads=1)
    assert [group.seeds for group in compare([points / "one"]).groups] == ["42, 43"]
    np.savez(points / "moved" / "points.npz", x=X, y=1 - Y)
    with pytest.raises(HeteroSelectError, match=r"holds another run \(data: "):
        plan(read(points / "s.toml"), points / "one")


# The digest of single things.


def scaled(factor: float) -> Any:
    def loss(outputs, targets):
        return factor * nn.functional.cross_entropy(outputs, targets)

    return loss


class Held:
    def __init__(self, values: Any) -> None:
        self.values = values

    def loss(self, outputs, targets):
        return self.values


def different(*things: Any) -> bool:
    found = [digest_of(one) for one in things]
    return UNKNOWN not in found and len(set(found)) == len(found)


def test_what_differs_has_another_digest():
    assert different(scaled(1.0), scaled(2.0)), "what a function closes over"
    assert different(*(lambda x: x + 1, lambda x: x + 2)), "constants, though they stand in one line"  # fmt: skip
    assert different(functools.partial(pow, 2), functools.partial(pow, 3))
    assert different(Held([1]), Held([2]), Held((1,)), Held({"a": 1}), Held(np.ones(1)), Held(torch.ones(1)))
    assert different(Held(1).loss, Held(2).loss)
    assert different(nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0])))
    assert different(nn.Dropout(0.1), nn.Dropout(0.2), nn.Identity())
    assert different(np.zeros(2), np.zeros((2, 1)), np.zeros(2, np.float32))


def test_a_global_that_a_function_names_counts(monkeypatch):
    def loss(outputs, targets):
        return outputs * SCALE

    before = digest_of(loss)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert different(before) and before != digest_of(loss)  # noqa: PT018


SCALE = 2.0


def test_what_is_equal_has_the_same_digest():
    assert digest_of(scaled(2.0)) == digest_of(scaled(2.0)) != UNKNOWN
    assert digest_of(Held({3, 1, 2})) == digest_of(Held({2, 3, 1})) != UNKNOWN
    first, second = nn.Linear(3, 2), nn.Linear(3, 2)
    assert digest_of(first, weights=False) == digest_of(second, weights=False) != UNKNOWN
    assert different(first, second)
    ring: list[Any] = []
    ring.append(ring)
    assert digest_of(ring) == digest_of(ring) != UNKNOWN


@pytest.mark.parametrize(
    "thing", [threading.Lock(), object(), iter([]), np.random.default_rng(0), Held(object()), {object()}]
)
def test_what_cannot_be_told_is_unknown(thing):
    assert digest_of(thing) == UNKNOWN
