"""How much may each client send? Its share of the round's budget, under a ceiling (eq. 8)."""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heteroselect.allocate.budget import Budget
from heteroselect.allocate.waterfill import waterfill
from heteroselect.arrays import Counts, Reals
from heteroselect.moment import Moment

BITS = 32  # of a value, as the paper counts; its position is free there


@dataclass(frozen=True)
class Means:
    """What clients have to send with: bit/s, seconds a local step, and the round's time budget.

    The rest is for allocators that go by more than that, where the server knows it: of each client its part of all
    `data`, the length of its last update (`norms`, NaN before it) and how much it speaks for (`share`); of each round
    so far the length of an update (`past_norms`) and the density θ_t (`past_thetas`).
    """

    bandwidth: Reals
    step_seconds: Reals
    steps: int
    budget_seconds: float
    size: int
    """N, the coordinates of an update."""
    real_bits: int | None = None
    """Bits of a value where the ceiling counts real ones, position included; None counts as the paper does."""
    data: Reals | None = None
    norms: Reals | None = None
    share: Reals | None = None
    past_norms: Reals | None = None
    past_thetas: Reals | None = None

    def only(self, ids: Counts) -> "Means":
        """Those of some clients."""
        return replace(
            self,
            bandwidth=self.bandwidth[ids],
            step_seconds=self.step_seconds[ids],
            data=None if self.data is None else self.data[ids],
            norms=None if self.norms is None else self.norms[ids],
            share=None if self.share is None else self.share[ids],
        )

    @property
    def computing(self) -> Reals:
        """Seconds of local training."""
        return self.steps * self.step_seconds

    @property
    def sending(self) -> Reals:
        """Seconds that a whole update is on its way up."""
        return self.bits(1.0) * self.size / self.bandwidth

    def bits(self, theta: float) -> float:
        """What a kept coordinate takes of the link."""
        return BITS if self.real_bits is None else self.real_bits + position_bits(theta)


@dataclass(frozen=True)
class Allocation:
    """The round's budget θ_t, each client's θ_k, and whether this is a warm-up round."""

    theta: float
    densities: Reals
    warmup: bool = False


@dataclass(frozen=True)
class Allocator:
    """θ_k of every client of the cohort.

    rule: `adaptive` is eq. 8, `uniform` its ablation, `waterfill` spends exactly M·θ_t wherever the
    ceilings allow. ceiling: `paper` gives the whole time budget to the upload, `strict` what computing
    leaves of it (and counts position bits), `none` is the authors' uncapped ablation. warmup: `full` sends
    everything in warm-up rounds (the text), `allocated` goes through rule and ceiling (the authors' runs).
    """

    budget: Budget = Budget()
    rule: Literal["adaptive", "uniform", "waterfill"] = "adaptive"
    ceiling: Literal["paper", "strict", "none"] = "paper"
    warmup: Literal["full", "allocated"] = "full"
    minimum: float = 0.005

    @property
    def average(self) -> float:
        return self.budget.average

    def allocate(self, scores: Reals, means: Means, moment: Moment) -> Allocation:
        theta = self.budget.theta(moment)
        warmup = self.budget.warming_up(moment)
        if warmup and self.warmup == "full":
            return Allocation(theta, np.ones(len(scores)), warmup)
        return Allocation(theta, self.densities(theta, scores, means), warmup)

    def densities(self, theta: float, scores: Reals, means: Means) -> Reals:
        caps = self.caps(theta, means)
        if self.rule == "waterfill":
            return waterfill(scores, theta * len(scores), caps, self.minimum)
        wish = proportional(scores, theta) if self.rule == "adaptive" else np.full(len(scores), theta)
        return np.clip(np.minimum(wish, caps), self.minimum, 1.0)

    def caps(self, theta: float, means: Means) -> Reals:
        """θ_cap = B·T_budget/(32N)   (below eq. 8)"""
        if self.ceiling == "none":
            return np.ones(len(means.bandwidth))
        if self.ceiling == "paper":
            return means.bandwidth * means.budget_seconds / (means.bits(theta) * means.size)
        left = np.maximum(0.0, means.budget_seconds - means.steps * means.step_seconds)
        real = replace(means, real_bits=means.real_bits or BITS)
        return means.bandwidth * left / (real.bits(theta) * means.size)


def proportional(scores: Reals, theta: float) -> Reals:
    """S_k/S̄·θ_t; where all scores are zero there is no preference and everybody gets θ_t."""
    mean = scores.mean()
    return scores / mean * theta if mean > 0 else np.full(len(scores), theta)


def position_bits(density: float) -> float:
    """Entropy of a kept coordinate's position, in bits: h(θ)/θ."""
    if not 0 < density < 1:
        return 0.0
    free = 1 - density
    return -(math.log2(density) + free / density * math.log2(free))
