"""What people call in Python for many runs: `compare` methods, run a `study`."""

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from heteroselect.comparison import grid as grids
from heteroselect.comparison import results as kept
from heteroselect.comparison import study as studies
from heteroselect.comparison import work
from heteroselect.comparison.grid import Cell
from heteroselect.comparison.result import Comparison
from heteroselect.comparison.tune import read as read_tuned
from heteroselect.core.evaluate import Function, Metric
from heteroselect.core.flat import Loss
from heteroselect.errors import HeteroSelectError, in_python
from heteroselect.extras import require
from heteroselect.round.method import Method
from heteroselect.runs.display.progress import shown, where
from heteroselect.runs.own import Own
from heteroselect.world import World

SEEDS = (42, 43, 44, 45, 46)


@in_python
def compare(
    config: str | Path | Mapping[str, Any] = "mnist",
    methods: Sequence[str | Method] = ("heteroselect", "fedavg"),
    *,
    seeds: Sequence[int] = SEEDS,
    rounds: int | None = None,
    charge: str | None = None,
    settings: Mapping[str, Any] | None = None,
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
) -> Comparison:
    """Run several methods under one clock, with the same partition, links and devices for each seed, and compare them.

        config      a preset, the path of a TOML file, or a mapping of settings
        methods     names, "FILE.py:NAME", or a Method of your own; differences are to the first one
        seeds       of the runs of each method
        rounds      how many rounds each run has
        charge      the clock: "everything" (if you name none), "uplink" or "paper"
        settings    single changes for all runs, with dotted keys: {"clients": 50}
        tuned       a folder of `heteroselect tune`, whose settings the methods take
        model, data, test, loss, metric, world    your own, as in `run`; a metric has the unit % and higher is better
        out         a folder for the runs, their tables and their page. The same call goes on with a comparison that was
                    interrupted; without a folder nothing is kept but what is returned
        threads     clients that train at once
        progress    whether to show it; by default in a notebook and on a terminal

    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> found = compare("mnist", ["fedavg", "oort"], seeds=[1, 2], rounds=2, settings=small)
    >>> sorted(row.method for row in found.table.rows), len(found.summaries)
    (['fedavg', 'oort'], 4)
    """
    given = {} if rounds is None else {"rounds": rounds}
    own, settings = _checked(Own(model, data, test, loss, metric, world)).settled(settings)
    changes, names = grids.clocked({**settings, **given}, charge), list(methods)
    with _place(out) as path:
        called = [name.name if isinstance(name, Method) else name for name in names]
        found = None if tuned is None else read_tuned(Path(tuned), called, seeds)
        cells = grids.grid(config, names, seeds, changes, path, found, own)
        work.refuse_other_comparison(path, cells)
        words = {"--rounds": rounds, "--charge": charge, "--tuned": tuned}
        pairs = [f"{key}={value}" for key, value in settings.items()]
        named = "SETTINGS" if isinstance(config, Mapping) else str(config)
        command = work.command_of(named, called, seeds, words, pairs) + _with(own)
        failed = _played(cells, threads=threads, progress=progress)
        return work.finish(cells, path, command, failed=failed, keep=out is not None)[0]


@in_python
def study(
    source: str | Path | Mapping[str, Any],
    *,
    only: Sequence[str] = (),
    also: Sequence[str | Path] = (),
    budget: float | None = None,
    results: str | Path | None = None,
    model: Callable[[], nn.Module] | nn.Module | str | None = None,
    data: Any = None,
    test: Any = None,
    loss: Loss | None = None,
    metric: Metric | Function | None = None,
    world: World | None = None,
    out: str | Path | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Run what is missing of a study, and compare its rows.

        source      the path of a study's TOML file, or a mapping of the same tables
        only        only these rows
        also        folders whose finished runs are taken, too
        budget      start no run after so many minutes
        results     a JSON file that the rows and the claims, with verdicts, are put into
        model, data, test, loss, metric, world    your own, as in `run`, for all rows
        out         a folder for the runs, their tables and their page; what is there is not run again. Without a folder
                    nothing is kept but what is returned
        threads     clients that train at once
        progress    whether to show it; by default in a notebook and on a terminal

    >>> rows = [{"method": "fedavg"}, {"method": "fedavg", "name": "far", "settings": {"method.solver.steps": 9}}]
    >>> claim = {"text": "nine steps end higher than five", "better": "far", "than": "fedavg"}
    >>> small = {"clients": 20, "selected": 4, "rounds": 2, "method.solver.steps": 5}
    >>> found = study({"preset": "mnist", "seeds": [1, 2], "settings": small, "row": rows, "claim": [claim]})
    >>> [row.method for row in found.table.rows], len(found.claims)
    (['fedavg', 'far'], 1)
    """
    own, named = _checked(Own(model, data, test, loss, metric, world)).settled()
    file = None if isinstance(source, Mapping) else Path(source)
    wanted = studies.checked(source) if isinstance(source, Mapping) else studies.read(Path(source))
    wanted = wanted.model_copy(update={"settings": {**wanted.settings, **named}})
    with _place(out) as path:
        planned = studies.plan(wanted, path, only, [Path(folder) for folder in also], own)
        name = file.stem if file is not None else "study"
        work.refuse_other_study(path, name, wanted.labels)
        gathered = None if results is None else Path(results)
        if gathered is not None:
            kept.read(gathered)
        failed = _played(planned.cells, threads=threads, progress=progress, minutes=budget)
        command = f"heteroselect study {file or 'TABLES'}" + _with(own)
        ends: dict[str, Any] = {"failed": failed, "results": gathered, "keep": out is not None}
        return work.finish_study(wanted, name, planned, path, command, **ends)[0]


def _checked(own: Own) -> Own:
    """What the user handed over; one sentence about a metric that tables cannot tell."""
    measure = Metric.of(own.metric).measure
    if measure.unit != "%" or not measure.higher:
        raise HeteroSelectError(
            f"metric: tables of a comparison have percentages, of which more is better; allowed is a Metric with the "
            f'unit "%" and higher=True, not {measure.name}.'
        )
    return own


def _with(own: Own) -> str:
    """What a command line cannot say."""
    return f" (in Python, with own {', '.join(own.names)})" if own else ""


@contextmanager
def _place(out: str | Path | None) -> Iterator[Path]:
    """The user's folder, or one that is gone afterwards."""
    if out is not None:
        require("report", "out")  # the page and the figures, before anything is run
        yield Path(out)
        return
    with tempfile.TemporaryDirectory(prefix="heteroselect-") as folder:
        yield Path(folder) / "runs"


def _played(
    cells: Sequence[Cell], *, threads: int | None, progress: bool | None, minutes: float | None = None
) -> dict[str, str]:
    """Run all cells and show how far they are: live, or else a line for each run that ends."""
    place = where(progress)
    lines = place == "lines"
    with shown(place, sum(cell.config.last_round for cell in cells)) as show:
        return work.play(
            cells,
            _nothing if lines else show,
            ended=(lambda text: show(text, 0)) if lines else _nothing,
            warn=lambda text: warnings.warn(text, stacklevel=5),
            minutes=minutes,
            threads=threads,
        )


def _nothing(*_: object) -> None:
    """Does nothing with what it is told."""
