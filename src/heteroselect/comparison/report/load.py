"""From folders to what a report compares: runs, and the runs of one method as a group over its seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from heteroselect.comparison.report.beside import beside, with_clock
from heteroselect.core.measure import ACCURACY, Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.checked import CheckedLine, CheckedSettings, CheckedSummary
from heteroselect.runs.fingerprint import NEWER, Fingerprint, completed, deciding, refuse_edited
from heteroselect.runs.folder import CONFIG, ROUNDS, SUMMARY, interrupted, read_rounds, read_summary
from heteroselect.settings import PaperRow
from heteroselect.settings.config import read_config


@dataclass(frozen=True)
class Run:
    path: Path
    config: Mapping[str, Any]
    config_text: str
    summary: Mapping[str, Any]
    rounds: Sequence[Mapping[str, Any]]
    paper: Sequence[PaperRow]
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True)
class Group:
    """The runs of one method with the same settings, by seed."""

    label: str
    runs: tuple[Run, ...]

    @property
    def summaries(self) -> list[Mapping[str, Any]]:
        return [run.summary for run in self.runs]

    @property
    def lines(self) -> list[Sequence[Mapping[str, Any]]]:
        return [run.rounds for run in self.runs]

    @property
    def seeds(self) -> str:
        return ", ".join(str(run.summary["seed"]) for run in self.runs)

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
    """All that a page shows."""

    dataset: str
    target: float
    groups: tuple[Group, ...]
    paper: tuple[PaperRow, ...]
    left_out: tuple[str, ...]
    """sentences on folders that were found but not taken"""
    evaluated_on: str = "test"
    clocks: tuple[str, ...] = ("paper",)
    measure: Measure = ACCURACY


def compare(folders: Sequence[Path]) -> Comparison:
    """Every run in or below the folders, grouped; an error for people where there is nothing sound to compare."""
    folders, left_out = find(folders)
    runs, twice = _once([read(path) for path in folders])
    for field in ("dataset", "target", "evaluated_on"):
        found = {str(run.summary.get(field, "test")) for run in runs}  # older runs know no validation
        differing = sorted({Path(one).name if one.endswith(".npz") else one for one in found})
        if len(differing) > 1:
            raise HeteroSelectError(f"report: the runs differ in {field} ({', '.join(differing)}); a page shows one.")
    measures = list(dict.fromkeys(Measure.of(run.summary) for run in runs))
    if len(measures) > 1:
        names = ", ".join(sorted(f"{one.name} ({'higher' if one.higher else 'lower'} is better)" for one in measures))
        raise HeteroSelectError(f"report: the runs differ in metric ({names}); a page shows one.")
    papers: dict[str, PaperRow] = {}
    for run in sorted(runs, key=lambda run: len(run.rounds)):  # the longest says most
        standing = beside(run.paper, len(run.rounds), reached=run.summary["rounds_to_target"] is not None)
        papers |= {row.source: row for row in standing}
    # a row is of one experiment; beside one of another data set, partition or model it would say something wrong
    strange = {name for name in papers if any(name not in {row.source for row in run.paper} for run in runs)}
    wrong = [f"the paper's {name} is left out: it is not of all of these runs." for name in sorted(strange)]
    first = runs[0].summary
    notes, judged = (*left_out, *twice, *wrong), str(first.get("evaluated_on", "test"))
    clocks = tuple(sorted({str(run.config.get("world", {}).get("charge", "paper")) for run in runs}))
    return Comparison(
        dataset=first["dataset"],
        target=first["target"],
        groups=group(runs),
        paper=tuple(with_clock((row for name, row in papers.items() if name not in strange), clocks)),
        left_out=notes,
        evaluated_on=judged,
        clocks=clocks,
        measure=measures[0],
    )


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
        named = [folder] if _is_run(folder) else []
        runs = named or sorted(path.parent for path in folder.rglob(ROUNDS) if _is_run(path.parent))
        if not runs:
            raise HeteroSelectError(f"report: {folder} neither is a run folder nor holds any ({CONFIG} and {ROUNDS}).")
        for path in runs:
            if (path / SUMMARY).is_file() and not interrupted(path):
                taken.setdefault(path.resolve(), path)
            elif not named:
                unfinished.setdefault(path.resolve(), str(path))
            elif (path / SUMMARY).is_file():
                shown = f"`heteroselect show {path}` shows how far it came"
                raise HeteroSelectError(f"report: the run in {path} has not finished, it was interrupted; {shown}.")
            else:
                raise HeteroSelectError(f"report: the run in {path} has not finished; it has no {SUMMARY} yet.")
    if not taken:
        raise HeteroSelectError(f"report: no run in {folders[0]} has finished.")
    return list(taken.values()), _left_out(list(unfinished.values()))


def _left_out(unfinished: Sequence[str]) -> list[str]:
    """One sentence, however many there are: a tuning stops most of its trials early."""
    if len(unfinished) < 2:
        return [f"{path} has not finished and is left out." for path in unfinished]
    some = ", ".join(unfinished[:3]) + (", …" if len(unfinished) > 3 else "")
    return [f"{len(unfinished)} runs have not finished and are left out: {some}."]


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
        rounds = read_rounds(path, CheckedLine.model_fields)
        for line in rounds:
            CheckedLine.model_validate(line)
            if not all(0 <= client < clients for client in line["selected"]):
                raise ValueError(f"a client that is not one of {clients} in round {line['round']}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise HeteroSelectError(f"report: {path / name} is damaged ({where}: {first['msg']}).") from error
    except OSError as error:
        raise HeteroSelectError(f"report: {path / name} cannot be read ({error.strerror}).") from error
    except (ValueError, TypeError) as error:
        raise HeteroSelectError(f"report: {path / name} is damaged ({error}).") from error
    if not rounds:
        raise HeteroSelectError(f"report: the run in {path} has no rounds.")
    fingerprint = Fingerprint.read(path)
    refuse_edited(path, fingerprint, config)
    return Run(path, config, text, summary, rounds, paper, None if fingerprint is None else fingerprint.completed())


def _experiment(run: Run) -> dict[str, Any]:
    """Every setting that makes it another experiment, by dotted name, and what of its fingerprint is no setting."""
    settings = {key: value for key, value in completed(deciding(run.config)).items() if key != "seed"}
    if run.fingerprint is None:
        return settings
    return settings | {
        **{f"{name} (digest)": digest[:8] for name, digest in run.fingerprint.parts.items()},
        **{f"{name} (version)": number for name, number in run.fingerprint.versions.items() if name not in NEWER},
        **{f"rounds (from round {one['after'] + 1})": one["to"] for one in run.fingerprint.extended},
    }


def _differs(key: str, mine: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether this setting tells two experiments apart. A part of another kind, or a file of another format, has other
    settings altogether, and only the kind or the format is named."""
    for first in ("version", f"{key.rpartition('.')[0]}.kind"):
        if mine.get(first) != other.get(first):
            return key == first
    if key.endswith("(version)") and key not in other:
        return False  # an older run has not noted it
    if key.endswith(")") and any(_explains(one, key, mine, other) for one in mine):
        return False  # of a setting that differs the digest says nothing new
    return bool(mine[key] != other.get(key))


def _explains(setting: str, digest: str, mine: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    name = digest.removesuffix(" (digest)")
    return setting.startswith(f"{name}.") and mine[setting] != other.get(setting)


def _key(run: Run) -> tuple[str, str]:
    return str(run.summary["method"]), repr(sorted(_experiment(run).items()))


def _same(one: Run, other: Run) -> bool:
    """Whether two folders hold one run: all that decides it is equal and known, and so is what came of it, as far as
    both have come. Of a run from before there were fingerprints, its settings and its rounds have to say it."""
    if _key(one) != _key(other) or one.summary["seed"] != other.summary["seed"]:
        return False
    mine, theirs = one.fingerprint, other.fingerprint
    if mine is not None and (not mine.known or mine != theirs):
        return False
    shared = min(len(one.rounds), len(other.rounds))
    return one.rounds[:shared] == other.rounds[:shared]


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
    """Runs that differ only in their seed belong together; methods keep the order in which they were found.

    Where a method was run with several settings each group is named after those that differ.
    """
    members: dict[tuple[str, str, int], list[Run]] = {}
    for run in runs:  # a seed that is there already is of something that no setting and no digest tells
        again = 0
        while any(one.summary["seed"] == run.summary["seed"] for one in members.get((*_key(run), again), [])):
            again += 1
        members.setdefault((*_key(run), again), []).append(run)
    found = []
    for (method, key, _), same in members.items():
        rivals = [_experiment(others[0]) for (name, *_), others in members.items() if name == method]
        mine = _experiment(same[0])
        differing = [key for key in mine if any(_differs(key, mine, rival) for rival in rivals)]
        words = [f"{key.removeprefix('method.')}={mine[key]}" for key in differing]
        if sum(one[:2] == (method, key) for one in members) > 1:
            words.append(str(same[0].path))
        star = "*" if any(run.summary.get("reconstruction", False) for run in same) else ""
        name = same[0].summary.get("title", method) if len(rivals) == 1 else method  # else it is told by its settings
        label = f"{method}{star} ({', '.join(words)})" if words else f"{name}{star}"
        found.append(Group(label, tuple(sorted(same, key=lambda run: int(run.summary["seed"])))))
    return tuple(found)
