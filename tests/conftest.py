"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

from heteroselect.comparison.report import MARK

pytest_plugins = ["run_folders"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference logs and data sets beside the project; it is not part of it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference logs and data sets is absent")
    return SHARED


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures of a comparison are files that say who made them, and nothing else: to draw them takes seconds.
    tests/comparison/report and tests/cli/test_cli.py look at real ones."""
    monkeypatch.setattr("heteroselect.comparison.report.pictures.saved", lambda figure, ending, dpi: MARK.encode())
