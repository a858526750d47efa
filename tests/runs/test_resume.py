"""Stop and go on: killed at any moment, a run ends in the same bits."""

import dataclasses
import json
import random
import resource
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.core.update import Update
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.parts.compress.wire import decode, encode
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.folder import read_rounds, read_summary
from run_folders import PowerError, same, stop_after

pytestmark = pytest.mark.slow  # whole runs


@pytest.fixture(autouse=True)
def as_a_matrix(monkeypatch):
    """Clients train as a matrix from the first round on, which a short run would not find worthwhile."""
    monkeypatch.setattr("heteroselect.engines.simulate.engine.WORTHWHILE", 0)


SMALL = {
    "clients": 20,
    "selected": 4,
    "rounds": 8,
    "method.solver.steps": 3,
    "method.solver.batch": 8,
    "simulate.checkpoint_rounds": 1,
}


def sets(changes: dict[str, object]) -> list[str]:
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "heteroselect", *map(str, words)]


def broken_off(out: Path, after: int, **settings: object) -> None:
    """A run that ends at once after so many rounds."""
    with pytest.raises(PowerError):
        heteroselect.run("mnist", settings=SMALL | settings, out=out, watch=stop_after(after))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """The undisturbed run."""
    out = tmp_path_factory.mktemp("whole") / "run"
    heteroselect.run("mnist", settings=SMALL, out=out)
    return out


@pytest.mark.parametrize(("after", "threads"), [(1, 1), (4, 2), (7, 1)])
def test_a_run_goes_on_to_the_same_bits(tmp_path: Path, whole: Path, after: int, threads: int) -> None:
    out = tmp_path / "run"
    broken_off(out, after)
    assert (out / "config.toml").is_file()
    assert not (out / "summary.json").exists()
    result = heteroselect.resume(out, threads=threads)
    assert result.summary["status"] == "finished"
    same(whole, out)
    assert not (out / "checkpoint").exists(), "nothing is left behind"


@pytest.mark.parametrize(
    "change",
    [
        {"simulate.store": "disk"},
        {"method.score.sketch": 4096},
        {"method.score.mode": "stale"},
        {"method.error_feedback.kind": "momentum"},
        {
            "method.error_feedback.kind": "ef21",
            "method.weigh.kind": "everybody",
            "method.server_optimizer.kind": "running",
        },
        {"world.faults.missing": 0.3, "world.faults.nan": 0.2},
        {"simulate.checkpoint_rounds": 3},
    ],
    ids=lambda change: next(iter(change)).removeprefix("method."),
)
def test_every_kind_of_state_comes_back(tmp_path: Path, change: dict) -> None:
    straight = heteroselect.run("mnist", settings=SMALL | change, out=tmp_path / "a")
    broken_off(tmp_path / "b", 5, **change)
    resumed = heteroselect.resume(tmp_path / "b")
    assert resumed.model_sha256 == straight.model_sha256
    same(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b" / "store").exists()


def test_a_cohort_of_one_is_measured_by_what_was_accepted_before_the_run_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"selected": 1, "rounds": 5, "method.compress.kind": "none", "method.allocate.kind": "all"}
    broken_off(tmp_path / "run", 4, **settings)
    train = Simulator.train

    def swelling(self, weights, orders, shared):
        size, uploads = self.layout.size, train(self, weights, orders, shared)
        sent = [(one, decode(one.payload, size)) for one in uploads]
        return [
            dataclasses.replace(one, payload=encode(Update.whole(np.float32(1e6) * update.dense())))
            for one, update in sent
        ]

    monkeypatch.setattr(Simulator, "train", swelling)
    lines = heteroselect.resume(tmp_path / "run").rounds
    kinds = [[event["kind"] for event in line["events"]] for line in lines]
    assert kinds == [[], [], [], ["rejected"], ["rejected"]], "the last checkpoint is that of round 3"


def test_a_store_on_disk_gives_the_bits_of_one_in_memory(tmp_path: Path, whole: Path) -> None:
    result = heteroselect.run("mnist", settings=SMALL | {"simulate.store": "disk"}, out=tmp_path / "disk")
    assert result.model_sha256 == read_summary(whole)["model_sha256"]
    assert result.rounds == read_rounds(whole)


def test_a_store_on_disk_needs_a_folder() -> None:
    with pytest.raises(HeteroSelectError, match=r"simulate\.store: disk needs a run folder"):
        heteroselect.run("mnist", settings=SMALL | {"simulate.store": "disk"})


def test_batch_norm_and_a_model_of_ones_own_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = [(rng.normal(size=(20, 4)).astype(np.float32), rng.integers(0, 2, 20)) for _ in range(6)]
    arguments = {
        "model": lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.2), nn.Linear(5, 2)),
        "data": data,
        "test": data[0],
    }
    settings = {"selected": 2, "rounds": 5, "method.solver.steps": 2, "simulate.checkpoint_rounds": 2}
    straight = heteroselect.run({}, settings=settings, out=tmp_path / "a", **arguments)
    with pytest.raises(PowerError):
        heteroselect.run({}, settings=settings, out=tmp_path / "b", watch=stop_after(3), **arguments)
    resumed = heteroselect.resume(tmp_path / "b", **arguments)
    assert resumed.model_sha256 == straight.model_sha256
    assert all(torch.equal(value, resumed.model[name]) for name, value in straight.model.items())
    (tmp_path / "b" / "summary.json").unlink()
    with pytest.raises(HeteroSelectError, match="own"):
        heteroselect.resume(tmp_path / "b")


def test_without_a_checkpoint_it_starts_again(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    broken_off(out, 3, **{"simulate.checkpoint_rounds": 0})
    assert len(read_rounds(out)) == 3
    assert Checkpoints(out).rounds() == []
    seen = []
    heteroselect.resume(out, watch=lambda line: seen.append(line["round"]))
    assert seen == list(range(1, 9))
    assert read_rounds(out) == read_rounds(whole)


def test_lines_past_the_checkpoint_and_torn_ones_are_cut(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "run"
    broken_off(out, 5, **{"simulate.checkpoint_rounds": 2})
    with (out / "rounds.jsonl").open("a") as log:
        log.write('{"round": 6, "accura')
    seen = []
    heteroselect.resume(out, watch=lambda line: seen.append(line["round"]))
    assert seen == [5, 6, 7, 8]
    assert read_rounds(out) == read_rounds(whole)


@pytest.mark.parametrize("damage", ["flipped", "torn", "log"])
def test_a_damaged_checkpoint_is_left_aside_with_a_warning(tmp_path: Path, whole: Path, damage: str) -> None:
    out = tmp_path / "run"
    broken_off(out, 5)  # the fifth round's checkpoint comes after the watcher
    assert Checkpoints(out).rounds() == [4, 3]
    if damage == "log":
        lines = (out / "rounds.jsonl").read_bytes().splitlines(keepends=True)
        (out / "rounds.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    else:
        file = out / "checkpoint" / "server-000004.safetensors"
        data = bytearray(file.read_bytes())
        data[-5] ^= 64
        file.write_bytes(data if damage == "flipped" else data[:-1])
    warnings, seen = [], []
    heteroselect.resume(out, warn=warnings.append, watch=lambda line: seen.append(line["round"]))
    assert len(warnings) == 1
    assert "the checkpoint after round 4 is damaged and left aside" in warnings[0]
    assert seen == [4, 5, 6, 7, 8]
    same(whole, out)


def test_a_finished_run_says_so(tmp_path: Path, whole: Path, invoke) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir()}
    found = invoke("resume", whole)
    assert found.exit_code == 0
    assert "has finished" in found.stderr
    assert json.loads(invoke("resume", whole, "--json").stdout) == read_summary(whole)
    assert {path.name: path.stat().st_mtime_ns for path in whole.iterdir()} == before


@pytest.fixture
def invoke():
    from typer.testing import CliRunner

    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_a_folder_with_a_checkpoint_says_so_when_run_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    broken_off(out, 2)
    with pytest.raises(
        HeteroSelectError, match=r"already holds a run .*go on with this one by `heteroselect resume .*run`"
    ):
        heteroselect.run("mnist", settings=SMALL, out=out)


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeteroSelectError, match=r"resume: .* is no run folder; it needs config\.toml"):
        heteroselect.resume(tmp_path)


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    refused = []

    def watch(line: dict) -> None:
        if line["round"] == 2:
            with pytest.raises(HeteroSelectError, match="another process is at work") as caught:
                heteroselect.resume(out)
            refused.append(str(caught.value))

    heteroselect.run("mnist", settings=SMALL, out=out, watch=watch)
    assert len(refused) == 1


def test_data_that_was_removed_meanwhile_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file = tmp_path / "mine.npz"
    np.savez(file, x=rng.normal(size=(200, 4)).astype(np.float32), y=rng.integers(0, 2, 200))
    out = tmp_path / "run"
    settings = SMALL | {"data.name": str(file), "data.partition": "iid", "clients": 5, "selected": 2}
    with pytest.raises(PowerError):
        heteroselect.run({}, settings=settings, out=out, watch=stop_after(2))
    moved = file.rename(tmp_path / "elsewhere.npz")
    with pytest.raises(HeteroSelectError, match=r"mine\.npz"):
        heteroselect.resume(out)
    assert Checkpoints(out).rounds() == [1]
    moved.rename(file)
    assert heteroselect.resume(out).summary["rounds_run"] == 8


# Real processes.


def test_a_full_disk_is_said_in_one_sentence_and_the_last_checkpoint_stands(tmp_path: Path) -> None:
    """No file may grow beyond a limit that only the log of rounds reaches, late in the run."""
    settings, limit = SMALL | {"rounds": 120, "simulate.checkpoint_rounds": 10}, 110_000
    heteroselect.run("mnist", settings=settings, out=tmp_path / "a")
    assert limit < len((tmp_path / "a" / "rounds.jsonl").read_bytes()) < 2 * limit
    out = tmp_path / "b"
    run = subprocess.run(
        command("run", "mnist", "--quiet", "--out", out, *sets(settings)),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)),
    )
    assert run.returncode == 2, run.stderr
    assert run.stderr.count("\n") == 1
    assert "cannot be written (File too large)" in run.stderr
    last = Checkpoints(out).rounds()[0]
    assert last > 40
    resumed = subprocess.run(command("resume", out, "--quiet"), capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    same(tmp_path / "a", out)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end_it_leaves_a_checkpoint_and_a_valid_folder(tmp_path: Path, signal_: signal.Signals) -> None:
    out, settings = tmp_path / "run", SMALL | {"rounds": 4000, "simulate.checkpoint_rounds": 0}
    process = subprocess.Popen(
        command("run", "mnist", "--quiet", "--out", out, *sets(settings)),
        stderr=subprocess.PIPE,
        text=True,
        # a shell lets its background jobs ignore Ctrl-C, and they would hand that down
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        _wait_for(lambda: len(_lines(out)) >= 3, process)
        process.send_signal(signal_)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    assert "heteroselect resume" in errors
    assert read_summary(out)["status"] == "interrupted"
    assert Checkpoints(out).rounds()[0] == len(read_rounds(out))


def _lines(out: Path) -> list[bytes]:
    log = out / "rounds.jsonl"
    return log.read_bytes().splitlines() if log.exists() else []


def _wait_for(condition, process: subprocess.Popen, seconds: float = 300, pause: float = 0.01) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline
        time.sleep(pause)


def test_killed_five_times_it_ends_in_the_same_bits(tmp_path: Path) -> None:
    """SIGKILL at random moments, from start-up to the writing of checkpoints; after each the run is resumed.
    (`make kills` does it for an hour.)"""
    settings = SMALL | {"rounds": 60, "clients": 30, "selected": 10, "simulate.checkpoint_rounds": 1}
    heteroselect.run("mnist", settings=settings, out=tmp_path / "a")
    out, chance, caught = tmp_path / "b", random.Random(0), 0
    words = command("run", "mnist", "--quiet", "--out", out, *sets(settings))
    for number in range(5):
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        before = len(_lines(out))
        if number == 0:  # while it starts
            _wait_for((out / "config.toml").is_file, process)
            time.sleep(chance.uniform(0, 1.5))
        elif number < 3:  # anywhere
            _wait_for(lambda: len(_lines(out)) != before or _busy(out), process)  # noqa: B023
            time.sleep(chance.uniform(0, 0.4))
        else:  # while it writes a checkpoint, of a round that it has played itself
            _wait_for(lambda: len(_lines(out)) != before, process)  # noqa: B023
            _wait_for(lambda: _busy(out), process, pause=0)
        process.kill()
        process.communicate()
        caught += _busy(out)
        assert process.returncode == -signal.SIGKILL, "it was to be killed, not to end"
        words = command("resume", out, "--quiet", "--threads", chance.choice([1, 2]))
    assert caught, "one at least is to be caught in the middle of a checkpoint"
    last = subprocess.run(words, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    same(tmp_path / "a", out)
    assert tomllib.loads((out / "config.toml").read_text())["rounds"] == 60


def _busy(out: Path) -> bool:
    """Whether a checkpoint is being written: its files are newer than its manifests."""
    try:
        files = {path.name: path.stat().st_mtime_ns for path in (out / "checkpoint").iterdir()}
    except OSError:
        return False
    manifests = [stamp for name, stamp in files.items() if name.startswith("manifest")]
    return bool(files) and max(files.values()) > max(manifests, default=0)


def test_a_setting_that_a_method_has_got_since_does_not_change_its_earlier_runs(tmp_path: Path) -> None:
    """heteroselect2 has weight decay. Had a run begun before there was any, it would go on without, and so would its
    config.toml."""
    settings = {"seed": 1, "rounds": 3, "clients": 6, "selected": 3, "method.solver.decay": 0.0}
    first = heteroselect.run("mnist", method="heteroselect2", settings=settings, out=tmp_path / "a")
    path = tmp_path / "a" / "config.toml"
    path.write_text(path.read_text().replace("\ndecay = 0.0\n", "\n"))
    assert "decay" not in path.read_text()
    assert heteroselect.resume(tmp_path / "a").model_sha256 == first.model_sha256
    assert heteroselect.run(path).model_sha256 == first.model_sha256
    now = heteroselect.run("mnist", method="heteroselect2", settings={**settings, "method.solver.decay": 0.0005})
    assert now.model_sha256 != first.model_sha256, "it makes a difference here"
