"""Loggers that a run can be followed with: TensorBoard, MLflow, Weights & Biases. Each takes the numbers of a round's
line in rounds.jsonl, and nothing else, with the round as its step; each works without a network.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from heteroselect.errors import HeteroSelectError

Sink = Callable[[int, Mapping[str, float]], None]
"""Takes the figures of a round."""
Opener = Callable[[str, Path], AbstractContextManager[Sink]]
"""Opens a logger for a run, by its name and the folder that it may write to."""

PACKAGES = {"tensorboard": "tensorboard", "mlflow": "mlflow", "wandb": "wandb"}
"""The loggers, and what each needs."""


def openers(names: str | Sequence[str]) -> dict[str, Opener]:
    """The loggers of these names; one sentence about the first that there is not, or that is not installed."""
    chosen = dict.fromkeys([names] if isinstance(names, str) else names)
    for name in chosen:
        if name not in PACKAGES:
            raise HeteroSelectError(f"log: allowed are {', '.join(PACKAGES)}, not {name!r}.")
        try:
            import_module(PACKAGES[name])
        except ImportError as error:
            raise HeteroSelectError(
                f"log: {name} is not installed; `pip install 'heteroselect[{name}]'` brings it."
            ) from error
    return {name: import_module(f"{__name__}.to_{name}").opened for name in chosen}


def figures(line: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a round's line; those in a table by the table's name and their own. Lists are left out: they have
    a number for each client or class.

    >>> figures({"round": 3, "accuracy": None, "seconds": 2.5, "scores": [1.0], "score_parts": {"loss": 0.5}})
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
                raise HeteroSelectError(f"log: {kind} cannot be opened ({error}).") from error
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
