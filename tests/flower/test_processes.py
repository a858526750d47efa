"""Processes are found by their mark, wherever they have gone, and ended; no others are."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heteroselect.errors import HeteroSelectError
from heteroselect.flower.guard import MARK, end, exists, left
from heteroselect.flower.keys import LOOPBACK
from heteroselect.flower.processes import PROCESSES, Flower, end_orphans, free_port

SLEEP = "import time; time.sleep(600)"
DETACHED = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', '{SLEEP}'], start_new_session=True)"


def test_what_a_process_has_started_in_a_session_of_its_own_is_ended_with_it(tmp_path):
    other = subprocess.Popen([sys.executable, "-c", SLEEP], env={**os.environ, MARK: "another"})
    try:
        with Flower(tmp_path) as flower:
            flower.start("parent", [sys.executable, "-c", f"{DETACHED}; {SLEEP}"])
            while len(left(flower.mark)) < 2:
                assert flower.alive("parent")
            found = left(flower.mark)
            assert exists(flower.guard.pid)
            assert flower.guard.pid not in found
        assert not any(exists(pid) for pid in found)
        assert flower.guard.returncode == 0
        assert exists(other.pid)
        assert not flower.scratch.exists()
    finally:
        other.kill()
        other.wait()
    assert not exists(other.pid)


def test_a_process_that_does_not_start_is_named_with_the_end_of_its_log(tmp_path):
    with Flower(tmp_path) as flower:
        flower.start("superlink", [sys.executable, "-c", "print('no more ports')"])
        with pytest.raises(HeteroSelectError, match=r"superlink did not start; the end of .*: no more ports"):
            flower.wait_for("superlink", "running")


def test_nobody_is_ended_twice():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    end([process.pid])


@pytest.mark.slow
def test_asked_twice_to_end_it_still_ends_what_it_started(tmp_path):
    """The child starts a process that is slow to end, and is interrupted again while it waits for that."""
    slow = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    code = f"""
import os, signal, sys, threading
from pathlib import Path
from heteroselect.flower.guard import exists
from heteroselect.flower.keys import LOOPBACK
from heteroselect.flower.processes import Flower
flower = Flower(Path({str(tmp_path)!r}))
try:
    with flower:
        flower.start("slow", [sys.executable, "-c", {slow!r}])
        flower.wait_for("slow", "1")
        pid = flower.running["slow"].pid
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
        raise KeyboardInterrupt
except KeyboardInterrupt:
    print("left" if exists(pid) else "ended", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "ended\n", done.stderr


LISTENING = """
import socket, time
server = socket.create_server(("127.0.0.1", {port}))
print("listening", flush=True)
time.sleep(600)
"""
STAND_IN = f"""
    flower.start("parent", [sys.executable, "-c", {DETACHED + "; " + SLEEP!r}])
    flower.start("link", [sys.executable, "-c", {LISTENING!r}.format(port=flower.port)])
    flower.wait_for("link", "listening")
"""
SUPERLINK = """
    flower.superlink()
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", [STAND_IN, pytest.param(SUPERLINK, marks=pytest.mark.flower)], ids=["link", "real"])
def test_a_command_that_is_killed_leaves_nothing_listening(tmp_path, start):
    port = free_port()
    code = f"""
import sys, time
from pathlib import Path
from heteroselect.flower.keys import LOOPBACK
from heteroselect.flower.processes import Flower
with Flower(Path({str(tmp_path)!r}), port={port}) as flower:
{start}
    print(flower.mark, flower.guard.pid, flower.scratch, flush=True)
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        mark, guard, scratch = process.stdout.readline().split()
        assert (Path(scratch) / "home").exists()
        with socket.create_connection((LOOPBACK, port)):
            pass  # it does listen
    finally:
        process.kill()
        process.communicate()
    try:
        until = time.monotonic() + 200
        while (left(mark) or exists(int(guard))) and time.monotonic() < until:
            time.sleep(0.05)
        assert not left(mark)
        assert not exists(int(guard)), "nothing is left to guard"
        assert not Path(scratch).exists()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((LOOPBACK, port))
    finally:
        end(left(mark))


def test_where_the_guard_was_killed_as_well_the_next_command_ends_what_is_left(tmp_path):
    orphan = subprocess.Popen([sys.executable, "-c", SLEEP], env={**os.environ, MARK: "ours"})
    other = subprocess.Popen([sys.executable, "-c", SLEEP], env={**os.environ, MARK: "another"})
    try:
        (tmp_path / PROCESSES).write_text(json.dumps({"mark": "ours"}))
        while orphan.pid not in left("ours"):
            assert orphan.poll() is None
        end_orphans(tmp_path)
        assert not exists(orphan.pid)
        assert exists(other.pid)
    finally:
        for process in (orphan, other):
            process.kill()
            process.wait()
