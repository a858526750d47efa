"""Loggers that a run can be followed with: TensorBoard, MLflow, Weights & Biases, or one of your own. Each takes the
numbers of a round's line in rounds.jsonl, and nothing else, with the round as its step; each works without a network.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from heteroselect.errors import MissingExtra, OwnCodeError, SettingError, meant
from heteroselect.settings.own import find, is_path

Sink = Callable[[int, Mapping[str, float]], None]
"""Takes the figures of a round."""
Opener = Callable[[str, Path], AbstractContextManager[Sink]]
"""Opens a logger for a run, by its name and the folder that it may write to."""

PACKAGES = ("tensorboard", "mlflow", "wandb")
"""The loggers, each by the name of the package that it needs."""

Logs = str | Opener | Sequence[str | Opener]
"""What `log` may be: a name, FILE.py:NAME, a function of one's own, or several of them."""


def openers(logs: Logs) -> dict[str, Opener]:
    """The loggers of these names, each by the name of its folder; one sentence about the first that there is not, or
    that is not installed."""
    chosen = [logs] if isinstance(logs, str) or callable(logs) else logs
    found: dict[str, Opener] = {}
    for one in chosen:
        opened = _opener(one) if isinstance(one, str) else one
        name = one if isinstance(one, str) and one in PACKAGES else str(getattr(opened, "__name__", "own"))
        if not callable(opened) or found.get(name, opened) is not opened or not name.isidentifier():
            raise SettingError(
                f"log: {one!r} is no logger; give a function with a name of its own that takes the run's name and a "
                "folder, and opens what takes a round and its figures."
            )
        found[name] = opened
    return found


def _opener(name: str) -> Opener:
    if is_path(name):
        return cast(Opener, find(name, "log"))
    if name not in PACKAGES:
        raise SettingError(
            f"log: there is no logger {name!r}{meant(name, PACKAGES)}; name {', '.join(PACKAGES)}, or FILE.py:NAME."
        )
    try:
        import_module(name)
    except ImportError as error:
        raise MissingExtra(f"log: {name} is not installed; `pip install 'heteroselect[{name}]'` brings it.") from error
    return cast(Opener, import_module(f"{__name__}.to_{name}").opened)


def figures(line: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a round's line; those in a table by the table's name and their own. Lists are left out: they have
    a number for each client or class.

    >>> line = {"round": 3, "accuracy": None, "done": True, "seconds": 2.5, "scores": [1.0]}
    >>> figures({**line, "score_parts": {"loss": 0.5, "words": "a"}})
    {'seconds': 2.5, 'score_parts/loss': 0.5}
    """
    found: dict[str, float] = {}
    for key, value in line.items():
        if isinstance(value, Mapping):
            found |= {f"{key}/{name}": number for name, number in value.items() if _is_number(number)}
        elif _is_number(value) and key != "round":
            found[key] = value
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@contextmanager
def logging(
    loggers: Mapping[str, Opener],
    name: str,
    folder: Path,
    warn: Callable[[str], None],
    before: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Gives a function that hands a round's line to all loggers, each of which has a folder below `folder`. The rounds
    `before` those to come are handed over at once: what is logged of a run that goes on is the whole of it. A logger
    that fails later is left out from there on: a run does not end for it, and rounds.jsonl has everything."""
    with ExitStack() as stack:
        sinks = dict[str, Sink]()
        for kind, opened in loggers.items():
            try:
                manager = opened(name, folder / kind)
                sinks[kind] = manager.__enter__()
            except Exception as error:  # of a package that is not ours
                raise OwnCodeError(f"log: {kind} cannot be opened ({error}).") from error
            stack.push(partial(_close, kind, manager, warn))

        def log(line: Mapping[str, Any]) -> None:
            for kind, sink in list(sinks.items()):
                try:
                    sink(line["round"], figures(line))
                except Exception as error:  # of a package that is not ours
                    del sinks[kind]
                    warn(f"log: {kind} failed in round {line['round']} ({error}); the run goes on without it")

        for line in before if sinks else ():
            log(line)
        yield log


def _close(kind: str, opened: AbstractContextManager[Sink], warn: Callable[[str], None], *how: Any) -> None:
    """Close a logger, which only warns where it cannot be; `how` the run ended is what `__exit__` is told."""
    try:
        opened.__exit__(*how)
    except Exception as error:  # of a package that is not ours
        warn(f"log: {kind} was not closed ({error}); rounds.jsonl has everything")
