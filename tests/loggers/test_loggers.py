"""Loggers, with the packages themselves: what they hold is what is in rounds.jsonl, and all of it that is a number."""

import json
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.loggers import PACKAGES, figures, logging, openers
from heteroselect.runs.folder import read_rounds
from run_folders import PowerError

SMALL = {"clients": 10, "selected": 3, "method.solver.steps": 2, "rounds": 4, "evaluate_every": 2}
History = dict[str, dict[int, float]]
"""of each figure, its value by round"""


def expected(folder: Path) -> History:
    found: History = {}
    for line in read_rounds(folder):
        for key, value in figures(line).items():
            found.setdefault(key, {})[line["round"]] = value
    return found


def in_tensorboard(folder: Path) -> History:
    module = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = module.EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    assert {kind for kind, tags in events.Tags().items() if tags} == {"scalars"}
    return {tag: {one.step: one.value for one in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def in_mlflow(folder: Path) -> History:
    client = pytest.importorskip("mlflow").MlflowClient((folder / "mlflow").as_uri())
    (experiment,) = [one for one in client.search_experiments() if one.name == "heteroselect"]
    run = client.search_runs([experiment.experiment_id], order_by=["attribute.start_time DESC"])[0]
    assert run.info.status == "FINISHED"
    assert run.data.params == {}
    assert set(run.data.tags) == {"mlflow.runName"}
    keys = run.data.metrics
    return {key: {one.step: one.value for one in client.get_metric_history(run.info.run_id, key)} for key in keys}


def records(file: Path) -> Iterator[bytes]:
    """Of W&B's file: a header, then blocks of 32 KiB of pieces with a checksum, a length and a kind each."""
    data, at, whole = file.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at < len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield whole
            whole = b""


def in_wandb(folder: Path) -> History:
    record = pytest.importorskip("wandb.proto.wandb_internal_pb2").Record
    pytest.importorskip("wandb").teardown()  # its own process has written all by the time this one would end
    file = max(folder.rglob("*.wandb"), key=lambda path: path.stat().st_mtime_ns)
    found: History = {}
    for data in records(file):
        one = record.FromString(data)
        assert not one.HasField("stats"), "nothing of the machine"
        values = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in one.history.item}
        step = values.pop("_step", one.history.step.num)
        for key, value in values.items():
            if not key.startswith("_"):  # W&B's own clock
                found.setdefault(key, {})[step] = value
    return found


READERS = {"tensorboard": in_tensorboard, "mlflow": in_mlflow, "wandb": in_wandb}


KEPT = {"tensorboard": np.float32, "mlflow": float, "wandb": float}
"""What each keeps a number as."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages themselves
@pytest.mark.parametrize("name", PACKAGES)
def test_a_log_holds_the_numbers_of_all_rounds_also_of_a_run_that_was_killed(name, tmp_path, monkeypatch):
    pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "elsewhere"))
    out = tmp_path / "run"

    def kill(line):
        if line["round"] == 3:
            raise PowerError

    changes = {**SMALL, "simulate.checkpoint_rounds": 2}
    with pytest.raises(PowerError):
        heteroselect.run("mnist", settings=changes, out=out, log=name, watch=kill)
    heteroselect.resume(out, log=[name])
    told = expected(out)
    assert set(told["accuracy"]) == {2, 4}
    assert set(told["bytes_up"]) == {1, 2, 3, 4}
    found = READERS[name](out if name != "wandb" else tmp_path / "elsewhere")
    assert found == {key: {t: float(KEPT[name](one)) for t, one in values.items()} for key, values in told.items()}
    assert not [path for path in out.rglob("*") if path.is_symlink()]


def test_all_loggers_are_told_and_the_rounds_before_come_first(tmp_path):
    seen: list[tuple[str, str, int, dict[str, float]]] = []

    def opener(kind):
        @contextmanager
        def opened(name, folder):
            assert folder == tmp_path / kind
            yield lambda step, values: seen.append((kind, name, step, dict(values)))

        return opened

    def warn(text):
        raise AssertionError(text)

    with logging({"a": opener("a"), "b": opener("b")}, "mine", tmp_path, warn, [{"round": 1, "seconds": 2}]) as log:
        log({"round": 2, "seconds": 3})
    told = [(1, {"seconds": 2}), (2, {"seconds": 3})]
    assert seen == [(kind, "mine", *one) for one in told for kind in ("a", "b")]


def test_what_is_wrong_is_said_in_a_sentence_before_anything_is_run(monkeypatch, tmp_path):
    with pytest.raises(
        HeteroSelectError, match=r"log: there is no logger 'neptune'; name tensorboard, mlflow, wandb, or"
    ):
        openers(["neptune"])
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(HeteroSelectError, match=r"`pip install 'heteroselect\[wandb\]'` brings it"):
        heteroselect.run("mnist", out=tmp_path / "run", log="wandb")
    monkeypatch.setattr("heteroselect.runs.api.openers", lambda names: {"tensorboard": None})
    with pytest.raises(HeteroSelectError, match="log: a log goes with the run's folder"):
        heteroselect.run("mnist", log="tensorboard")
    assert not (tmp_path / "run").exists()


def test_the_command_line_takes_loggers(tmp_path):
    words = ["run", "mnist", "--out", str(tmp_path / "run"), "--log", "tensorboard", "--log", "none"]
    found = CliRunner().invoke(app, words)
    assert isinstance(found.exception, HeteroSelectError)
    assert "log: there is no logger" in str(found.exception) or "is not installed" in str(found.exception)
    assert not (tmp_path / "run").exists()


def test_a_logger_that_cannot_be_opened_is_one_sentence(tmp_path):
    def broken(name, folder):
        raise FileExistsError("a file stands there")

    with (
        pytest.raises(HeteroSelectError, match="log: mine cannot be opened"),
        logging({"mine": broken}, "x", tmp_path, print),
    ):
        pass


@contextmanager
def failing(name, folder):
    """Takes one round, and cannot even be closed."""
    taken = []

    def log(step, values):
        if taken:
            raise OSError("the disk is full")
        taken.append(step)

    yield log
    raise OSError("still full")


def test_a_run_does_not_end_for_a_logger_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("heteroselect.runs.api.openers", lambda names: {"mine": failing})
    with pytest.warns(UserWarning, match="log: mine") as warned:
        result = heteroselect.run("mnist", settings=SMALL, out=tmp_path / "run", log="mine")
    assert result.status == "finished"
    assert [str(one.message) for one in warned] == [
        "log: mine failed in round 2 (the disk is full); the run goes on without it",
        "log: mine was not closed (still full); rounds.jsonl has everything",
    ]


def test_a_run_that_has_ended_is_logged_as_a_whole(tmp_path, monkeypatch):
    told = []

    @contextmanager
    def opened(name, folder):
        yield lambda step, values: told.append(step)

    heteroselect.run("mnist", settings=SMALL, out=tmp_path / "run")
    monkeypatch.setattr("heteroselect.runs.api.openers", lambda names: {"mine": opened})
    heteroselect.resume(tmp_path / "run", log="mine")
    assert told == [1, 2, 3, 4]
