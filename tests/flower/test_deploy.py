"""`heteroselect flower deploy` with real processes, some of which are killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heteroselect.engines.flower.records import PAYLOAD, Header, to_array
from heteroselect.flower.guard import end, left
from heteroselect.flower.keys import make_node_key
from heteroselect.flower.processes import Flower
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import read_rounds, read_summary, whole_rounds
from heteroselect.settings.config import load

pytestmark = [pytest.mark.flower, pytest.mark.slow]

# nobody is asked for a loss, so that a round is one message for each client
SETTINGS = {"method.score.mode": "stale", "method.solver.steps": 5}
CHANGES = {**SETTINGS, "clients": 2, "selected": 2, "rounds": 3}


@contextmanager
def deployed(out: Path, *options: str) -> Iterator[subprocess.Popen]:
    command = [sys.executable, "-m", "heteroselect", "flower", "deploy", "mnist", "--out", str(out), "--quiet"]
    command += [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True, cwd=out.parent)
    try:
        yield process
    finally:
        process.terminate()  # it ends all that it has started
        process.wait(200)
        process.stderr.close()


def wait_for(what: Callable[[], bool], process: subprocess.Popen, seconds: float = 600) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.1)


def pid_of(out: Path, name: str) -> int | None:
    return json.loads((out / "flower" / "processes.json").read_text()).get(name)


def rounds_at(out: Path, node: str) -> dict[str, set[int]]:
    """Of which rounds a node has taken messages, for each of Flower's runs."""
    found: dict[str, set[int]] = {}
    for run, round in re.findall(r"\[RUN (\d+), ROUND (\d+)\]", (out / "flower" / f"{node}.log").read_text()):
        found.setdefault(run, set()).add(int(round))
    return found


def test_with_its_superlink_and_a_supernode_killed_the_run_ends_in_the_bits_of_one_lost_answer(tmp_path, carried):
    """After round 1 the SuperLink is killed: the command starts it again and goes on from the checkpoint. In round 2
    a SuperNode is killed in the middle of its work: the round goes on without it after the timeout, and in round 3
    it is back with its memory."""
    out = tmp_path / "run"
    options = ["--nodes", "2", "--rounds", "3", "--timeout", "60", "--set", "simulate.checkpoint_rounds=1"]
    with deployed(out, *options) as process:
        wait_for(lambda: out.is_dir() and len(whole_rounds(out)) == 1, process)
        first = pid_of(out, "superlink")
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: pid_of(out, "superlink") not in (first, None), process)
        # orders that the first SuperLink had taken are handed out by the second: of another run, for the same round
        runs = rounds_at(out, "supernode-1").keys()
        wait_for(
            lambda: any(2 in there for run, there in rounds_at(out, "supernode-1").items() if run not in runs), process
        )
        os.kill(pid_of(out, "supernode-1"), signal.SIGKILL)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    events = [[(event["client"], event["kind"]) for event in line["events"]] for line in read_rounds(out)]
    assert events == [[], [(1, "missing")], [(1, "trouble")]], "it came back as another node"
    assert read_summary(out)["model_sha256"] in {expected(carried, t) for t in (True, False)}
    assert not (out / "flower").exists()


REFUSED, ACCEPTED = "Failed to initialize the connection", "SuperNode ID"
"""What a SuperNode writes into its log."""

SPOILED = """
from dataclasses import replace
from heteroselect.round import client
from heteroselect import methods

whole = client.Worker.send

def send(self, *arguments):
    upload, pending = whole(self, *arguments)
    return (replace(upload, payload=bytes(100)) if self.client.id == 1 else upload), pending

client.Worker.send = send

mine = replace(methods.get("heteroselect"), name="mine")
"""


def test_over_tls_strangers_are_refused_garbage_does_no_harm_and_a_run_whose_command_was_killed_goes_on(
    tmp_path, carried
):
    """The garbage comes with a method of one's own, whose file the nodes load as well, and that of a part. With the
    killed command goes all that it has started. The command that goes on makes new keys, and no client moves."""
    out, file, part = tmp_path / "run", tmp_path / "spoiled.py", tmp_path / "part.py"
    file.write_text(SPOILED)
    part.write_text(
        "from heteroselect.parts.aggregate import ServerMomentum\n\nclass Step(ServerMomentum):\n    pass\n"
    )
    resume = [sys.executable, "-m", "heteroselect", "flower", "resume", str(out), "--json"]
    resume += ["--method", f"{file}:mine", "--set", f"method.server_optimizer.kind={part}:Step"]
    options = ["--nodes", "2", "--rounds", "3", "--tls", "--method", f"{file}:mine"]
    options += ["--set", f"method.server_optimizer.kind={part}:Step"]
    with deployed(out, *options, "--set", "simulate.checkpoint_rounds=1") as process:
        wait_for(lambda: out.is_dir() and (out / "flower" / "supernode-1.log").exists(), process)
        said = stranger(out, tmp_path, process)
        wait_for(lambda: len(whole_rounds(out)) >= 1, process)
        mark = json.loads((out / "flower" / "processes.json").read_text())["mark"]
        assert left(mark), "or there is nothing to end"
        again = subprocess.run(resume, capture_output=True, text=True, check=False, timeout=200)
        process.kill()
        process.wait()
    try:
        assert ACCEPTED not in said
        assert REFUSED in said, said
        assert again.returncode == 2, "not while the other is at work"
        assert "another process is at work" in again.stderr
        until = time.monotonic() + 200
        while left(mark) and time.monotonic() < until:
            time.sleep(0.1)
        assert not left(mark)
        done = subprocess.run(resume, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
    finally:
        end(left(mark))
    lines = read_rounds(out)
    assert [[(event["client"], event["kind"]) for event in line["events"]] for line in lines] == [[(1, "rejected")]] * 3

    here = carried(experiment=prepare(load("mnist", changes=CHANGES)))
    here.nodes.harm(lambda message: message.content.update({PAYLOAD: to_array(bytes(100))}), "Order", 1)
    theirs = here.play()
    assert json.loads(done.stdout)["model_sha256"] == theirs.summary["model_sha256"]
    assert lines == theirs.rounds


def stranger(out: Path, tmp_path: Path, process: subprocess.Popen) -> str:
    """What a SuperNode says whose key nobody has registered."""
    scratch = Path(json.loads((out / "flower" / "processes.json").read_text())["scratch"])
    private, _ = make_node_key(tmp_path / "keys", "stranger")
    address = tomllib.loads((scratch / "home" / "config.toml").read_text())["superlink"]["here"]["address"]
    port = int(address.rpartition(":")[2])
    log = tmp_path / "stranger.log"
    with Flower(tmp_path, out / "flower" / "keys", port) as flower:
        flower.supernode("stranger", {"partition-id": 0, "num-partitions": 2}, key=private)
        wait_for(lambda: any(text in log.read_text() for text in (REFUSED, ACCEPTED)), process)
    return log.read_text()


def expected(carried, trained: bool) -> str:
    """The model of the same run where the answer of client 1 in round 2 is lost, with or without its training."""
    here = carried(experiment=prepare(load("mnist", changes=CHANGES)), memory=f"memory-{trained}")

    def lose(message) -> bool:
        header = Header.read(message.content)
        lost = (header.kind, header.client, header.round) == ("Order", 1, 2)
        if lost and trained:
            here.nodes.reply(message)
        return lost

    here.nodes.lose = lose
    return here.play().summary["model_sha256"]
