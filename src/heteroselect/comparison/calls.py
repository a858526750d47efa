"""What people call in Python for many runs, and the command line too: `compare` and `tune` methods, run a `study`."""

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from heteroselect.comparison import cross as crosses
from heteroselect.comparison import results as kept
from heteroselect.comparison import study as studies
from heteroselect.comparison import tune as tuning
from heteroselect.comparison.claims import sentence
from heteroselect.comparison.grid import Cell, Runner, Source, called, clocked, grid
from heteroselect.comparison.result import Comparison, compared, refuse_to_lose, written
from heteroselect.comparison.tune import Found, Tuned
from heteroselect.core.evaluate import Function, Metric
from heteroselect.core.flat import Loss
from heteroselect.errors import SettingError
from heteroselect.extras import require
from heteroselect.round.method import Method
from heteroselect.runs.display.progress import shown, where
from heteroselect.runs.own import Own
from heteroselect.settings.config import flatten
from heteroselect.world import World

SEEDS = (42, 43, 44, 45, 46)
Tell = Callable[[str], None] | None


def compare(
    config: Source = "mnist",
    methods: Sequence[str | Method] = ("heteroselect", "fedavg"),
    *,
    seeds: Sequence[int] = SEEDS,
    rounds: int | None = None,
    charge: str | None = None,
    settings: Mapping[str, Any] | None = None,
    cross: Mapping[str, Sequence[Any]] | None = None,
    tuned: str | Path | None = None,
    model: Callable[[], nn.Module] | nn.Module | str | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    notice: Tell = None,
    warn: Tell = None,
) -> Comparison:
    """Run several methods under one clock, with the same partition, links and devices for each seed, and compare them.

        config      a preset, the path of a TOML file, or a mapping of settings
        methods     names, "FILE.py:NAME", or a Method of your own; differences are to the first one
        seeds       of the runs of each method
        rounds      how many rounds each run has
        charge      the clock: "everything" (if you name none), "uplink" or "paper"
        settings    single changes for all runs, with dotted keys: {"clients": 50}
        cross       two settings of one method, each with its values; all pairs of them are run, and `crossing` of what
                    is returned has their effects: {"method.select.kind": ["uniform", "oort"], "selected": [5, 10]}
        tuned       a folder of `heteroselect tune`, whose settings the methods take
        model, data, test, loss, metric, world    your own, as in `run`; a metric has the unit % and higher is better
        out         a folder for the runs, their tables and their page. The same call goes on with a comparison that was
                    interrupted; without a folder nothing is kept but what is returned
        threads     clients that train at once
        progress    whether to show it; by default in a notebook and on a terminal
        notice      is told what a method brings along, what is left out, and which files are written
        warn        is told of runs that fail; by default a Python warning

    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> found = compare("mnist", ["fedavg", "oort"], seeds=[1, 2], rounds=2, settings=small)
    >>> sorted(row.method for row in found.table.rows), len(found.summaries)
    (['fedavg', 'oort'], 4)
    """
    own, given = _checked(Own(model, data, test, loss, metric, world)).settled(settings)
    names, changes = called(methods), clocked({**given, **({} if rounds is None else {"rounds": rounds})}, charge)
    options = {"methods": names, "seeds": seeds, "rounds": rounds, "charge": charge, "tuned": tuned}
    command, crossing = _command("compare", config, options, given, own, cross), None
    with _place(out, "compare") as path:
        if cross is None:
            settled = None if tuned is None else tuning.read(Path(tuned), names, seeds)
            cells = grid(config, methods, seeds, changes, path, settled, own)
            stem, labels = "compare", [cell.method for cell in cells]
            _tell(notice, dict.fromkeys(f"{cell.method}: {text}" for cell in cells for text in cell.loaded.brought))
        else:
            study = crosses.study_of(config, names, cross, seeds, changes, tuned)
            crossing = crosses.arranged(study, studies.plan(study, path, own=own))
            stem, labels, cells = "cross", study.labels, crossing.all_cells
            _tell(notice, (f"left out: {crossing.pair(place)}: {why}" for place, why in crossing.refused.items()))
        refuse_to_lose(path, stem, "compare", labels, seeds)
        failed = _played(cells, progress, warn, threads)
        found = compared(cells, failed, "compare", crossing=crossing, folder=path if out else None)
        if out is not None:
            _tell(notice, written(found, path, stem, command))
        return found


def study(
    source: Source,
    *,
    only: Sequence[str] = (),
    also: Sequence[str | Path] = (),
    budget: float | None = None,
    results: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    model: Callable[[], nn.Module] | nn.Module | str | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    notice: Tell = None,
    warn: Tell = None,
) -> Comparison:
    """Run what is missing of a study, and compare its rows.

        source      the path of a study's TOML file, or a mapping of the same tables
        only        only these rows
        also        folders whose finished runs are taken, too
        budget      start no run after so many minutes
        results     a JSON file that the rows and the claims, with verdicts, are put into
        settings    single changes for all rows, which a row may change again
        model, data, test, loss, metric, world    your own, as in `run`, for all rows
        out         a folder for the runs, their tables and their page; what is there is not run again. Without a folder
                    nothing is kept but what is returned
        threads, progress, notice, warn    as in `compare`

    >>> rows = [{"method": "fedavg"}, {"method": "fedavg", "name": "far", "settings": {"method.solver.steps": 9}}]
    >>> claim = {"text": "nine steps end higher than five", "better": "far", "than": "fedavg"}
    >>> small = {"clients": 20, "selected": 4, "rounds": 2, "method.solver.steps": 5}
    >>> found = study({"preset": "mnist", "seeds": [1, 2], "settings": small, "row": rows, "claim": [claim]})
    >>> [row.method for row in found.table.rows], len(found.claims)
    (['fedavg', 'far'], 1)
    """
    own, given = _checked(Own(model, data, test, loss, metric, world)).settled(settings)
    name, wanted = "study" if isinstance(source, Mapping) else Path(source).stem, studies.read(source, given)
    with _place(out, "study") as path:
        planned = studies.plan(wanted, path, only, [Path(folder) for folder in also], own)
        _tell(notice, [wanted.title] if wanted.title else [])
        _tell(notice, (f"left out: {label}: {why}" for label, why in planned.refused.items()))
        refuse_to_lose(path, name, "study", wanted.labels)
        gathered = None if results is None else Path(results)
        if gathered is not None:
            kept.read(gathered)  # which refuses a file of something else, before anything is run
        failed = _played(planned.cells, progress, warn, threads, budget)
        command = f"heteroselect study {'TABLES' if isinstance(source, Mapping) else source}{_in_python(own)}"
        rows = kept.collect(wanted, name, planned, command)
        claims = {sentence(claim): claim for claim in rows["claims"]}
        left, place = {**failed, **planned.refused}, path if out else None
        found = compared(planned.cells, left, "study", claims=tuple(claims), folder=place)
        if out is not None:
            _tell(notice, written(found, path, name, command, claims))
        if gathered is not None:
            kept.keep_rounds(gathered, wanted, name, planned)
            kept.merge(gathered, rows)
        return found


def tune(
    config: Source = "mnist",
    methods: Sequence[str | Method] = ("heteroselect", "fedavg"),
    *,
    trials: int = 12,
    seeds: Sequence[int] = (101, 102),
    by: str = "at-bytes",
    compare_seeds: Sequence[int] = SEEDS,
    rounds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    model: Callable[[], nn.Module] | nn.Module | str | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    warn: Tell = None,
) -> Tuned:
    """Tune methods with equal effort, on validation examples; the test part is not looked at.

        trials          per method; the first one is the method's default
        seeds           of the runs of each trial, which the comparison does not use
        by              what is best: accuracy "at-bytes" or "at-seconds", those of the first method's default; the
                        "final" accuracy; or the "time-to-target"
        compare_seeds   those of the comparison, which are kept apart
        out             a folder for the trials and the settings that were found, which `compare(…, tuned=out)` takes
        The others are as in `compare`.

    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> found = tune("mnist", ["fedavg"], trials=2, seeds=[101], rounds=2, settings=small)
    >>> found.methods["fedavg"].best in (0, 1), sorted(found.settings)
    (True, ['fedavg'])
    """
    own, given = _checked(Own(model, data, test, loss, metric, world)).settled(settings)
    changes = {**flatten(given), **({} if rounds is None else {"rounds": rounds})}
    options = {"methods": called(methods), "trials": trials, "seeds": seeds, "by": by, "rounds": rounds}
    command, budgets, found = _command("tune", config, options, given, own), list[float](), list[Found]()
    with _place(out, "tune") as path:
        contests = tuning.plan(config, methods, trials, seeds, changes, path, compare_seeds, by, own)
        with _runner(sum(contest.rounds for contest in contests), progress, warn, threads) as runner:
            for contest in contests:
                found.append(tuning.contend(contest, by, budgets, tuning.player(runner)))
                if out is not None:
                    tuning.write(found[-1], by, command, path)
        if out is not None:
            tuning.write_all(found, by, seeds, budgets, command, path)
        return Tuned({one.contest.name: one for one in found}, by, path if out else None)


def _checked(own: Own) -> Own:
    """What the user handed over; one sentence about a metric that tables cannot tell."""
    measure = Metric.of(own.metric).measure
    if measure.unit != "%" or not measure.higher:
        raise SettingError(
            "metric: tables of a comparison have percentages, of which more is better; give a Metric with the unit "
            f'"%" and higher=True, not {measure.name}.'
        )
    return own


def _command(
    name: str,
    config: Source,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
    own: Own,
    cross: Mapping[str, Sequence[Any]] | None = None,
) -> str:
    """The command line that does the same; where the data lie is no part of it."""
    words = ["heteroselect", name, "SETTINGS" if isinstance(config, Mapping) else str(config)]
    words += [word for key, value in options.items() if value is not None for word in (f"--{key}", _typed(value))]
    set_ = {key: value for key, value in flatten(settings).items() if key != "data.dir"}
    for option, pairs in (("--set", set_), ("--cross", cross or {})):
        words += [word for key, value in pairs.items() for word in (option, f"{key}={_typed(value)}")]
    return " ".join(words) + _in_python(own)


def _typed(value: Any) -> str:
    """As one types it."""
    if isinstance(value, list | tuple):
        return ",".join(map(_typed, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_python(own: Own) -> str:
    """What a command line cannot say."""
    return f" (in Python, with own {', '.join(own.names)})" if own else ""


@contextmanager
def _place(out: str | Path | None, command: str) -> Iterator[Path]:
    """The user's folder, or one that is gone afterwards."""
    if out is not None:
        require("report", command)  # the page and the figures, before anything is run
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="heteroselect-") as folder:
        yield Path(folder) / "runs"


def _tell(notice: Tell, texts: Iterable[str]) -> None:
    if notice is not None:
        for text in texts:
            notice(text)


@contextmanager
def _runner(
    rounds: int, progress: bool | None, warn: Tell, threads: int | None, minutes: float | None = None
) -> Iterator[Runner]:
    """Shows how far the runs are: live, or else by a line for each run that ends."""
    place = where(progress)
    with shown(place, rounds) as show:
        yield Runner(show, place == "lines", warn or _warn, threads, minutes)


def _played(
    cells: Sequence[Cell], progress: bool | None, warn: Tell, threads: int | None, minutes: float | None = None
) -> dict[str, str]:
    with _runner(sum(cell.config.last_round for cell in cells), progress, warn, threads, minutes) as runner:
        return runner.play_all(cells)


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=6)
