"""The command line, one file per command."""

from heteroselect.cli.app import app, main

__all__ = ["app", "main"]
