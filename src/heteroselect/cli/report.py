"""heteroselect report: from run folders to a page, and to figures for a paper."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heteroselect.comparison.report.write import write_comparison
from heteroselect.extras import require


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR…", help="Run folders, or folders that hold some.")],
    page: Annotated[
        Path, typer.Option("--out", help="The page to write; an existing file is replaced only if it is a report.")
    ] = Path("report.html"),
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Also draw PDF and PNG files fit for a paper.")
    ] = None,
) -> None:
    """Write one page of runs: curves, costs, selection, settings."""
    require("report", "report")
    write(folders, page, figures, shlex.join(["heteroselect", *sys.argv[1:]]))


def write(folders: Sequence[Path], page: Path, figures: Path | None, command: str) -> None:
    """Write the page, and the figures where they are wanted, and say so."""
    from heteroselect.comparison.report.load import compare  # it takes NumPy, for which help does not wait

    for sentence in write_comparison(compare(folders), page, figures, command):
        typer.echo(sentence, err=True)
