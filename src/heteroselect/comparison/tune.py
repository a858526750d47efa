"""Equal tuning: every method gets the same number of trials, on examples and seeds that the comparison does not use.

Trial 0 is the default itself; the others fill the ranges that the parts declare. All are evaluated on the validation
examples, and the test part is not looked at. After a quarter of the rounds the best third goes on, and the default in
any case; the others are stopped there. The rule is the same for all methods, and no number in it depends on a clock.

A trial is an ordinary run folder: one that was stopped can be resumed, and the same command goes on where it was broken
off."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import tomli_w

from heteroselect.comparison import grid as grids
from heteroselect.comparison.trials import (
    FAILED,
    SPENT,
    THIRD,
    Knob,
    Score,
    best,
    knobs,
    points,
    rung,
    score,
    survivors,
)
from heteroselect.errors import HeteroSelectError
from heteroselect.files import read_json, read_toml, write_whole
from heteroselect.runs.folder import CONFIG, as_user_error, whole_rounds
from heteroselect.runs.result import Line
from heteroselect.settings import own
from heteroselect.settings.config import flatten, load
from heteroselect.settings.renamed import current

MADE = "heteroselect tune"
VALIDATION = {"data.validation_fraction": 0.1, "data.evaluate": "validation"}
ATTEMPTS = 20
"""Points per trial that a method may refuse before its ranges are given up."""


@dataclass(frozen=True)
class Trial:
    """Settings to try, and the runs with them, one per seed."""

    number: int
    settings: dict[str, Any]
    cells: list[grids.Cell]


@dataclass(frozen=True)
class Contest:
    """The trials of one method."""

    name: str
    knobs: list[Knob]
    trials: list[Trial]


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
        return self.contest.trials[self.best].settings


def stem(name: str) -> str:
    """What the file of a method is called; one's own method, FILE.py:NAME, by its NAME."""
    return name.rpartition(":")[2] if own.is_path(name) else name


def plan(
    preset: str,
    names: Sequence[str],
    count: int,
    seeds: Sequence[int],
    changes: Mapping[str, Any],
    out: Path,
    apart: Sequence[int] = (),
) -> list[Contest]:
    """All trials of all methods; whatever is wrong with them is said here, before the first run. `apart` are the seeds
    of the comparison."""
    if not names or len({stem(name) for name in names}) < len(names):
        raise HeteroSelectError("--methods: allowed are one or more names, each once, as in --methods fedavg,oort.")
    if not seeds or len(set(seeds)) < len(seeds):
        raise HeteroSelectError("--seeds: allowed are one or more whole numbers, each once.")
    if count < 2:
        raise HeteroSelectError(f"--trials: allowed is 2 or more, the first of which is the default, not {count}.")
    changes = {**VALIDATION, **changes}
    if changes["data.evaluate"] != "validation":
        raise HeteroSelectError("data.evaluate: allowed while tuning is validation: the test part decides nothing.")
    both = sorted(set(seeds) & set(apart))
    if both:
        raise HeteroSelectError(
            f"--seeds: {', '.join(map(str, both))} is a seed of the comparison; allowed are others, as 101,102."
        )
    contests = []
    for name in names:
        base = load(preset, method=name, changes=changes, compared=True).method
        found = knobs(base, changes)
        if not found:
            raise HeteroSelectError(f"--methods: {name} has no setting with a range to tune in; allowed are others.")
        trials = list(islice(_trials(preset, name, found, seeds, changes, out / "trials" / stem(name)), count))
        if len(trials) < count:
            raise HeteroSelectError(
                f"--methods: {name} refuses most of the settings in its ranges; allowed are others."
            )
        contests.append(Contest(name, found, trials))
    known: dict[Any, str | None] = {}
    for cell in (cell for contest in contests for trial in contest.trials for cell in trial.cells):
        grids.refuse_another(cell, known)
    return contests


def _trials(
    preset: str, name: str, found: Sequence[Knob], seeds: Sequence[int], changes: Mapping[str, Any], out: Path
) -> Iterator[Trial]:
    """The default, then one point after the other; those that the method refuses are passed over."""
    number, refused = 0, 0
    for settings in _default_and(points(found)):
        cells = []
        try:
            for seed in seeds:
                loaded = load(preset, method=name, changes={**changes, **settings, "seed": seed}, compared=True)
                path = out / f"trial-{number:02d}" / f"seed-{seed}"
                cells.append(grids.Cell(stem(name), seed, loaded, path, name if own.is_path(name) else None))
        except HeteroSelectError:
            refused += 1
            if number == 0 or refused > ATTEMPTS * (number + 1):
                return
            continue
        yield Trial(number, settings, cells)
        number += 1


def _default_and(others: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {}
    yield from others


class Pause(KeyboardInterrupt):
    """Ends a run after a round as Ctrl-C would: with a checkpoint, so that it can go on."""


def play(
    cell: grids.Cell, until: int, *, threads: int | None, watch: Callable[[Line], None], warn: Callable[[str], None]
) -> list[Line]:
    """The first `until` rounds of a trial, run or resumed where they are not there yet."""
    lines = whole_rounds(cell.path)
    if not (cell.done or len(lines) >= until):
        last = cell.config.last_round

        def watching(line: Line) -> None:
            watch(line)
            if until <= line["round"] < last:
                raise Pause

        status = grids.play_cell(cell, threads=threads, watch=watching, warn=warn)
        lines = whole_rounds(cell.path)
        if status == "interrupted" and len(lines) < until:
            raise KeyboardInterrupt
    return lines[:until]


def contend(contest: Contest, by: str, budgets: list[float], player: Callable[[grids.Cell, int], list[Line]]) -> Found:
    """Play all trials of a method as far as they get. `budgets`, one per seed, are filled in by the first default."""
    config = contest.trials[0].cells[0].config
    last, first = config.last_round, rung(config.last_round)

    def played(trial: Trial, until: int) -> list[list[Line]]:
        return [player(cell, until) for cell in trial.cells]

    def judged(runs: Sequence[Sequence[Line]]) -> Score:
        if any(not lines for lines in runs):
            return FAILED
        return score(by, runs, target=config.target, budgets=budgets)

    default = played(contest.trials[0], last)
    if by in SPENT and not budgets:
        budgets += [float(sum(line[SPENT[by]] for line in lines)) for lines in default]
        if not all(budgets):
            raise HeteroSelectError(
                f"--by: the default of {contest.name} did not come to its end, and gives no budget."
            )
    early = [judged([lines[:first] for lines in default])]
    early += [judged(played(trial, first)) for trial in contest.trials[1:]]
    late = {0: judged(default)}
    late |= {number: judged(played(contest.trials[number], last)) for number in survivors(early) if number}
    return Found(contest, early, late, best(late))


def write(found: Found, by: str, command: str, out: Path) -> None:
    """The file of a method: the settings that differ from its default, and how they were found."""
    tables: dict[str, dict[str, Any]] = {}
    for key, value in found.settings.items():
        role, name = key.removeprefix("method.").split(".")
        tables.setdefault(role, {})[name] = value
    total = len(found.contest.trials)
    lines = [f"# Found by `{command}`"]
    if found.best:
        lines.append(f"# trial {found.best} of {total}, by {by}: {shown(by, found.late[found.best])},")
        lines.append(f"# where the default has {shown(by, found.late[0])} on the same validation examples and seeds.")
    else:
        lines.append(f"# the default itself was the best of {total} trials, by {by}: {shown(by, found.late[0])}.")
    text = "\n".join(lines) + "\n" + (tomli_w.dumps({"method": tables}) if tables else "")
    with as_user_error(out):
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / f"{stem(found.contest.name)}.toml", text.encode())


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


def rounds(contest: Contest) -> int:
    """How many rounds the trials of a method take at most."""
    trials, config = len(contest.trials), contest.trials[0].cells[0].config
    last, first = config.last_round, rung(config.last_round)
    going = min(trials - 1, -(-trials // THIRD))
    return len(contest.trials[0].cells) * (last + (trials - 1) * first + going * (last - first))


def described(contest: Contest) -> str:
    """A method and its ranges."""
    ranges = [
        f"  {', '.join((knob.key, *knob.also))}: {knob.range.low:g} to {knob.range.high:g}, {knob.range.scale}"
        for knob in contest.knobs
    ]
    return "\n".join([f"{contest.name}: {len(contest.trials)} trials", *ranges])


def summary(found: Sequence[Found], by: str, seeds: Sequence[int], budgets: Sequence[float], command: str) -> str:
    """All trials as JSON."""

    def plain(one: Score | None) -> list[float | None] | None:
        return None if one is None else [value if abs(value) < float("inf") else None for value in one]

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
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def read(folder: Path, names: Sequence[str], seeds: Sequence[int]) -> dict[str, dict[str, Any]]:
    """The tuned settings of each method, for a comparison with these seeds."""
    try:
        used = set(read_json(folder / "tune.json")["seeds"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeteroSelectError(f"--tuned: {folder} holds no tune.json of `{MADE}` ({error}).") from error
    both = sorted(used & set(seeds))
    if both:
        raise HeteroSelectError(
            f"--seeds: {', '.join(map(str, both))} was used for tuning; allowed are seeds that were not, to be fair."
        )
    tuned = {}
    for name in names:
        file = folder / f"{stem(name)}.toml"
        try:
            tuned[name] = current(flatten(read_toml(file)))
        except OSError as error:
            raise HeteroSelectError(
                f"--tuned: {name} was not tuned, there is no {file}; allowed are methods that were."
            ) from error
        except ValueError as error:
            raise HeteroSelectError(f"--tuned: {file} is not valid TOML ({error}).") from error
    return tuned


def refuse_run(out: Path) -> None:
    if (out / CONFIG).is_file():
        raise HeteroSelectError(f"--out: {out} holds a run; allowed is a new folder, or one of an earlier tuning.")
