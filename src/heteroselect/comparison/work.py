"""The runs of a comparison one after the other, and what is made of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heteroselect.comparison import grid as grids
from heteroselect.comparison import results as kept
from heteroselect.comparison import table as tables
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.write import read_former, refuse_others, write
from heteroselect.comparison.result import Comparison
from heteroselect.comparison.study import Planned, Study
from heteroselect.comparison.table_files import save
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.display.progress import Show
from heteroselect.runs.folder import read_rounds
from heteroselect.runs.result import Line


def command_of(
    preset: str, methods: Sequence[str], seeds: Sequence[int], words: Mapping[str, Any], pairs: Sequence[str]
) -> str:
    """The command line of a comparison."""
    found = ["heteroselect", "compare", preset, "--methods", ",".join(methods), "--seeds", ",".join(map(str, seeds))]
    found += [str(word) for pair in words.items() if pair[1] is not None for word in pair]
    return " ".join([*found, *(word for pair in pairs for word in ("--set", pair))])


def play(
    cells: Sequence[Cell],
    show: Show,
    *,
    ended: Callable[[str], None],
    warn: Callable[[str], None],
    minutes: float | None = None,
    threads: int | None = None,
) -> dict[str, str]:
    """Run all cells, or as many as can be started in so many minutes; returns the rows of those that failed, and why.
    Ctrl-C stops all of them, after the run in hand was closed."""
    failed, told, began, rounds = dict[str, str](), dict[str, str](), time.monotonic(), 0
    for number, cell in enumerate(cells, 1):
        name, before = f"{cell.method}, seed {cell.seed} ({number} of {len(cells)})", cell.done
        show(name, rounds)
        if not before and minutes is not None and time.monotonic() - began > 60 * minutes:
            continue
        advance = _Advance(show, name, rounds)
        try:
            status = grids.play_cell(cell, threads=threads, watch=advance, warn=warn)
        except Exception as error:  # whatever it is: the others are run all the same
            why = f"{'' if isinstance(error, HeteroSelectError) else type(error).__name__ + ': '}{error}"
            warn(f"{name}: {f'stopped, for the same reason as {told[why]}.' if why in told else why}")
            failed[cell.method], told[why] = why, told.get(why, name)
            continue
        if status == "interrupted":
            raise KeyboardInterrupt
        rounds = rounds + cell.config.last_round if before else advance.rounds
        ended(f"{name}: {'was there' if before else status}")
    return failed


@dataclass
class _Advance:
    """Shows how many rounds there have been, those of earlier runs included."""

    show: Show
    name: str
    rounds: int

    def __call__(self, _: Line) -> None:
        self.rounds += 1
        self.show(self.name, self.rounds)


def finish(
    cells: Sequence[Cell], path: Path, command: str, *, failed: Mapping[str, str], keep: bool = True
) -> tuple[Comparison, list[str]]:
    """The comparison of those methods that have come to their end. Where it is to be kept its tables and its page are
    written, too, with what there is to say about them."""
    done = [cell for cell in cells if cell.method not in failed]
    if not done:
        raise HeteroSelectError("compare: no method has come to its end.")
    table, runs = tables.make(done)
    said: list[str] = []
    if keep:
        save(table, runs, path, command)
        said = write([path], path / "report.html", path / "figures", command)
    rounds = {(cell.method, cell.seed): read_rounds(cell.path) for cell in done}
    return Comparison(table, runs, rounds, path if keep else None, dict(failed)), said


def finish_study(
    study: Study,
    name: str,
    planned: Planned,
    path: Path,
    command: str,
    *,
    failed: Mapping[str, str],
    results: Path | None = None,
    keep: bool = True,
) -> tuple[Comparison, list[str]]:
    """The comparison of the rows whose runs have come to their end, as `finish` gives it."""
    done = [cell for cell in planned.cells if cell.method not in failed and cell.done]
    if not done:
        raise HeteroSelectError("study: no run has come to its end.")
    rows = kept.collect(study, name, planned, command)
    claims = {kept.sentence(claim): claim for claim in rows["claims"]}
    table, runs = tables.make(done, ranked=False)
    said: list[str] = []
    if keep:
        save(table, runs, path, command, stem=name, claims=claims)
        for end, folders in _pages(done).items():
            said += write(folders, path / f"report{end}.html", path / f"figures{end}", command)
    if results is not None:
        kept.keep_rounds(results, study, name, planned)
        kept.merge(results, rows)
    rounds = {(cell.method, cell.seed): read_rounds(cell.path) for cell in done}
    left = {**{cell.method: "not run yet" for cell in planned.cells if not cell.done}, **failed, **planned.refused}
    return Comparison(table, runs, rounds, path if keep else None, left, tuple(claims)), said


def _pages(done: Sequence[Cell]) -> dict[str, list[Path]]:
    """The run folders of each page, by what its name ends in: a page shows runs of one data set and one target."""
    found: dict[tuple[str, float | None, str], set[Path]] = {}
    for cell in done:
        data = cell.config.data
        found.setdefault((Path(data.name).stem, cell.config.target, data.evaluate), set()).add(cell.path)
    if len(found) == 1:
        return {"": sorted(*found.values())}
    names = [name for name, _, _ in found]
    ends = [f"-{name}" + (f"-{place}" if names.count(name) > 1 else "") for place, name in enumerate(names, start=1)]
    return dict(zip(ends, map(sorted, found.values()), strict=True))


def refuse_other_comparison(path: Path, cells: Sequence[Cell]) -> None:
    """What stands in a folder is written again in its place only by a comparison that has all of its runs: without some
    of them its tables would lose them."""
    there = set(_former_runs(path, "compare", "compare"))
    if there - {(cell.method, cell.seed) for cell in cells}:
        names, seeds = (sorted({one[place] for one in there}, key=str) for place in (0, 1))
        raise HeteroSelectError(
            f"--out: {path} holds a comparison of {', '.join(map(str, names))} with the seeds "
            f"{', '.join(map(str, seeds))}; allowed are these and more, or a new folder."
        )


def refuse_other_study(path: Path, name: str, labels: Sequence[str]) -> None:
    """The tables of a study are written again in their place only by one that has all of their rows."""
    there = dict.fromkeys(row for row, _ in _former_runs(path, name, "study"))
    if other := [row for row in there if row not in labels]:
        raise HeteroSelectError(
            f"--out: {path / name}.md is of another study, with the rows {', '.join(other)}; allowed is a new folder, "
            "or a study that has these rows, too."
        )


def _former_runs(path: Path, stem: str, command: str) -> list[tuple[str, int]]:
    """The row and the seed of each run in the tables that the command has left in a folder; none where there are none
    that can be lost. What else stands in their place, or in that of the page, is refused."""
    for page in (path / "report.html", *path.glob("report-*.html")):
        refuse_others(page, "--out", MARK)
    for kind in () if (path / f"{stem}.md").exists() else ("csv", "json", "tex"):
        refuse_others(path / f"{stem}.{kind}", "--out", MARK)  # they hold no mark: they come and go with the .md
    refuse_others(path / f"{stem}.md", "--out", f"Made by `heteroselect {command}")
    there = read_former(path / f"{stem}.json", "--out")
    try:
        return [(str(run["row"]), int(run["seed"])) for run in there["runs"]]
    except (ValueError, KeyError, TypeError, OverflowError):
        return []
