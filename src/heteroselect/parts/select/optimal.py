"""Optimal client sampling (Chen, Horváth, Richtárik, "Optimal client sampling for federated learning", TMLR 2022).

Everybody trains, or a pool that is drawn uniformly (the authors' runs: 32 clients), and then only some send: client i
with probability π_i, on its own, Σπ_i = m on average. The sum of (p_i/π_i)·U_i over the senders is unbiased, and its
variance Σ u_i²/π_i, u_i = ‖p_i·U_i‖, is smallest where π follows u as far as probabilities can.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals, proportional_chances
from heteroselect.core.cohort import Cohort
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class SendAll:
    """Lets every client send that has trained.

    Use when training is what a round is for, as in most methods. Beware: it saves no uploads.
    """

    kind = "none"


@dataclass(frozen=True)
class OptimalSampling:
    """Draws after training, by the length of each update. The cohort may be of any size, and empty.

    Use when uploads are dear and training is cheap. Beware: all of the pool train, and the server learns the length of
    each update.
    """

    kind = "optimal-client-sampling"
    traits = Traits(brings={"select": {"kind": "pool"}, "weigh": {"kind": "share"}}, by_cohort=True)

    rule: Literal["exact", "aocs"] = setting(
        "exact",
        "probabilities: exact, or what the server finds from sums alone, so under secure aggregation (aocs)",
    )

    def choose(self, ids: Counts, norms: Reals, data: Reals, size: int, rng: np.random.Generator) -> Cohort:
        """Who sends, of the clients that trained: `norms` are ‖U_i‖ and `data` are p_i, in the order of `ids`."""
        lengths = data * norms
        chances = probabilities(lengths, size) if self.rule == "exact" else aocs(lengths, size)
        places = np.flatnonzero(rng.random(len(chances)) < chances)
        return Cohort(ids[places], chances[places], share=data[places] / chances[places])


def probabilities(lengths: Reals, size: int) -> Reals:
    """The minimiser of Σ u²/π under Σπ = m and π ≤ 1: of u in rising order the first l share m + l − K in proportion,
    and all others send for sure; l is the largest for which nobody's part exceeds 1.

    >>> probabilities(np.array([1.0, 2.0, 3.0, 10.0]), 2).round(3).tolist()
    [0.167, 0.333, 0.5, 1.0]
    """
    _checked(lengths, size)
    clients = len(lengths)
    order = np.argsort(lengths, kind="stable")
    rising, sums = lengths[order], np.cumsum(lengths[order])
    places = size - clients + np.arange(1, clients + 1)
    fits = (places > 0) & (places * rising <= sums * (1 + 1e-12))
    last = int(np.flatnonzero(fits)[-1])
    shared = np.ones(clients)
    # whoever learnt nothing may as well send as not: equal parts of the places left
    shared[: last + 1] = places[last] * (rising[: last + 1] / sums[last] if sums[last] > 0 else 1 / (last + 1))
    found = np.empty(clients)
    found[order] = np.minimum(shared, 1.0)
    return found


def aocs(lengths: Reals, size: int, iterations: int = 4) -> Reals:
    """Algorithm 2: π = min(1, m·u/Σu), and what was cut off goes to the others, a few times."""
    _checked(lengths, size)
    if not lengths.any():
        return np.full(len(lengths), size / len(lengths))
    return proportional_chances(lengths, size, iterations)


def _checked(lengths: Reals, size: int) -> None:
    if not (np.isfinite(lengths).all() and (lengths >= 0).all()):
        raise ValueError("the length of an update is negative or not finite")
    if not 1 <= size <= len(lengths):
        raise ValueError(f"{size} clients cannot be drawn from {len(lengths)}")
