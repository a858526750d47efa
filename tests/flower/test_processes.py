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


def test_a_process_that_does_not_start_is_named_with_its_last_words(tmp_path):
    with Flower(tmp_path) as flower:
        flower.start("superlink", [sys.executable, "-c", "print('no more ports')"])
        with pytest.raises(HeteroSelectError, match=r"superlink did not start; the end of .*: no more ports"):
            flower.wait_for("superlink", "running")


def test_nobody_is_ended_twice():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    end([process.pid])
