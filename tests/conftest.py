"""Fixtures shared by all tests."""

from pathlib import Path

import pytest

pytest_plugins = ["run_folders"]

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference logs and data sets beside the project; it is not part of it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference logs and data sets is absent")
    return SHARED
