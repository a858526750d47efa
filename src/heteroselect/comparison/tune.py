"""Equal tuning: every method gets the same number of trials, on examples and seeds that the comparison does not use.

Trial 0 is the default itself; the others fill the ranges that the parts declare. All are evaluated on the validation
examples. After a quarter of the rounds the best third goes on, and the default in any case; the others are stopped.
The rule is the same for all methods, and no number in it depends on a clock. A trial is an ordinary run folder: the
same command goes on where it was broken off."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import tomli_w

from heteroselect.comparison import trials as rules
from heteroselect.comparison.grid import NOTHING, Cell, Known, Row, Runner, Source, called, refuse_another, refuse_twice
from heteroselect.comparison.report import MARK
from heteroselect.comparison.report.write import refuse_others
from heteroselect.comparison.table_files import as_json, write_files
from heteroselect.comparison.trials import FAILED, SPENT, Knob, Score
from heteroselect.errors import FolderError, HeteroSelectError, SettingError
from heteroselect.files import read_json, read_toml
from heteroselect.round.method import Method
from heteroselect.runs.folder import CONFIG, whole_rounds
from heteroselect.runs.own import Own
from heteroselect.runs.result import Line
from heteroselect.settings import own as files
from heteroselect.settings.config import flatten, nested
from heteroselect.settings.renamed import current

MADE = "heteroselect tune"
VALIDATION = {"data.validation_fraction": 0.1, "data.evaluate": "validation"}
ATTEMPTS = 20
"""Points per trial that a method may refuse before its ranges are given up."""
Player = Callable[[Cell, int], Sequence[Line]]
"""Gives the first rounds of a cell, and none of one that failed."""


@dataclass(frozen=True)
class Trial:
    """Settings to try, and the runs with them, one per seed."""

    number: int
    settings: dict[str, Any]
    cells: list[Cell]


@dataclass(frozen=True)
class Contest:
    """The trials of one method."""

    name: str
    knobs: list[Knob]
    trials: list[Trial]

    @property
    def last(self) -> int:
        """The last round of each run."""
        return self.trials[0].cells[0].config.last_round

    @property
    def rounds(self) -> int:
        """How many rounds its trials take at most."""
        trials, first = len(self.trials), rules.rung(self.last)
        going = min(trials - 1, -(-trials // rules.THIRD))
        return len(self.trials[0].cells) * (self.last + (trials - 1) * first + going * (self.last - first))

    @property
    def described(self) -> str:
        """The method and its ranges."""
        ranges = [
            f"  {', '.join((knob.key, *knob.also))}: {knob.range.low:g} to {knob.range.high:g}, {knob.range.scale}"
            for knob in self.knobs
        ]
        return "\n".join([f"{self.name}: {len(self.trials)} trials", *ranges])


@dataclass(frozen=True)
class Found:
    """What the trials of a method gave: of each its score after the first part of the rounds, and of those that went on
    the score at the end."""

    contest: Contest
    early: list[Score]
    late: dict[int, Score]
    best: int

    @property
    def settings(self) -> dict[str, Any]:
        """Those of its best trial that differ from the default."""
        return self.contest.trials[self.best].settings


@dataclass(frozen=True, repr=False, eq=False)
class Tuned:
    """What tuning gave, by method."""

    methods: dict[str, Found]
    by: str
    folder: Path | None = None
    """where the trials and the settings are kept, if they are: `compare(…, tuned=folder)` takes them"""

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """By method, the settings that differ from its default."""
        return {name: found.settings for name, found in self.methods.items()}

    def cells(self) -> list[list[str]]:
        """A line of text per method (see `line`)."""
        return [line(found, self.by) for found in self.methods.values()]

    def __repr__(self) -> str:
        return f"<Tuned {', '.join(self.methods)} by {self.by}{f' in {self.folder}' if self.folder else ''}>"


def stem(method: str | Method) -> str:
    """What the file of a method is called; one's own method, FILE.py:NAME, by its NAME."""
    (name,) = called([method])
    return name.rpartition(":")[2] if files.is_path(name) else name


def plan(
    config: Source,
    methods: Sequence[str | Method],
    count: int,
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    out: Path,
    apart: Sequence[int] = (),
    by: str = "final",
    own: Own = NOTHING,
) -> list[Contest]:
    """All trials of all methods; whatever is wrong with them is said here, before the first run. `apart` are the seeds
    of the comparison."""
    stems, changes = [stem(method) for method in methods], {**VALIDATION, **changes}
    refuse_twice(stems, seeds)
    _refuse_unfair(by, count, seeds, apart, changes)
    if (out / CONFIG).is_file():
        raise FolderError(f"--out: {out} holds a run; name a new folder, or one of an earlier tuning.")
    for name in (*(f"{one}.toml" for one in stems), "tune.json"):
        refuse_others(out / name, "--out", MADE)
    refuse_others(out / "tune.html", "--out", MARK)
    contests, known = [], Known()
    for method, name in zip(methods, stems, strict=True):
        row = Row(method, config, changes, out, name, out / "trials" / name, own=own)
        contests.append(_contest(row, count, seeds))
    for cell in (cell for contest in contests for trial in contest.trials for cell in trial.cells):
        refuse_another(cell, known)
    return contests


def _refuse_unfair(by: str, count: int, seeds: Sequence[int], apart: Sequence[int], changes: Mapping[str, Any]) -> None:
    if by not in rules.CRITERIA:
        raise SettingError(f"--by: there is no {by!r}; choose {', '.join(rules.CRITERIA)}.")
    if count < 2:
        raise SettingError(f"--trials: give 2 or more, the first of which is the default, not {count}.")
    if changes["data.evaluate"] != "validation":
        raise SettingError("data.evaluate: leave it at validation while tuning: the test part decides nothing.")
    _refuse_shared(seeds, apart, "is a seed of the comparison; give others, as in --seeds 101,102")


def _refuse_shared(seeds: Iterable[int], others: Iterable[int], why: str) -> None:
    if both := sorted(set(seeds) & set(others)):
        raise SettingError(f"--seeds: {', '.join(map(str, both))} {why}.")


def _contest(row: Row, count: int, seeds: Sequence[int]) -> Contest:
    """The default, then one point after the other; those that the method refuses are passed over."""
    (name,) = called([row.method])
    found = rules.knobs(row.cell(seeds[0]).loaded.method, row.changes)
    if not found:
        raise SettingError(f"--methods: {name} has no setting with a range to tune in; leave it out.")
    trials: list[Trial] = []
    for settings in islice(chain([{}], rules.points(found)), count * (ATTEMPTS + 1)):
        number, changes = len(trials), {**row.changes, **settings}
        tried = replace(row, changes=changes, folder=row.out / "trials" / row.label / f"trial-{number:02d}")
        try:
            trials.append(Trial(number, settings, [tried.cell(seed) for seed in seeds]))
        except HeteroSelectError:
            if not trials:
                raise
        if len(trials) == count:
            return Contest(name, found, trials)
    raise SettingError(f"--methods: {name} refuses most of the settings in its ranges; leave it out.")


def player(runner: Runner) -> Player:
    """Plays trials as far as they are wanted, run or resumed where they are not there yet."""

    def play(cell: Cell, until: int) -> list[Line]:
        name = f"{cell.method}, {cell.path.parent.name}, seed {cell.seed}"
        return whole_rounds(cell.path)[:until] if runner.play(cell, name, until) else []

    return play


def contend(contest: Contest, by: str, budgets: list[float], play: Player) -> Found:
    """Play all trials of a method as far as they get. `budgets`, one per seed, are filled in by the first default."""
    last, first, target = contest.last, rules.rung(contest.last), contest.trials[0].cells[0].config.target

    def played(trial: Trial, until: int) -> list[Sequence[Line]]:
        return [play(cell, until) for cell in trial.cells]

    def judged(runs: Sequence[Sequence[Line]]) -> Score:
        return rules.score(by, runs, target=target, budgets=budgets) if all(runs) else FAILED

    default = played(contest.trials[0], last)
    if by in SPENT and not budgets:
        budgets += [float(sum(line[SPENT[by]] for line in lines)) for lines in default]
        if not all(budgets):
            raise SettingError(f"--by: the default of {contest.name} did not come to its end, and gives no budget.")
    early = [judged([lines[:first] for lines in default])]
    early += [judged(played(trial, first)) for trial in contest.trials[1:]]
    late = {0: judged(default)}
    late |= {number: judged(played(contest.trials[number], last)) for number in rules.survivors(early) if number}
    return Found(contest, early, late, rules.best(late))


def write(found: Found, by: str, command: str, out: Path) -> None:
    """The file of a method: the settings that differ from its default, and how they were found."""
    total, default = len(found.contest.trials), shown(by, found.late[0])
    how = f"# the default itself was the best of {total} trials, by {by}: {default}."
    if found.best:
        how = f"# trial {found.best} of {total}, by {by}: {shown(by, found.late[found.best])},\n"
        how += f"# where the default has {default} on the same validation examples and seeds."
    text = f"# Found by `{command}`\n{how}\n{tomli_w.dumps(nested(found.settings))}"
    write_files(out, {f"{stem(found.contest.name)}.toml": text})


def shown(by: str, one: Score | None) -> str:
    """A score in words."""
    if one is None:
        return "stopped"
    if one == FAILED:
        return "failed"
    if by == "time-to-target":
        reached, soon, accuracy = one
        return f"{-soon:,.1f} s ({reached:.0%} of seeds arrived)" if reached else f"not reached, {accuracy:.2%}"
    return f"{one[0]:.2%}"


def line(found: Found, by: str) -> list[str]:
    """A line of the table: the method, what its default and its best trial gave, and the settings of the best."""
    settings = ", ".join(f"{key.removeprefix('method.')}={value}" for key, value in found.settings.items())
    scores = [shown(by, found.late[number]) for number in (0, found.best)]
    return [found.contest.name, *scores, settings or "none: the default is the best"]


def write_all(
    found: Sequence[Found], by: str, seeds: Sequence[int], budgets: Sequence[float], command: str, out: Path
) -> None:
    """All trials as JSON, and as a page."""
    from heteroselect.comparison.report import tuned  # Matplotlib takes a second to import

    def plain(one: Score | None) -> list[float | None] | None:
        return None if one is None else [value if math.isfinite(value) else None for value in one]

    methods = {
        one.contest.name: {
            "ranges": {knob.key: [knob.range.low, knob.range.high, knob.range.scale] for knob in one.contest.knobs},
            "best": one.best,
            "trials": [
                {"settings": trial.settings, "early": plain(one.early[n]), "score": plain(one.late.get(n))}
                for n, trial in enumerate(one.contest.trials)
            ],
        }
        for one in found
    }
    content = {"command": command, "by": by, "seeds": list(seeds), "budgets": list(budgets), "methods": methods}
    write_files(out, {"tune.json": as_json(content)})
    tuned.write(found, by, out, command)


def read(folder: Path, names: Sequence[str], seeds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The tuned settings of each method, for a comparison with these seeds."""
    try:
        used = set(read_json(folder / "tune.json")["seeds"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingError(f"--tuned: {folder} holds no tune.json of `{MADE}` ({error}).") from error
    _refuse_shared(used, seeds, "was used for tuning; give seeds that were not, to be fair")
    return {name: _settings_in(folder / f"{stem(name)}.toml", name) for name in names}


def _settings_in(file: Path, name: str) -> dict[str, Any]:
    try:
        return current(flatten(read_toml(file)))
    except OSError as error:
        raise SettingError(f"--tuned: {name} was not tuned, there is no {file}; tune it, or leave it out.") from error
    except ValueError as error:
        raise SettingError(f"--tuned: {file} is not valid TOML ({error}).") from error
