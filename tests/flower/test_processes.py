"""Processes are found by their mark, wherever they have gone, and ended; no others are."""

import os
import subprocess
import sys

import pytest

from heteroselect.errors import HeteroSelectError
from heteroselect.flower.processes import MARK, Flower, end, exists, left

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
        assert not any(exists(pid) for pid in found)
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
from heteroselect.flower.processes import Flower, exists
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
