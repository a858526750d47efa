"""What all tests of the command line need: a folder with a small data set, and the command."""

import sys

import numpy as np
import pytest

from heteroselect import cli

SMALL = ("clients=12", "selected=4", "target=0.5", "method.solver.steps=5", "method.solver.batch=8")
QUICK = [word for change in SMALL for word in ("--set", change)] + ["--threads", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own with a small data set in it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    np.savez(tmp_path / "points.npz", x=rng.normal(size=(240, 5)) + 2 * np.eye(3, 5)[y], y=y)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(here, monkeypatch, capsys):
    """Run the command; its exit code, and what it printed on standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["heteroselect", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def quick():
    """The words of a run that takes a moment."""
    return lambda *more: ("run", "mnist", "--set", "data.name=points.npz", "--rounds", 3, *QUICK, *more)
