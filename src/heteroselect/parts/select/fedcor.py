"""FedCor (Tang, Ning, Wang, Sun, Wang, Li, Chen, "FedCor: Correlation-based active client selection strategy for
heterogeneous federated learning", CVPR 2022).

How everybody's loss changes in a round is one draw from a normal distribution. Its covariance tells how much of the
whole goes down with the loss of one client, so that clients are taken one after the other: the one with the largest
Σ_i p_i·Σ_ik/√Σ_kk, given those already taken. The covariance is learnt from rounds with a random cohort, before and
after which everybody is asked for its loss.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.select.by_client import recalled

FLOOR = 1e-8  # of a variance that is divided by
DIMENSIONS = 15  # of the space in which clients have their places
NOISE = 0.01  # deviation of a loss change that nobody shares
SAMPLES = 10  # random rounds that are remembered
AGE = 0.8  # γ: what a sample's weight is multiplied by per round of its age
STEPS_FIRST, STEPS = 1000, 100  # of the first fit, and of each later one
RATE = 0.01  # learning rate of the fit (Adam)


@dataclass(frozen=True)
class FedCor:
    """Takes clients whose losses say most about the losses of all. Σ = XXᵀ + 0.01²·I, X being a place of every client
    in a space of few dimensions, fitted by the likelihood of the loss changes around their mean.

    Use when losses of clients rise and fall together, and asking for them is cheap. Beware: the rounds that fit the
    model ask every client for a loss.
    """

    kind = "fedcor"
    traits = Traits(needs={"losses"}, brings={"weigh": {"kind": "uniform"}})

    warmup: int = setting(
        25, "number of first rounds with random cohorts, in each of which everybody's loss is asked for", ge=1
    )
    every: int = setting(10, "rounds from one random cohort to the next after the warm-up", ge=2)
    discount: float = setting(
        0.9, "factor β on a client's worth each time it is taken", gt=0, le=1, tune=(0.5, 1, "linear")
    )

    def random(self, round: int) -> bool:
        """Whether the cohort of this round is random."""
        return 1 <= round <= self.warmup or (round > self.warmup and (round - self.warmup) % self.every == 0)

    def wants(self, context: SelectionContext) -> Counts:
        """Everybody before and after a round with a random cohort."""
        round = context.moment.round
        return context.ids if self.random(round) or self.random(round - 1) else context.ids[:0]

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        round, clients = context.moment.round, len(context.ids)
        state = self.sampled(context)
        if self.random(round - 1) and not self.random(round) and len(state["rounds"]):
            state = self.updated(state, context)
        if self.random(round) or "places" not in state:
            places = context.random.choice(clients, context.size, replace=False)
            return context.cohort(places, np.full(context.size, context.size / clients), state=state)
        mine = np.searchsorted(state["clients"], context.ids)
        x = state["places"][:, mine]
        data = context.population.sizes / context.population.sizes.sum()
        covariance = x.T @ x + NOISE**2 * np.eye(clients)
        places = most_telling(covariance, data, state["discounts"][mine], context.size)
        discounts = state["discounts"].copy()
        discounts[mine[places]] *= self.discount
        return context.cohort(places, state={**state, "discounts": discounts})

    def sampled(self, context: SelectionContext) -> PartState:
        """The state with the losses of this round, and how they have changed if those of the last are known."""
        round, state = context.moment.round, context.state
        rounds: Reals = state.get("rounds", np.empty(0))
        start = {"losses": np.nan, "discounts": 1.0, "changes": np.full(len(rounds), np.nan)}
        if "places" in state:  # whoever is new stands in the middle of the others
            start["places"] = state["places"].mean(1)
        clients, kept = recalled(state, context.ids, **start)
        losses = np.full(len(clients), np.nan)
        losses[np.searchsorted(clients, context.ids)] = context.population.losses
        change = losses - kept["losses"]
        if int(state.get("asked", -1)) == round - 1 and np.isfinite(change).any():
            change[np.isnan(change)] = np.nanmean(change)
            kept["changes"] = np.vstack([kept["changes"], change])[-SAMPLES:]
            rounds = np.append(rounds, round - 1.0)[-SAMPLES:]
        asked = np.array(round if np.isfinite(losses).any() else -1)
        return {**kept, "losses": losses, "asked": asked, "rounds": rounds, "clients": clients}

    def updated(self, state: PartState, context: SelectionContext) -> PartState:
        """The state with places fitted to the changes so far, and all discounts gone."""
        clients, changes = len(state["clients"]), state["changes"]
        weights = AGE ** (state["rounds"].max() - state["rounds"])
        # of a client that came later the older changes are not known: it counts as an average one
        changes = np.where(np.isnan(changes), np.nanmean(changes, axis=1, keepdims=True), changes)
        changes = changes - weights @ changes / weights.sum()
        fresh = context.random.standard_normal((DIMENSIONS, clients)) / np.sqrt(DIMENSIONS)
        places, steps = (state["places"], STEPS) if "places" in state else (fresh, STEPS_FIRST)
        places = fitted(places, changes, weights, steps)
        return {**state, "places": places, "discounts": np.ones(clients)}


def most_telling(covariance: Reals, data: Reals, discounts: Reals, size: int) -> Counts:
    """The clients with the largest α_k·Σ_i p_i·Σ_ik/√Σ_kk, one after the other, each given those before it; ties go to
    the lower number.

    >>> most_telling(np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]), np.ones(3) / 3, np.ones(3), 2).tolist()
    [0, 2]
    """
    left, chosen = covariance.copy(), list[int]()
    for _ in range(size):
        spread = np.maximum(np.diag(left), FLOOR)
        worth = (discounts * (data @ left) / np.sqrt(spread)).astype(np.float32)  # its last bits decide nothing
        worth[chosen] = -np.inf
        best = int(np.argmax(worth))
        chosen.append(best)
        left = left - np.outer(left[:, best], left[best]) / spread[best]
    return np.array(chosen, np.int64)


def fitted(places: Reals, changes: Reals, weights: Reals, steps: int) -> Reals:
    """Places (a column per client) under which the changes (a row per sample) are more likely, after so many steps of
    Adam (Kingma, Ba, ICLR 2015)."""
    x, first, second = places, np.zeros_like(places), np.zeros_like(places)
    for step in range(1, steps + 1):
        slope = unlikeliness_slope(x, changes, weights)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        x = x - RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return x


def unlikeliness_slope(x: Reals, changes: Reals, weights: Reals) -> Reals:
    """The derivative by X of ½·Σ_s w_s·(y_sᵀΣ⁻¹y_s + ln det Σ), which is (Σw·Σ⁻¹ − Σ_s w_s·a_s·a_sᵀ)X with a = Σ⁻¹y.

    Σ has as many dimensions as there are clients; only a small matrix is inverted (Woodbury): Σ⁻¹X = X(XᵀX + noise²)⁻¹.
    """
    small = np.linalg.inv(x @ x.T + NOISE**2 * np.eye(len(x)))
    a = (changes - changes @ x.T @ small @ x) / NOISE**2
    slope: Reals = weights.sum() * (small @ x) - (x @ a.T * weights) @ a
    return slope
