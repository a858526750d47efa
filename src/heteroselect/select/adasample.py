"""AdaSample: adaptive client sampling (Luo, Xiao, Wang, Huang, Tassiulas, "Tackling system and statistical
heterogeneity for federated learning with adaptive client sampling", INFOCOM 2022).

m clients are drawn with replacement, with the probabilities q that minimise the time to a given loss: the expected
seconds of a round, taken as Σ q_i·t_i, times the rounds it takes, ∝ α·Σ p_i²G_i²/q_i + β.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.uniform import tally


@dataclass(frozen=True)
class AdaSample:
    """`ratio` is β/α, in units of K·Σp²G² (α's part under uniform sampling); `estimate` finds it from two short runs.

    G is the length of an update as last reported. Until everybody has reported the draw is `uniform`; or a client
    never heard counts as an average one (`average`). A G below `floor` of the mean is lifted to it.
    """

    ratio: float = 0.0
    cold: Literal["uniform", "average"] = "uniform"
    floor: float = 1e-3

    def select(self, scores: Reals, here: Situation) -> Cohort:
        if here.means is None:
            raise ValueError("this selection goes by links and devices, which its method has to ask for")
        population, clients, size = here.population, len(scores), here.size
        data = population.sizes / population.sizes.sum()
        chances = np.full(clients, 1 / clients)
        norms = population.reported("norm")
        if np.isfinite(norms).all() or (self.cold == "average" and np.isfinite(norms).any()):
            norms = lifted(norms, self.floor)
            pulls = (data * norms) ** 2
            if pulls.sum() > 0:
                times = here.means.computing + here.means.sending
                chances = best(pulls, times, self.ratio * clients * pulls.sum())
        draws = here.rng.choice(clients, size, p=chances)
        return tally(draws, data / (size * chances), 1 - (1 - chances) ** size)


def best(pulls: Reals, times: Reals, beta: float = 0.0) -> Reals:
    """The q that minimises (Σ q·t)(Σ a/q + β), for a = p²G² > 0 and t > 0.

    Where the derivative vanishes, q_i ∝ √(a_i/(t_i − c)) with c = β·Σqt/(Σa/q + β): one number to search for, between
    0 and the shortest time. Without β it is 0, and q ∝ pG/√t.
    """

    def at(c: float) -> Reals:
        shape = np.sqrt(pulls / (times - c))
        q: Reals = shape / shape.sum()
        return q

    def gap(c: float) -> float:
        q = at(c)
        return float(beta * (q @ times) / ((pulls / q).sum() + beta) - c)

    highest = float(times.min()) * (1 - 1e-12)
    if beta <= 0:
        return at(0.0)
    from scipy.optimize import brentq  # slow to import, and few methods need it

    return at(highest if gap(highest) >= 0 else float(brentq(gap, 0.0, highest, xtol=1e-15 * highest, rtol=1e-14)))


def lifted(norms: Reals, floor: float) -> Reals:
    """Unknown lengths become the mean, and tiny ones `floor` times it: else who was once still is never drawn again."""
    mean = float(np.nanmean(norms))
    return np.maximum(np.where(np.isfinite(norms), norms, mean), floor * mean)


def round_seconds(chances: Reals, times: Reals, size: int) -> float:
    """The expected time of a round, which lasts as long as its slowest client: with t rising,
    Σ_i [(Σ_{j≤i} q_j)^m − (Σ_{j<i} q_j)^m]·t_i."""
    order = np.argsort(times, kind="stable")
    slowest = np.diff(np.cumsum(chances[order]) ** size, prepend=0.0)
    return float(slowest @ times[order])


def estimate(uniform_rounds: float, data_rounds: float, data: Reals, norms: Reals) -> float:
    """β/α, in units of K·Σp²G², from the rounds that uniform sampling and q = p take to the same loss.

    R ∝ α·K·Σp²G² + β and R ∝ α·Σp·G² + β; a negative answer, which only noise can give, is 0.
    """
    uniform, by_data = len(data) * (data**2 @ norms**2), data @ norms**2
    if uniform_rounds == data_rounds:
        return 0.0
    beta = (data_rounds * uniform - uniform_rounds * by_data) / (uniform_rounds - data_rounds)
    return max(0.0, float(beta / uniform))
