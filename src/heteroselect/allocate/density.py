"""How much may each client send? Its share of the round's budget, under a ceiling (eq. 8)."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heteroselect.allocate.budget import Budget
from heteroselect.moment import Moment
from heteroselect.population import Reals

BITS = 32  # of a value, as the paper counts; its position is free there


@dataclass(frozen=True)
class Means:
    """What the cohort has to send with: bit/s, seconds a local step, and the round's time budget."""

    bandwidth: Reals
    step_seconds: Reals
    steps: int
    budget_seconds: float
    size: int
    """N, the coordinates of an update."""


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
            return means.bandwidth * means.budget_seconds / (BITS * means.size)
        left = np.maximum(0.0, means.budget_seconds - means.steps * means.step_seconds)
        return means.bandwidth * left / ((BITS + position_bits(theta)) * means.size)


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


def waterfill(scores: Reals, total: float, caps: Reals, minimum: float) -> Reals:
    """θ_k = clip(λ·S_k, θ_min, cap_k) with the λ for which they add up to `total`.

    Where the total lies below Σθ_min or above Σcap, these bounds are the answer. A score of zero gets the
    minimum.

    >>> waterfill(np.array([1.0, 1.0, 2.0]), 0.6, np.array([1.0, 1.0, 0.25]), 0.005).round(3).tolist()
    [0.175, 0.175, 0.25]
    """
    high = np.clip(caps, minimum, 1.0)
    low = np.full(len(scores), minimum)
    if total <= low.sum() or not (scores > 0).any():
        return low if total <= low.sum() else np.clip(np.full(len(scores), total / len(scores)), low, high)
    reachable = np.where(scores > 0, high, low)
    if total >= reachable.sum():
        return reachable
    bottom, top = 0.0, float((high[scores > 0] / scores[scores > 0]).max())
    for _ in range(200):  # bisection to the last bit: the sum rises with λ
        middle = (bottom + top) / 2
        bottom, top = (middle, top) if _fill(middle, scores, low, high).sum() < total else (bottom, middle)
    return _fill(top, scores, low, high)


def _fill(level: float, scores: Reals, low: Reals, high: Reals) -> NDArray[np.float64]:
    return np.clip(level * scores, low, high)
