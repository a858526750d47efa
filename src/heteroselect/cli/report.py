"""heteroselect report: from run folders to a page, and to figures for a paper."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from heteroselect.comparison.report.write import write_comparison
from heteroselect.extras import require

PAGE = "The page to write; an existing file is replaced only if it is a report."


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run folders, or folders that hold some.")],
    page: Annotated[Path, typer.Option("--out", help=PAGE)] = Path("report.html"),
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also draw PDF and PNG files fit for a paper.")
    ] = None,
) -> None:
    """Write one page of runs: curves, costs, selection, settings."""
    require("report", "report")
    from heteroselect.comparison.report.load import compare  # it takes NumPy, for which help does not wait

    command = shlex.join(["heteroselect", *sys.argv[1:]])
    for sentence in write_comparison(compare(folders), page, figures, command):
        typer.echo(sentence, err=True)
