"""How much may each client send? Its share of the round's budget, under a ceiling (eq. 8)."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import VALUE_BITS, Conditions
from heteroselect.core.part import Brings, setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.budget import Schedule
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

    kind: ClassVar[str] = "all"

    @property
    def average(self) -> float:
        return 1.0

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        return Allocation(1.0, np.ones(len(scores)))


@dataclass(frozen=True)
class Share(Schedule):
    """The base of allocators that give each client a share of θ_t under a ceiling: `densities` is theirs to define."""

    traits = Traits(brings=SPARSE, carries=(*(one.name for one in fields(Schedule)), "ceiling", "minimum"))

    ceiling: Literal["paper", "strict", "none"] = setting(
        "paper",
        "cap by what a link can carry in the time budget; strict leaves time for computing and counts position "
        "bits; none is the authors' ablation",
    )
    minimum: float = setting(0.005, "lowest density θ_min of a client (eq. 8)", gt=0, le=1)

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
    """Gives θ_t to everybody. By default a constant one without warm-up and ceiling; with the other allocators'
    schedule it is the paper's ablation of eq. 8.

    Use when one density is to hold for all, as in most papers on compression. Beware: clients with slow links are
    waited for.
    """

    kind: ClassVar[str] = "uniform"

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

    kind: ClassVar[str] = "score"
    traits = replace(Share.traits, needs={"scores"}, brings={**SPARSE, "score": {"kind": "informativeness"}})

    def densities(self, theta: float, scores: Reals, caps: Reals) -> Reals:
        return np.clip(np.minimum(proportional(_finite(scores), theta), caps), self.minimum, 1.0)


@dataclass(frozen=True)
class Waterfill(ScoreShare):
    """Shares in proportion to the scores, and gives out exactly M·θ_t in all wherever the ceilings allow.

    Use when a byte budget is to be used up although links have ceilings. Beware: a ceiling on many clients makes a few
    send nearly everything.
    """

    kind: ClassVar[str] = "waterfill"

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
