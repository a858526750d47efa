"""The command line, called in this process."""

from collections.abc import Mapping

from click.testing import Result
from typer.testing import CliRunner

from heteroselect.cli import app


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def sets(changes: Mapping[str, object]) -> list[str]:
    """As options of a command."""
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
