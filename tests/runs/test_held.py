"""What has always held must go on holding: kills at every write, damage, other places, other clocks, no rights."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

import heteroselect
from run_folders import POINTS, PowerError, stop

pytestmark = pytest.mark.slow  # they train


@pytest.fixture
def broken(here: Path) -> Path:
    with pytest.raises(PowerError):
        play(here / "run", watch=stop)
    return here / "run"


def play(out: Path, **more: Any) -> Any:
    return heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out, threads=1, **more)


def same(one: Any, other: Any) -> bool:
    """To the bit: the model, every round, and what decided them."""
    fields = ("model_sha256", "rounds_sha256", "fingerprint", "total_seconds", "bytes_up")
    return all(one.summary[name] == other.summary[name] for name in fields)


def test_with_both_checkpoints_damaged_a_run_begins_anew_to_the_same_bits(here: Path, broken: Path) -> None:
    files, warned = list((broken / "checkpoint").glob("server-*")), []
    assert len(files) == 2
    for file in files:
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    resumed = heteroselect.resume(broken, threads=1, warn=warned.append)
    assert ["is damaged and left aside" in text for text in warned] == [True, True]
    assert same(resumed, play(here / "whole"))


def test_a_folder_with_another_name_and_other_times_goes_on_to_the_same_bits(
    here: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are from 1970 or from the future, and the clock on the wall goes backwards."""
    for number, path in enumerate(broken.rglob("*")):
        os.utime(path, (number % 2 * 4e9, number % 2 * 4e9))
    seconds = iter(range(10**9, 0, -(10**5)))
    monkeypatch.setattr(time, "time", lambda: float(next(seconds)))
    seen: list[int] = []
    moved = broken.rename(here / "another name")
    resumed = heteroselect.resume(moved, threads=1, watch=lambda line: seen.append(line["round"]))
    assert seen == [3, 4]
    assert same(resumed, play(here / "whole"))


ALONE = """
import os
import heteroselect
heteroselect.run("run/config.toml", threads=1)  # all is imported: another user may not be allowed to
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)  # root may write everywhere
try:
    heteroselect.resume("run", threads=1)
except heteroselect.HeteroSelectError as error:
    print(error)
"""


def test_a_folder_that_cannot_be_written_is_one_sentence_and_is_not_changed(here: Path, broken: Path) -> None:
    before = {path: path.read_bytes() for path in broken.rglob("*") if path.is_file()}
    with tempfile.TemporaryDirectory() as place:  # where others can look into, as they cannot into pytest's
        shutil.copytree(here, place, dirs_exist_ok=True)
        Path(place).chmod(0o755)
        copy = Path(place) / "run"
        for path in (*copy.rglob("*"), copy):
            path.chmod(0o555 if path.is_dir() else 0o444)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", ALONE], cwd=place, env=environment, capture_output=True, text=True, timeout=300
        )
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)
        assert "cannot be written (Permission denied)" in done.stdout, done.stderr
        after = {broken / path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()}
        assert after == before


DRIVER = """
import json, os, shutil, sys
import torch
import heteroselect

torch.set_num_threads(1)
POINTS = json.loads(sys.argv[1])


def child(work):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def play(out):
    heteroselect.run("mnist", method="fedavg", settings=POINTS, out=out, threads=1)


def killed_at(number, out):
    # dies without a word at the n-th time that something is made to stay on the disk
    def work():
        left = [number]

        def dying(call):
            def called(*words, **named):
                if left[0] == 0:
                    os._exit(9)
                left[0] -= 1
                return call(*words, **named)

            return called

        os.replace, os.fsync, os.unlink = dying(os.replace), dying(os.fsync), dying(os.unlink)
        play(out)

    return child(work)


def go_on(out):
    def work():
        if os.path.exists(f"{out}/config.toml"):
            heteroselect.resume(out, threads=1, warn=lambda text: None)
        else:  # nothing that could go on: the same place is taken again
            play(out)

    return child(work)


def end(out):
    summary = json.load(open(f"{out}/summary.json"))
    return [summary[name] for name in ("status", "model_sha256", "rounds_sha256", "fingerprint")]


play("whole")  # here: what is imported is imported once, and on one thread nothing is left that a fork would miss
expected, number, wrong = end("whole"), 0, []
while killed_at(number, "run") == 9:
    if go_on("run") != 0 or end("run") != expected or set(os.listdir("run")) != set(os.listdir("whole")):
        wrong.append(number)
    shutil.rmtree("run")
    number += 1
print(json.dumps({"points": number, "wrong": wrong, "status": end("run")[0]}))
"""


def test_killed_at_any_write_a_run_goes_on_to_the_same_bits(here: Path) -> None:
    settings = {**POINTS, "rounds": 2, "selected": 1, "simulate.store": "disk", "method.error_feedback.kind": "error"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DRIVER), json.dumps(settings)],
        **{"cwd": here, "env": environment, "capture_output": True, "text": True, "timeout": 900},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["points"] > 20
    assert (found["wrong"], found["status"]) == ([], "finished")
