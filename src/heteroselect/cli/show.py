"""heteroselect show. It reads the files as they are, so that runs of every version can be shown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from heteroselect.cli.options import Folder, Json
from heteroselect.cli.terminal import out
from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import require
from heteroselect.runs.display.progress import note
from heteroselect.runs.folder import CONFIG, ROUNDS, SUMMARY, read_rounds, read_summary


def show(
    folder: Folder,
    figure: Annotated[Path | None, typer.Option(help="Draw the run as a .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Show a run: its figures beside the paper's, and its curve."""
    if figure is not None:
        require("report", "--figure")
    _refuse_others(folder)
    from heteroselect.comparison.report import tables  # these take NumPy, for which help does not wait
    from heteroselect.comparison.report.beside import beside, with_clock
    from heteroselect.settings import PaperRow

    with _damaged(folder):
        summary, lines, config = _read(folder)
        rows = [PaperRow.model_validate(row) for row in config.get("paper", [])]
        paper = beside(rows, len(lines), reached=summary["rounds_to_target"] is not None)
        paper = with_clock(paper, [summary.get("charge", "paper")])
        if as_json:
            typer.echo(json.dumps(summary, indent=2))
        else:
            out.print(tables.result_table(summary, lines, paper))
            curve = [line["accuracy"] for line in lines if line["accuracy"] is not None]
            out.print(f"{Measure.of(summary).name} {tables.sparkline(curve)}", highlight=False)
    if figure is not None:
        from heteroselect.comparison.report.pictures import draw_run  # Matplotlib takes a second to import

        draw_run(summary, lines, paper, figure)
        note(f"picture: {figure}")


def _refuse_others(folder: Path) -> None:
    """Refuse what is no run folder, or one whose run has not ended."""
    if not (folder / CONFIG).is_file() or not (folder / ROUNDS).is_file():
        written = sorted(file.name for file in folder.glob("*.md") if file.with_suffix(".json").is_file())
        hint = f"; the table of this comparison is {folder / written[0]}" if written else ""
        raise HeteroSelectError(f"show: {folder} is no run folder; it needs {CONFIG} and {ROUNDS}{hint}.")
    if not (folder / SUMMARY).is_file():
        raise HeteroSelectError(f"show: the run in {folder} has not finished; it has no {SUMMARY} yet.")


@contextmanager
def _damaged(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise HeteroSelectError(f"show: the files in {folder} are damaged ({reason}).") from error


def _read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """The summary, the rounds and the settings, checked."""
    from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
    from heteroselect.runs.guard import CheckedLine, CheckedSummary
    from heteroselect.settings.config import read_config

    summary, lines, config = read_summary(folder), read_rounds(folder), read_config(folder / CONFIG)
    CheckedSummary.model_validate(summary)
    for line in lines:
        CheckedLine.model_validate(line)
    refuse_edited(folder, Fingerprint.read(folder), config)
    return summary, lines, config
