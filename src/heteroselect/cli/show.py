"""heteroselect show. It reads the files as they are, without the model of the run."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from heteroselect.cli.options import Folder, Json
from heteroselect.cli.terminal import line, out, paper_beside, undamaged
from heteroselect.core.measure import Measure
from heteroselect.errors import FolderError
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
    from heteroselect.settings import PaperRow

    with undamaged(folder, "show"):
        summary, lines, config = _read(folder)
        paper = paper_beside(summary, lines, [PaperRow.model_validate(row) for row in config.get("paper", [])])
        if as_json:
            typer.echo(json.dumps(summary, indent=2))
        else:
            out.print(tables.result_table(summary, lines, paper))
            curve = [one["accuracy"] for one in lines if one["accuracy"] is not None]
            line(f"{Measure.of(summary).name} {tables.sparkline(curve)}")
    if figure is not None:
        from heteroselect.comparison.report.pictures import draw_run  # Matplotlib takes a second to import

        draw_run(summary, lines, paper, figure)
        note(f"picture: {figure}")


def _refuse_others(folder: Path) -> None:
    """Refuse what is no run folder, or one whose run has not ended."""
    if not (folder / CONFIG).is_file() or not (folder / ROUNDS).is_file():
        written = sorted(file.name for file in folder.glob("*.md") if file.with_suffix(".json").is_file())
        hint = f"; the table of this comparison is {folder / written[0]}" if written else ""
        raise FolderError(f"show: {folder} is no run folder; it needs {CONFIG} and {ROUNDS}{hint}.")
    if not (folder / SUMMARY).is_file():
        raise FolderError(f"show: the run in {folder} has not finished; it has no {SUMMARY} yet.")


def _read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]:
    """The summary, the rounds and the settings, checked."""
    from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
    from heteroselect.runs.guard import CheckedLine, CheckedSummary
    from heteroselect.settings.config import read_config

    summary, lines, config = read_summary(folder), read_rounds(folder), read_config(folder / CONFIG)
    CheckedSummary.model_validate(summary)
    for one in lines:
        CheckedLine.model_validate(one)
    refuse_edited(folder, Fingerprint.read(folder), config)
    return summary, lines, config
