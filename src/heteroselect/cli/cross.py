"""heteroselect compare --cross: one method with two settings crossed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from heteroselect.cli.terminal import out, say
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.write import read_former, refuse_others
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.display.progress import note


def cross(
    preset: str,
    names: Sequence[str],
    pairs: Sequence[str],
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    path: Path,
    command: str,
    *,
    threads: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run all pairs, and write their tables, their page and their picture."""
    from heteroselect.cli.compare import run_cells
    from heteroselect.comparison import cross as crosses
    from heteroselect.comparison import cross_table as tables

    if len(names) != 1:
        raise HeteroSelectError("--methods: allowed with --cross is one method, whose settings are crossed.")
    found = crosses.crossing(preset, names[0], crosses.read_axes(pairs), seeds, changes, path)
    refuse_others(path / "cross.md", "--out", tables.MADE)
    refuse_others(path / "cross.html", "--out", MARK)
    refuse_fewer(path, found.base, found.axes, seeds)
    if not (path / "cross.md").exists():
        for name in ("cross.csv", "cross.json", "cross.svg", "cross.png"):  # they come and go with cross.md
            refuse_others(path / name, "--out", MARK)
    cells = found.all_cells
    if not (quiet or as_json):
        for place, reason in found.refused.items():
            note(f"left out: {found.pair(place)}: {reason}")
    run_cells(cells, path, threads=threads, quiet=quiet)
    if not any(cell.done for cell in cells):
        raise HeteroSelectError("compare: no run has come to its end.")
    from heteroselect.comparison.report import heatmap  # Matplotlib takes a second to import

    tables.write(found, path, command)
    heatmap.write(found, path, command)
    if as_json:
        typer.echo((path / "cross.json").read_text())
    elif not quiet:
        print_cross(found)
        out.print(f"folder: {path}", highlight=False, soft_wrap=True)
    left = sum(not cell.done for cell in cells)
    if left:
        say(f"{left} of {len(cells)} runs did not come to an end")
        raise typer.Exit(1)


def refuse_fewer(path: Path, method: str, axes: Mapping[str, Sequence[Any]], seeds: Sequence[int]) -> None:
    """A cross may be given more values and seeds; one of other settings, or of fewer, would take its tables away."""
    there = read_former(path / "cross.json", "--out")
    try:
        values = [(key, value) for key, found in there["axes"].items() for value in found]
        lost = [f"{key}={value}" for key, value in values if value not in axes.get(key, ())]
        lost += [f"seed {seed}" for seed in there["seeds"] if seed not in seeds]
        lost += [there["method"]] if there["method"] != method else []
    except (KeyError, TypeError, AttributeError):  # there is none, or none that could be lost
        return
    if lost:
        raise HeteroSelectError(
            f"--out: {path} holds a cross with {', '.join(map(str, lost))}; allowed is one that has it too, or a new "
            "folder."
        )


def print_cross(found: Any) -> None:
    """The final accuracies and the bytes of all pairs, and one sentence on how the two settings interact."""
    from rich.table import Column, Table

    from heteroselect.comparison import cross_table as tables
    from heteroselect.comparison.cross import OUTCOMES

    rows, columns = found.levels
    for name in ("final_accuracy", "megabytes_up"):
        outcome, effects = OUTCOMES[name], found.effects(name)
        title = f"{outcome.title}, {outcome.unit} ({found.keys[0]} × {found.keys[1]})"
        table = Table("", *(Column(column, justify="right") for column in columns), title=title, title_justify="left")
        for a, level in enumerate(rows):
            table.add_row(level, *(tables.in_line(found, name, (a, b)) for b in range(len(columns))))
        out.print(table)
        if effects is not None:
            out.print(tables.interaction(outcome, effects), highlight=False)
