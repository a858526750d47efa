"""From folders to what a report compares: runs, and the runs of one method as a group over its seeds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from heteroselect.comparison import table as tables
from heteroselect.comparison.figures import Lines, spent
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.beside import beside, with_clock
from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.files import read_json
from heteroselect.runs.fingerprint import OWN, Fingerprint, completed, deciding, refuse_edited
from heteroselect.runs.folder import CONFIG, ROUNDS, SUMMARY, interrupted, read_rounds, read_summary
from heteroselect.runs.guard import CheckedLine, CheckedSettings, CheckedSummary, reason
from heteroselect.settings import PaperRow
from heteroselect.settings.config import read_config


@dataclass(frozen=True)
class Run:
    path: Path
    config: Mapping[str, Any]
    config_text: str
    summary: Mapping[str, Any]
    rounds: Sequence[dict[str, Any]]
    paper: Sequence[PaperRow]
    fingerprint: Fingerprint | None = None

    @property
    def seed(self) -> int:
        return int(self.summary["seed"])

    @property
    def charge(self) -> str:
        """The clock of its seconds."""
        return str(self.config.get("world", {}).get("charge", "paper"))

    @cached_property
    def experiment(self) -> dict[str, Any]:
        """Every setting that makes it another experiment, by dotted name, and what of its fingerprint is no setting."""
        settings = {key: value for key, value in completed(deciding(self.config)).items() if key != "seed"}
        if self.fingerprint is None:
            return settings
        return settings | {
            **{f"{name} (digest)": digest[:8] for name, digest in self.fingerprint.parts.items()},
            **{f"{name} (version)": number for name, number in self.fingerprint.versions.items()},
            **{f"rounds (from round {one['after'] + 1})": one["to"] for one in self.fingerprint.extended},
        }

    def alike(self, other: "Run") -> bool:
        """Whether both are of one experiment, each with its own seed."""
        return self.summary["method"] == other.summary["method"] and self.experiment == other.experiment


@dataclass(frozen=True)
class Group:
    """The runs of one method with the same settings, by seed."""

    name: str
    runs: tuple[Run, ...]

    @property
    def label(self) -> str:
        return self.name + ("*" if self.reconstruction else "")

    @property
    def lines(self) -> list[Lines]:
        return [run.rounds for run in self.runs]

    @property
    def seeds(self) -> str:
        return ", ".join(str(run.seed) for run in self.runs)

    @property
    def clients(self) -> int:
        return int(self.runs[0].config["clients"])

    @property
    def sends_float32(self) -> bool:
        return all(run.summary.get("sends_float32", True) for run in self.runs)

    def counts(self, axis: str) -> bool:
        """Whether a cost means something for these runs: the paper counts values of 32 bits."""
        return axis != "megabytes" or self.sends_float32

    @property
    def reconstruction(self) -> bool:
        return any(run.summary.get("reconstruction", False) for run in self.runs)


@dataclass(frozen=True)
class Comparison:
    """All that a page shows: groups of one data set, target and metric."""

    groups: tuple[Group, ...]
    paper: tuple[PaperRow, ...]
    left_out: tuple[str, ...]
    """sentences on folders that were found but not taken"""
    ranked: bool = True

    @property
    def summary(self) -> Mapping[str, Any]:
        """That of the first run, in what all have in common."""
        return self.groups[0].runs[0].summary

    @property
    def dataset(self) -> str:
        return str(self.summary["dataset"])

    @property
    def target(self) -> float:
        return float(self.summary["target"])

    @property
    def measure(self) -> Measure:
        return Measure.of(self.summary)

    @property
    def axis(self) -> str:
        """The title of the axis of the metric."""
        return f"{self.summary.get('evaluated_on', 'test')} {self.measure.axis}"

    @cached_property
    def table(self) -> tables.Table:
        return tables.make(self.groups, ranked=self.ranked)[0]

    def bands(
        self, pick: Callable[[Lines], curves.Curve], axis: str = "rounds"
    ) -> list[tuple[int, Group, curves.Band]]:
        """The curve of each method that has one, and for which the `axis` means something, with the method's place."""
        found = []
        for place, group in enumerate(self.groups):
            band = curves.thinned(curves.band([pick(lines) for lines in group.lines]))
            if len(band.x) and group.counts(axis):
                found.append((place, group, band))
        return found

    def wide(self, axis: str) -> bool:
        """Whether runs differ so much in what they send that only a logarithmic axis shows each of them."""
        runs = [lines for group in self.groups if group.counts(axis) for lines in group.lines]
        totals = [float(spent(lines, axis)[-1]) for lines in runs]
        return axis.endswith("megabytes") and 0 < min(totals, default=0) < max(totals) / curves.FACTOR


def compare(folders: Sequence[Path]) -> Comparison:
    """Every run in or below the folders, grouped; an error for people where there is nothing sound to compare."""
    folders, left_out = find(folders)
    runs, twice = _once([read(path) for path in folders])
    return comparison(group(runs), (*left_out, *twice))


def comparison(groups: Sequence[Group], left_out: Sequence[str] = (), *, ranked: bool = True) -> Comparison:
    """The comparison of these groups, whose runs a page can show beside each other."""
    runs = [run for group in groups for run in group.runs]
    _refuse_unlike(runs)
    paper, wrong = _paper(runs)
    paper = with_clock(paper, {run.charge for run in runs})
    return Comparison(tuple(groups), tuple(paper), (*left_out, *wrong), ranked)


def _refuse_unlike(runs: Sequence[Run]) -> None:
    """Refuse runs of different data, target, examples or metric."""
    for field in ("dataset", "target", "evaluated_on"):
        found = {str(run.summary.get(field, "test")) for run in runs}  # older runs know no validation
        differing = sorted({Path(one).name if one.endswith(".npz") else one for one in found})
        if len(differing) > 1:
            raise HeteroSelectError(f"report: the runs differ in {field} ({', '.join(differing)}); a page shows one.")
    measures = list(dict.fromkeys(Measure.of(run.summary) for run in runs))
    if len(measures) > 1:
        names = ", ".join(sorted(f"{one.name} ({'higher' if one.higher else 'lower'} is better)" for one in measures))
        raise HeteroSelectError(f"report: the runs differ in metric ({names}); a page shows one.")


def _paper(runs: Sequence[Run]) -> tuple[list[PaperRow], list[str]]:
    """The paper's rows that are of all runs, and a sentence on each other: a row is of one experiment, and beside one
    of another data set, partition or model it would say something wrong."""
    papers: dict[str, PaperRow] = {}
    for run in sorted(runs, key=lambda run: len(run.rounds)):  # the longest says most
        standing = beside(run.paper, len(run.rounds), reached=run.summary["rounds_to_target"] is not None)
        papers |= {row.source: row for row in standing}
    strange = {name for name in papers if any(name not in {row.source for row in run.paper} for run in runs)}
    wrong = [f"the paper's {name} is left out: it is not of all of these runs." for name in sorted(strange)]
    return [row for name, row in papers.items() if name not in strange], wrong


def grouped(folders: Iterable[tuple[str, Path]]) -> list[Group]:
    """Read folders of runs, each with the name of its row."""
    found: dict[str, list[Run]] = {}
    for name, path in folders:
        found.setdefault(name, []).append(read(path))
    return [Group(name, tuple(runs)) for name, runs in found.items()]


def find(folders: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The run folders in and below those given, and a sentence on those that have not finished.

    A folder that was named itself has to be whole; one found below it, as in a comparison that is still going on or
    among the trials of a tuning, is left out: half a run is no seed beside whole ones.
    """
    taken: dict[Path, Path] = {}
    unfinished: dict[Path, str] = {}
    for folder in folders:
        if not folder.is_dir():
            raise HeteroSelectError(f"report: there is no folder {folder}.")
        named = _is_run(folder)
        runs = [folder] if named else _in_order(folder, [path.parent for path in sorted(folder.rglob(ROUNDS))])
        if not runs:
            raise HeteroSelectError(f"report: {folder} neither is a run folder nor holds any ({CONFIG} and {ROUNDS}).")
        for path in runs:
            if (path / SUMMARY).is_file() and not interrupted(path):
                taken.setdefault(path.resolve(), path)
            elif named:
                how = f"`heteroselect resume {path}` goes on with it"
                raise HeteroSelectError(f"report: the run in {path} has not finished; {how}.")
            else:
                unfinished[path.resolve()] = f"{path} has not finished and is left out."
    if not taken:
        raise HeteroSelectError(f"report: no run in {folders[0]} has finished.")
    first, more = list(unfinished.values())[:3], len(unfinished) - 3  # a tuning stops most of its trials early
    return list(taken.values()), first + [f"{more} more have not finished and are left out."] * (more > 0)


def _in_order(folder: Path, runs: list[Path]) -> list[Path]:
    """Those that are runs, in the order in which a comparison in this folder named its methods, the first of which is
    the base of its differences."""
    runs = [path for path in runs if _is_run(path)]
    try:
        named = [str(run["row"]) for run in read_json(folder / "compare.json")["runs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return runs
    order = {name: place for place, name in enumerate(dict.fromkeys(named))}
    return sorted(runs, key=lambda path: order.get(path.parent.name, len(order)))


def _is_run(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and (folder / ROUNDS).is_file()


def read(path: Path) -> Run:
    """A run folder, each field checked."""
    name = CONFIG
    try:
        config = read_config(path / CONFIG)
        text = (path / CONFIG).read_text(encoding="utf-8")
        clients = CheckedSettings.model_validate(config).clients
        paper = [PaperRow.model_validate(row) for row in config.get("paper", [])]
        name = SUMMARY
        summary = read_summary(path)
        CheckedSummary.model_validate(summary)
        name = ROUNDS
        rounds = read_rounds(path)
        for line in rounds:
            CheckedLine.model_validate(line)
            if not all(0 <= client < clients for client in line["selected"]):
                raise ValueError(f"a client that is not one of {clients} in round {line['round']}")
    except OSError as error:
        raise HeteroSelectError(f"report: {path / name} cannot be read ({error.strerror}).") from error
    except (ValueError, TypeError) as error:
        raise HeteroSelectError(f"report: {path / name} is damaged ({reason(error)}).") from error
    if not rounds:
        raise HeteroSelectError(f"report: the run in {path} has no rounds.")
    fingerprint = Fingerprint.read(path)
    refuse_edited(path, fingerprint, config)
    return Run(path, config, text, summary, rounds, paper, None if fingerprint is None else fingerprint.completed())


def _differs(key: str, mine: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether this setting tells two experiments apart. A part of another kind, or a file of another format, has other
    settings altogether, and only the kind or the format is named."""
    for first in ("version", f"{key.rpartition('.')[0]}.kind"):
        if mine.get(first) != other.get(first):
            return key == first
    if key.endswith("(version)") and key not in other:
        return False  # an older run has not noted it
    if key.endswith(" (digest)"):  # of a setting that differs the digest says nothing new
        part = key.removesuffix(" (digest)").removeprefix(OWN)
        if any(mine[one] != other.get(one) for one in mine if one.startswith(f"{part}.")):
            return False
    return bool(mine[key] != other.get(key))


def _same(one: Run, other: Run) -> bool:
    """Whether two folders hold one run: all that decides it is equal and known, and so is what came of it, as far as
    both have come."""
    known = one.fingerprint == other.fingerprint and not (one.fingerprint and one.fingerprint.unknown)
    shared = min(len(one.rounds), len(other.rounds))
    return known and one.seed == other.seed and one.alike(other) and one.rounds[:shared] == other.rounds[:shared]


def _once(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """The same run again would count one seed twice; the longer one stays."""
    kept: list[Run] = []
    notes = []
    for run in runs:
        place = next((place for place, one in enumerate(kept) if _same(one, run)), None)
        if place is None:
            kept.append(run)
        else:
            longer, other = sorted((kept[place], run), key=lambda one: -len(one.rounds))
            kept[place] = longer
            notes.append(f"{other.path} is the same run as {longer.path} and is left out.")
    return kept, notes


def group(runs: Sequence[Run]) -> tuple[Group, ...]:
    """Runs that differ only in their seed belong together; methods keep the order in which they were found. A seed that
    is there already is of something that no setting and no digest tells."""
    members: list[list[Run]] = []
    for run in runs:
        fitting = (same for same in members if run.alike(same[0]) and run.seed not in {one.seed for one in same})
        if (same := next(fitting, None)) is None:
            members.append([run])
        else:
            same.append(run)
    firsts = [same[0] for same in members]
    return tuple(Group(_name(same[0], firsts), tuple(sorted(same, key=lambda run: run.seed))) for same in members)


def _name(run: Run, firsts: Sequence[Run]) -> str:
    """What the group of this run is called: its title, or what tells it from the other groups of its method."""
    method = str(run.summary["method"])
    rivals = [one for one in firsts if one.summary["method"] == method]
    if len(rivals) == 1:
        return str(run.summary.get("title", method))
    differing = [key for key in run.experiment if any(_differs(key, run.experiment, one.experiment) for one in rivals)]
    words = [f"{key.removeprefix('method.')}={run.experiment[key]}" for key in differing]
    if sum(one.alike(run) for one in rivals) > 1:
        words.append(str(run.path))
    return f"{method} ({', '.join(words)})" if words else method
