"""What the noise of `method.privacy` promises to a user: ε and δ of the models that a run gives, by the accountant of
Google's `dp-accounting` (the extra `privacy`).

Two runs are neighbours where one user of K is replaced by another, with all of the examples. Each round draws m of
the K without replacement, all cohorts being as likely; an update is at most C long, so that a replaced user moves the
sum by at most 2C. The accountant composes the rounds in Rényi divergence (Mironov, CSF 2017) with the amplification of
that very draw (Wang, Balle, Kasiviswanathan, AISTATS 2019), and no other: a draw that goes by anything else is refused
by the part.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heteroselect.core.part import kind_of
from heteroselect.errors import MissingExtra, SettingError
from heteroselect.round.method import Method

if TYPE_CHECKING:
    from heteroselect.settings import Config


@dataclass(frozen=True)
class Promise:
    """ε at this δ for every user, after so many rounds with `drawn` of `users`. The noise is `multiplier` times as
    large as what one user can move; `together` says how many clients' noise that is, and `amplified` whether it counts
    that nobody knows who was drawn."""

    epsilon: float
    delta: float
    multiplier: float
    together: int
    users: int
    drawn: int
    rounds: int
    amplified: bool


def promise(
    method: Method, config: "Config", *, delta: float, played: Sequence[Mapping[str, Any]] | None = None
) -> Promise:
    """What a method with noise promises to each of its users under these settings; of a run, by the rounds `played`."""
    noise = getattr(method.privacy, "noise", None)
    if kind_of(method.privacy) != "gaussian" or noise is None:
        raise SettingError(f"method.privacy.kind: {kind_of(method.privacy)} promises nothing; choose gaussian.")
    _refuse_data_dependent(config)
    users, world = config.clients, config.world
    drawn = users if kind_of(method.select) == "everybody" else min(config.selected, users)
    # whoever is away cannot be drawn, and a world of one's own may let clients be away
    uniform = world.availability.kind == "always" and world.links != "own"
    heard = drawn if played is None else min((sum(w > 0 for w in line["weights"]) for line in played), default=drawn)
    if not _unharmed(config) or (played is None and not _all_answer(config)):
        heard = 1  # noise that others may have left out, or that is small beside a damaged update, hides nobody
    together = max(1, heard) if sums(method) else 1
    multiplier, rounds = float(noise) * math.sqrt(together) / 2, config.last_round if played is None else len(played)
    found = epsilon(multiplier, users, drawn if uniform else users, rounds, delta)
    return Promise(found, delta, multiplier, together, users, drawn, rounds, uniform and drawn < users)


def _refuse_data_dependent(config: "Config") -> None:
    """Neither the length of a run nor who is heard may hang on what the clients hold."""
    world = config.world
    if config.data.evaluate == "validation" and config.stop_at_target:
        raise SettingError(
            "stop_at_target: with data.evaluate=validation the clients' own examples decide when the run ends, and "
            "nothing is promised; set it to 0."
        )
    if world.deadline and (world.stress != "none" or world.coupling.active):
        raise SettingError(
            "world.deadline: where links or speeds follow losses or labels, data decide who is late, and nothing is "
            "promised; set it to 0."
        )


def _unharmed(config: "Config") -> bool:
    """Whether every update that counts is as its client sent it."""
    faults = config.world.faults
    return config.world.attack.kind == "none" and not any((faults.corrupt, faults.nan, faults.inf, faults.scaled))


def _all_answer(config: "Config") -> bool:
    """Whether nobody's answer can be missing or late. Of a run that was played its rounds tell."""
    world = config.world
    return not (world.faults.missing or world.faults.late or world.deadline) and world.availability.kind == "always"


def sums(method: Method) -> bool:
    """Whether nothing but the sum of the noisy updates decides what becomes of a round: then the noise of the whole
    cohort hides each client. A coder works on each update by itself, as do a robust aggregate and a screen; what they
    leave is a function of the single noisy updates, of which each has but its own noise."""
    plain = {"compress": "none", "quantize": "float32", "aggregate": "mean"}
    return (
        all(kind_of(getattr(method, role)) == kind for role, kind in plain.items()) and method.outlier_filter.bound == 0
    )


def epsilon(multiplier: float, users: int, drawn: int, rounds: int, delta: float) -> float:
    """ε of so many rounds, in each of which `drawn` of `users` are drawn without replacement; `multiplier` is the
    standard deviation of the noise over what replacing one user moves. The bound of the draw is loose where there is
    little noise: who is drawn every time is promised no less."""
    try:
        from dp_accounting import (
            GaussianDpEvent,
            NeighboringRelation,
            SampledWithoutReplacementDpEvent,
            SelfComposedDpEvent,
        )
        from dp_accounting.rdp import RdpAccountant
    except ImportError as error:
        raise MissingExtra(
            "privacy: dp-accounting is not installed; `pip install 'heteroselect[privacy]'` brings it."
        ) from error
    if not 0 < delta < 1:
        raise SettingError(f"--delta: give a number > 0 and < 1, not {delta:g}.")
    noise, found = GaussianDpEvent(multiplier), list[float]()
    for event in (noise, SampledWithoutReplacementDpEvent(users, drawn, noise)):
        accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        accountant.compose(SelfComposedDpEvent(event, rounds))
        found.append(float(accountant.get_epsilon(delta)))
    return min(found)
