"""What tuning goes by: which settings of a method are tuned, where the trials lie, how good one is, and which go on.

A setting is tuned where it declares a range (`setting(…, tune=(low, high, "log"))`) in which the method's own value
lies: a proximal term of 0 or a density of 1 is a choice of the method, and stays.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from heteroselect.comparison.over_seeds import tail
from heteroselect.core.part import Range, declared
from heteroselect.core.streams import Streams
from heteroselect.core.traits import traits_of
from heteroselect.round.method import Method

Line = Mapping[str, Any]
Score = tuple[float, ...]
"""Of a trial over its seeds: the higher, the better."""
CRITERIA = ("at-bytes", "at-seconds", "final", "time-to-target")
SPENT = {"at-bytes": "bytes_up", "at-seconds": "seconds"}
QUARTER, THIRD = 4, 3
"""After a quarter of the rounds, the best third of the trials goes on."""
FAILED: Score = (-math.inf,)


@dataclass(frozen=True)
class Knob:
    """A setting that is tuned, and others that have to be the same."""

    key: str
    range: Range
    whole: bool
    also: tuple[str, ...] = ()

    def at(self, share: float) -> float | int:
        value = self.range.at(share)
        return round(value) if self.whole else value


def knobs(method: Method, fixed: Mapping[str, Any] | None = None) -> list[Knob]:
    """The settings of a method that are tuned, but for those that the user has `fixed`."""
    found = []
    for role, part in method.parts():
        traits = traits_of(part)
        for name, one in declared(type(part)).items():
            key, value = f"method.{role}.{name}", getattr(part, name)
            if one.tune is None or name in traits.untuned or key in (fixed or {}):
                continue
            if one.tune.low <= value <= one.tune.high:
                also = tuple(f"method.{other}" for other in traits.tuned_with.get(name, ()))
                found.append(Knob(key, one.tune, one.type is int, also))
    return found


def points(found: Sequence[Knob]) -> Iterator[dict[str, Any]]:
    """Settings to try, without an end: a scrambled Halton sequence, which fills the ranges evenly however many are
    taken."""
    from scipy.stats import qmc  # it takes a second to import

    draws = qmc.Halton(len(found), scramble=True, seed=Streams(0).numpy("tuning"))
    while True:
        pairs = zip(found, draws.random(1)[0], strict=True)
        yield {key: knob.at(float(share)) for knob, share in pairs for key in (knob.key, *knob.also)}


def rung(rounds: int) -> int:
    """The round after which trials are compared for the first time."""
    return math.ceil(rounds / QUARTER)


def survivors(scores: Sequence[Score]) -> list[int]:
    """The trials that go on: the best third, and in any case the first one, which is the default. Of equals, the
    first."""
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # which leaves equals in their order
    going = [number for number in order[: math.ceil(len(scores) / THIRD)] if scores[number] != FAILED]
    return sorted({0, *going})


def best(scores: Mapping[int, Score]) -> int:
    """The best trial; of equals, the first, so that nothing is changed for nothing."""
    return max(sorted(scores), key=scores.__getitem__)


def score(by: str, runs: Sequence[Sequence[Line]], *, target: float, budgets: Sequence[float] = ()) -> Score:
    """How good a trial is, from its rounds so far with each seed: the mean over seeds of its accuracy, which is that of
    the last evaluations (`over_seeds.tail`), within the budget where there is one. By the time to the target: the share
    of seeds that reach it, then how soon, a seed that does not arrive being counted to the end of its run, then the
    accuracy."""
    if by in SPENT:
        runs = [within(lines, SPENT[by], most) for lines, most in zip(runs, budgets, strict=True)]
    accuracy = float(np.mean([tail(lines) or 0.0 for lines in runs]))
    if by != "time-to-target":
        return (accuracy,)
    times = [seconds_to(lines, target) for lines in runs]
    arrived = sum(time is not None for time in times)
    ends = [sum(line["seconds"] for line in lines) for lines in runs]
    soon = float(np.mean([end if time is None else time for time, end in zip(times, ends, strict=True)]))
    return (arrived / len(runs), -soon if arrived else -math.inf, accuracy)


def within(lines: Sequence[Line], kind: str, budget: float) -> list[Line]:
    """The rounds before more than the budget was spent.

    >>> [line["seconds"] for line in within([{"seconds": 2}, {"seconds": 3}, {"seconds": 1}], "seconds", 5)]
    [2, 3]
    """
    spent = np.cumsum([line[kind] for line in lines])
    return list(lines[: int(np.searchsorted(spent, budget * (1 + 1e-9), side="right"))])


def seconds_to(lines: Sequence[Line], target: float) -> float | None:
    """Simulated seconds until the target was first reached."""
    spent = accumulate(line["seconds"] for line in lines)
    reached = (line["accuracy"] is not None and line["accuracy"] >= target for line in lines)
    return next((float(seconds) for seconds, there in zip(spent, reached, strict=True) if there), None)
