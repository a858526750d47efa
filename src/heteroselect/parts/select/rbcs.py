"""RBCS-F (Huang, Lin, Wu, He, Li, Zomaya, "An efficiency-boosting client selection scheme for federated learning with
fairness guarantee", IEEE TPDS 2021): fast cohorts, and a rate of participation that everybody is guaranteed.

A queue per client grows by β each round and shrinks by 1 when it takes part. The cohort minimises V·(time of its
slowest) − Σ(its queues). Times are not known before: each client has a linear bandit that is optimistic about them.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.by_client import recalled

FEATURES = 3  # seconds per step, whether it took part in the last round, seconds of a whole upload


@dataclass(frozen=True)
class RBCSF:
    """Takes clients that are expected to be fast, while a queue keeps each one's share of participations.

    β is a part of m/K, without which queues would grow for ever. A client met for the first time has the queue of one
    that was never taken. `products` are the bandit's Σccᵀ, `targets` its Στc, and `contexts` the c of the last round.

    Use when rounds are to be short and no client may be left out. Beware: times are learnt by a linear bandit, which
    follows sudden changes slowly.
    """

    kind = "rbcs-f"
    traits = Traits(needs={"links", "reports"})

    speed: float = setting(
        1.0, "weight V of a second of the slowest against one turn that a client waits", ge=0, tune=(0.1, 500, "log")
    )
    guarantee: float = setting(0.5, "guaranteed rate of participation β, as a share of m/K", ge=0, lt=1)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        start = {
            "queue": 0.0,
            "products": np.zeros(FEATURES**2),
            "targets": np.zeros(FEATURES),
            "contexts": np.zeros(FEATURES),
        }
        met = context.state.get("clients", context.ids[:0])
        clients, kept = recalled(context.state, context.ids, **start)
        beta = self.guarantee * context.size / len(clients)
        kept["queue"][~np.isin(clients, met)] = beta * (context.moment.round - 1)
        mine = np.searchsorted(clients, context.ids)
        kept = self.updated(kept, mine, context)
        contexts = self.contexts(context)
        times = expected(kept["products"][:, mine], kept["targets"][:, mine], contexts)
        places = quick_and_due(kept["queue"][mine], times, context.size, self.speed)
        queue = kept["queue"] + beta
        queue[mine[places]] -= 1
        kept["contexts"][:, mine[places]] = contexts[:, places]
        state = {**kept, "clients": clients, "queue": np.maximum(queue, 0.0)}
        return context.cohort(places, state=state)

    def contexts(self, context: SelectionContext) -> Reals:
        """What a client's time may depend on, a column per candidate."""
        before = context.population.last_round == context.moment.round - 1
        lately = before & (context.moment.round > 1)
        return np.stack([context.links.step_seconds, lately.astype(np.float64), context.links.sending])

    def updated(self, kept: dict[str, Reals], mine: Counts, context: SelectionContext) -> dict[str, Reals]:
        """With the times of those whose last round is not yet learnt from."""
        took = context.population.reported("seconds")
        waiting = kept["contexts"][:, mine].any(0)
        answered = context.population.answered == context.population.last_round  # else the time is of an earlier round
        done = np.flatnonzero(waiting & answered & np.isfinite(took))
        found = {name: array.copy() for name, array in kept.items()}
        features = kept["contexts"][:, mine[done]]
        found["products"][:, mine[done]] += (features[:, None] * features[None]).reshape(FEATURES**2, -1)
        found["targets"][:, mine[done]] += took[done] * features
        found["contexts"][:, mine[waiting]] = 0.0
        return found


def expected(products: Reals, targets: Reals, contexts: Reals) -> Reals:
    """Times, by the optimistic bandit: max(cᵀθ̂ − α·√(cᵀH⁻¹c), 0) with H = λI + Σccᵀ and θ̂ = H⁻¹Στc; α = λ = 1."""
    h = np.eye(FEATURES) + products.T.reshape(-1, FEATURES, FEATURES)
    solved = np.linalg.solve(h, contexts.T[:, :, None])[:, :, 0].T  # H⁻¹c, as H is symmetric
    estimate, doubt = (solved * targets).sum(0), (solved * contexts).sum(0)
    times: Reals = np.maximum(estimate - np.sqrt(np.maximum(doubt, 0.0)), 0.0)
    return times


def quick_and_due(queue: Reals, times: Reals, size: int, speed: float) -> Counts:
    """The `size` clients with the least V·max τ − Σz: the longest queues among those who are not slower than one of
    them, whoever that is. Ties go to the faster, then to the lower number.

    >>> queue, times = np.array([2.0, 0.0, 1.0]), np.array([5.0, 1.0, 2.0])
    >>> quick_and_due(queue, times, 1, 1.0).tolist(), quick_and_due(queue, times, 1, 0.1).tolist()
    ([1], [0])
    """
    order = np.argsort(times, kind="stable")
    best, found = np.inf, order[:size]
    for last in range(size, len(order) + 1):
        quick = order[:last]
        due = quick[np.argsort(-queue[quick], kind="stable")[:size]]
        value = speed * times[order[last - 1]] - queue[due].sum()
        if value < best:
            best, found = value, due
    return found
