"""How much may each client send? Its share of the round's budget (eq. 7), under a ceiling (eq. 8)."""

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import VALUE_BITS, Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.part import Brings, setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.waterfill import waterfill

SPARSE: Brings = {"compress": {"kind": "topk"}}
"""A density means nothing to a client that does not compress."""


@dataclass(frozen=True)
class Allocation:
    """The round's budget θ_t, each client's θ_k, and whether this is a warm-up round."""

    theta: float
    densities: Reals
    warmup: bool = False


@dataclass(frozen=True)
class All:
    """Lets every client send everything.

    Use when nothing is compressed, or the compressor has no density. Beware: sparse compressors need another
    allocation.
    """

    kind = "all"

    @property
    def average(self) -> float:
        return 1.0

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        return Allocation(1.0, np.ones(len(scores)))


@dataclass(frozen=True)
class Share:
    """The base of allocators that give each client a share of θ_t under a ceiling: `densities` is theirs to define.

    θ_t = max(θ_avg(1 + α cos φ), θ_floor), with θ_t = 1 in the warm-up and the cosine from the first round after it;
    a `ramp` is the warm-up of deep gradient compression instead (Lin et al., ICLR 2018): θ_t = θ_avg^{t/(W+1)}.
    """

    traits = Traits(
        brings=SPARSE, carries=("average", "amplitude", "floor", "warmup", "warmup_rounds", "ceiling", "minimum")
    )

    average: float = setting(0.2, "mean density θ_avg of all rounds (eq. 7)", gt=0, le=1, tune=(0.005, 0.5, "log"))
    amplitude: float = setting(0.4, "amplitude α_cos of the cosine schedule of densities (eq. 7)", ge=0, le=1)
    floor: float = setting(0.08, "lowest density θ_floor of the schedule (eq. 7)", gt=0, le=1)
    warmup: Literal["full", "allocated", "ramp"] = setting(
        "full", "warm-up sends everything (the text), goes through share and ceiling (as run), or ramps down (DGC)"
    )
    warmup_rounds: int = setting(1, "number of warm-up rounds at the start", ge=0)
    ceiling: Literal["paper", "strict", "none"] = setting(
        "paper", "what a link can carry in the time budget; strict leaves time to compute and counts position bits"
    )
    minimum: float = setting(0.005, "lowest density θ_min of a client (eq. 8)", gt=0, le=1)

    def warming_up(self, moment: Moment) -> bool:
        return moment.round <= self.warmup_rounds

    def theta(self, moment: Moment) -> float:
        """θ_t of eq. 7."""
        if self.warming_up(moment):
            ramp = self.warmup == "ramp"
            return float(self.average ** (moment.round / (self.warmup_rounds + 1))) if ramp else 1.0
        first, last = moment.round - self.warmup_rounds - 1, moment.rounds - self.warmup_rounds - 1
        phase = first / last if last > 0 else 0.0  # a single round after the warm-up is at the top of the cosine
        wanted = self.average * (1 + self.amplitude * math.cos(math.pi * phase))
        return min(max(wanted, self.floor), 1.0)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        theta, warmup = self.theta(context.moment), self.warming_up(context.moment)
        if warmup and self.warmup == "full":
            return Allocation(theta, np.ones(len(scores)), warmup)
        caps = np.ones(len(scores)) if self.ceiling == "none" else self.caps(theta, context.links)
        return Allocation(theta, self.densities(theta, scores, caps), warmup)

    def densities(self, theta: float, scores: Reals, caps: Reals) -> Reals:
        """θ_k of every client."""
        raise NotImplementedError

    def caps(self, theta: float, conditions: Conditions) -> Reals:
        """θ_cap = B·T_budget/(32N)   (below eq. 8)"""
        if self.ceiling == "paper":
            return conditions.up * conditions.budget_seconds / (conditions.bits(theta) * conditions.size)
        left = np.maximum(0.0, conditions.budget_seconds - conditions.computing)
        real = replace(conditions, real_bits=conditions.real_bits or VALUE_BITS)
        return conditions.up * left / (real.bits(theta) * conditions.size)


def _plain(name: str, default: Any) -> Any:
    """The inherited field of that name with another default."""
    return field(default=default, metadata=next(one.metadata for one in fields(Share) if one.name == name))


@dataclass(frozen=True)
class UniformShare(Share):
    """Gives θ_t to everybody, by default a constant one without warm-up and ceiling; with the others' schedule it is
    the paper's ablation of eq. 8.

    Use when one density is to hold for all, as in most papers on compression. Beware: clients with slow links are
    waited for.
    """

    kind = "uniform"

    amplitude: float = _plain("amplitude", 0.0)
    floor: float = _plain("floor", 0.005)
    warmup_rounds: int = _plain("warmup_rounds", 0)
    ceiling: Literal["paper", "strict", "none"] = _plain("ceiling", "none")

    def densities(self, theta: float, scores: Reals, caps: Reals) -> Reals:
        return np.clip(np.minimum(theta, caps), self.minimum, 1.0)


@dataclass(frozen=True)
class ScoreShare(Share):
    """Gives θ_k = clip(min(S_k/S̄·θ_t, cap_k), θ_min, 1)   (eq. 8)

    Use when informative clients are to send more, as in the paper. Beware: with biased compressors unequal densities
    shrink clients unequally.
    """

    kind = "score"
    traits = replace(Share.traits, needs={"scores"}, brings={**SPARSE, "score": {"kind": "informativeness"}})

    def densities(self, theta: float, scores: Reals, caps: Reals) -> Reals:
        return np.clip(np.minimum(proportional(_finite(scores), theta), caps), self.minimum, 1.0)


@dataclass(frozen=True)
class Waterfill(ScoreShare):
    """Shares in proportion to the scores, and gives out exactly M·θ_t in all wherever the ceilings allow.

    Use when a byte budget is to be used up although links have ceilings. Beware: a ceiling on many clients makes a few
    send nearly everything.
    """

    kind = "waterfill"

    def densities(self, theta: float, scores: Reals, caps: Reals) -> Reals:
        return waterfill(_finite(scores), theta * len(scores), caps, self.minimum)


def proportional(scores: Reals, theta: float) -> Reals:
    """S_k/S̄·θ_t; where all scores are zero there is no preference and everybody gets θ_t."""
    mean = scores.mean()
    return scores / mean * theta if mean > 0 else np.full(len(scores), theta)


def _finite(scores: Reals) -> Reals:
    if not np.isfinite(scores).all():
        raise ValueError("scores have to be finite to share by them")
    return scores
