"""Selection by a learnt policy: REINFORCE (Williams 1992) on a Plackett–Luce draw. A proposal of ours.

The paper speaks of policies that learn the schedule end to end and cites Zhan et al. 2022, a text that was not at hand.
This is the smallest such policy: a linear score of what the server knows of each client.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.select.by_client import recalled
from heteroselect.parts.select.draws import gumbel_top

FEATURES = 5
KEEP = 0.9  # what the baseline of rewards keeps each round


@dataclass(frozen=True)
class Reinforced:
    """Draws clients by a policy that is learnt from rewards. The reward of a round is by how much its clients' training
    losses have fallen since each took part before, as the mean logarithm, less `slowness` times the slowest one's
    seconds beside their mean so far.

    Use when what makes a client worth its seconds is not known ahead. Beware: it learns from one reward per round,
    which takes many rounds; it is reconstructed from an abstract.
    """

    kind = "rl"
    traits = Traits(needs={"reports", "links"})

    rate: float = setting(0.1, "learning rate of the policy", ge=0, tune=(0.01, 1, "log"))
    slowness: float = setting(0.1, "cost λ of a round of mean length", ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        state = self.updated(context)
        features = described(context)
        policy = state.get("policy", np.zeros(FEATURES))
        logits = features @ policy
        drawn = gumbel_top(logits, context.size, context.random)
        slope = likelihood_slope(features, logits, drawn.places)
        return context.cohort(drawn.places, drawn.inclusion, state={**state, "policy": policy, "slope": slope})

    def updated(self, context: SelectionContext) -> PartState:
        """The state after the reward of the last round, if anybody answered in it."""
        clients, kept = recalled(context.state, context.ids, losses=0.0)  # 0: none yet
        state: dict[str, NDArray[Any]] = {**context.state, "clients": clients, "losses": kept["losses"]}
        mine, population = np.searchsorted(clients, context.ids), context.population
        took, losses = population.reported("seconds"), population.reported("loss")
        done = (population.answered == context.moment.round - 1) & np.isfinite(took) & np.isfinite(losses)
        if context.moment.round == 1 or "slope" not in context.state or not done.any():
            return state
        before, now = kept["losses"][mine][done], losses[done]
        fallen = np.log(before[before > 0] / np.maximum(now[before > 0], 1e-12))
        rounds, slowest = float(state.get("rounds", 0.0)), float(took[done].max())
        seconds = (float(state.get("seconds", 0.0)) * rounds + slowest) / (rounds + 1)
        reward = float(fallen.mean()) if len(fallen) else 0.0
        reward -= self.slowness * slowest / max(seconds, 1e-12)
        state |= reinforced(state, reward, self.rate)
        state["losses"][mine[done]] = now
        return state | {"seconds": np.array(seconds), "rounds": np.array(rounds + 1)}


def reinforced(state: PartState, reward: float, rate: float) -> dict[str, Reals]:
    """φ ← φ + rate·(reward − baseline)·∇ ln P; the first reward is the first baseline."""
    baseline = float(state.get("baseline", reward))
    policy = state["policy"] + rate * (reward - baseline) * state["slope"]
    return {"policy": policy, "baseline": np.array(KEEP * baseline + (1 - KEEP) * reward)}


def described(context: SelectionContext) -> Reals:
    """Of each client: the loss it last reported, how long ago it took part and how often, how long it would take, and
    how much data it has; each with mean 0 and deviation 1 over the candidates, and 0 where it is not known."""
    population, links = context.population, context.links
    columns = [
        population.reported("loss"),
        context.moment.round - population.last_round.astype(np.float64),
        population.counts.astype(np.float64),
        links.computing + links.sending,
        population.sizes.astype(np.float64),
    ]
    return np.stack([_standard(column) for column in columns], axis=1)


def likelihood_slope(features: Reals, logits: Reals, order: Counts) -> Reals:
    """∇_φ ln P of drawing these places in this order: Σ_j [f(k_j) − Σ_{i not yet drawn} softmax_i·f(i)]."""
    slope, left = np.zeros(features.shape[1]), np.ones(len(logits), bool)
    for place in order:
        chances = np.exp(logits[left] - logits[left].max())
        slope += features[place] - chances @ features[left] / chances.sum()
        left[place] = False
    return slope


def _standard(values: Reals) -> Reals:
    known = np.isfinite(values)
    if not known.any() or values[known].std() < 1e-12:
        return np.zeros(len(values))
    return np.where(known, (values - values[known].mean()) / values[known].std(), 0.0)
