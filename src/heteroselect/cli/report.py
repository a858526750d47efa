"""heteroselect report: from run folders to a page, and to figures for a paper."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.files import write_whole
from heteroselect.report import MARK


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
    """Write the page, and the figures where they are wanted. Everything is read and checked before anything is written,
    so that an error leaves nothing half done."""
    from heteroselect.report.load import compare  # numpy and pydantic take a while to import

    comparison = compare(folders)
    from heteroselect.report.page import render

    refuse_others(page, "--out", MARK)
    text = render(comparison, command)
    drawn: list[Path] = []
    if figures is not None:
        from heteroselect.report import figures as paper

        for name in paper.names():
            refuse_others(figures / name, "--figures", MARK)
        drawn = paper.write(comparison, figures, MARK)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, text.encode())
    except OSError as error:
        raise HeteroSelectError(f"--out: {page} cannot be written ({error.strerror}).") from error
    for sentence in comparison.left_out:
        typer.echo(sentence, err=True)
    for path in (page, *drawn):
        typer.echo(f"written: {path}", err=True)


def refuse_others(path: Path, option: str, mark: str) -> None:
    """Refuse to overwrite a file that is no report; a report may be written again in its place."""
    try:
        taken = path.exists() and mark.encode() not in path.read_bytes()
    except OSError as error:
        raise HeteroSelectError(f"{option}: {path} cannot be written ({error.strerror}).") from error
    if taken:
        raise HeteroSelectError(f"{option}: {path} exists and is no report of heteroselect; name another place.")
