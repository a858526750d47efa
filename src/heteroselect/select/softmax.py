"""Softmax selection without replacement (eq. 6), drawn as Gumbel-top-M.

Perturbing each log-probability with Gumbel noise and taking the M largest has the law of drawing one
client after the other (Kool, van Hoof, Welling, ICML 2019), in one vectorised pass.
"""

from dataclasses import dataclass, replace

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.moment import Moment
from heteroselect.select.cohort import Cohort, Situation


@dataclass(frozen=True)
class Softmax:
    """p ∝ exp(S/τ(t)), with a temperature that falls from exploration to exploitation."""

    temperature: float = 1.0
    decay: float = 0.5

    def tau(self, moment: Moment) -> float:
        """τ(t) = τ₀(1 − 0.5·min(t/T, 1))   (below eq. 6)"""
        return self.temperature * (1 - self.decay * moment.progress)

    def select(self, scores: Reals, here: Situation) -> Cohort:
        tau = self.tau(here.moment)
        return replace(gumbel_top(scores / tau, here.size, here.rng), tau=tau)


def gumbel_top(logits: Reals, size: int, rng: np.random.Generator) -> Cohort:
    """`size` distinct clients, successively with probability ∝ exp(logit).

    With t* the largest perturbed value left out, q = 1 − exp(−exp(φ − t*)) are the inclusion weights;
    where nobody is left out they are 1.
    """
    if not 1 <= size <= len(logits):
        raise ValueError(f"{size} clients cannot be drawn from {len(logits)}")
    if not np.isfinite(logits).all():
        raise ValueError("a client's score is not finite")
    phi = logits - np.logaddexp.reduce(logits)
    perturbed = phi + rng.gumbel(size=len(phi))
    order = np.argsort(-perturbed, kind="stable")
    ids = order[:size]
    if size == len(phi):
        return Cohort(ids, np.ones(size))
    above = np.minimum(phi[ids] - perturbed[order[size]], 700.0)  # beyond it exp overflows, and q is 1 anyway
    return Cohort(ids, -np.expm1(-np.exp(above)))
