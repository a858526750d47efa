"""The least variance for what it costs (our own): a price on the seconds of the round, and one on the bytes.

Minimises Σ_k V(θ_k) + λ·T + μ·Σ_k bytes(θ_k) under τ_k + θ_k·u_k ≤ T and θ_min ≤ θ_k ≤ 1, where V is the compressor's
own variance, τ_k are the seconds of training and u_k those of a whole update. For a given T the optimum is
θ_k = min(θ*, what the link carries by then), θ* being the density at which another byte is not worth its price; what
that costs is convex in T. Left out: the lengths of updates, which count as equal, and the model's way down.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import without_variance
from heteroselect.core.part import Misfit, setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.deadline import UNBIASED
from heteroselect.parts.allocate.density import Allocation


@dataclass(frozen=True)
class Price:
    """Finds the densities that are best for the two prices. Only their ratio to a client's variance matters: with λ = μ
    = 0 all is sent.

    Use when a second and a megabyte have known prices. Beware: the right prices are not known; try several.
    """

    kind = "price"
    traits = Traits(needs={"links"}, brings=UNBIASED, by_cohort=True)

    seconds: float = setting(100.0, "price λ of a second of the round, where a client's squared length is 1", ge=0)
    megabytes: float = setting(0.0, "price μ of a megabyte of uploads, where a client's squared length is 1", ge=0)
    minimum: float = setting(0.005, "lowest density of a client", gt=0, le=1)

    @property
    def average(self) -> float:
        return 1.0

    def fits(self, parts: Mapping[str, Any]) -> Misfit | None:
        """Why it cannot work with these parts, or None."""
        return without_variance(parts["compress"])

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        links = context.links
        if links.coder is None:
            raise ValueError("price goes by the compressor's variance, and was given none")
        megabytes = links.sent_bits(1.0) * links.size / 8e6
        _, densities = priced(
            links.coder.variance,
            links.working,
            links.whole(1.0),
            price=self.seconds,
            each=self.megabytes * megabytes,
            minimum=self.minimum,
        )
        return Allocation(float(densities.mean()), densities)


def priced(
    variance: Callable[[float], float], working: Reals, sending: Reals, *, price: float, each: float, minimum: float
) -> tuple[float, Reals]:
    """T and θ with the least Σ(V(θ_k) + each·θ_k) + price·T."""
    top = _least(lambda density: variance(density) + each * density, minimum, 1.0)

    def by(t: float) -> Reals:
        carried: Reals = np.clip((t - working) / sending, minimum, top)
        return carried

    def cost(t: float) -> float:  # fsum: the order of the clients does not matter
        return math.fsum(variance(float(density)) + each * float(density) for density in by(t)) + price * t

    first, last = (float((working + density * sending).max()) for density in (minimum, top))
    t = _least(cost, first, last)
    return t, by(t)


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function is least, ends included."""
    if not low < high:
        return low
    from scipy.optimize import minimize_scalar  # slow to import

    inside = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-10 * (high - low)})
    return min((float(inside.x), low, high), key=function)
