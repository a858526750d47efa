"""OptRate: how much to send in which round. A reconstruction.

Cui, Su, Zhou, Liu, "Optimal rate adaption in federated learning with compressed communications", INFOCOM 2022, adapts
the compression of every round, the same for all clients, so that the error in the final model is least for a given
traffic. The abstract says so much; the formulas here are ours: minimise Σ_t J_t under Σ_t cost_t ≤ C, where J_t is what
compression loses in round t.
"""

import math
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, Outcome, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.density import SPARSE, Allocation

DECAY = 5.0  # c: how fast the loss of compression falls with the density
CAUTION = 100.0  # holds the slope back: that many rounds² count for a constant length


@dataclass(frozen=True)
class OptRate:
    """Spreads a budget of bytes over the rounds. J_t = A_t·e^{−cθ}, A_t the squared length of an update, is about what
    keeping the θ largest of normal coordinates loses for c = 5. Equal gain everywhere then means θ_t = level +
    ln(A_t)/c, within bounds.

    A_t is not known ahead: past lengths are continued as an exponential, and what is left of the budget T·average is
    planned anew each round.

    Use when a whole run has one budget of bytes. Beware: future lengths are extrapolated, and the rule is reconstructed
    from an abstract.
    """

    kind = "optrate"
    traits = Traits(needs={"reports"}, brings=SPARSE, carries=("average", "minimum"), by_cohort=True)

    average: float = setting(0.2, "mean density of all rounds", gt=0, le=1, tune=(0.005, 0.5, "log"))
    minimum: float = setting(0.005, "lowest density of a round", gt=0, le=1)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        theta = self.theta(context.state, context.moment)
        return Allocation(theta, np.full(len(scores), theta))

    def learn(self, state: PartState, outcome: Outcome) -> PartState:
        """The state with this round's mean length, NaN where nothing arrived, and its density."""
        norm = float(outcome.norms.mean()) if len(outcome.norms) else math.nan
        more = {"norms": norm, "thetas": outcome.theta}
        return {name: np.append(state.get(name, np.empty(0)), value) for name, value in more.items()}

    def theta(self, state: PartState, moment: Moment) -> float:
        """θ_t, the first of the plan for the rounds that are left."""
        now, later = moment.round, np.arange(moment.round, max(moment.round, moment.rounds) + 1.0)
        spent = float(state["thetas"].sum()) if "thetas" in state else self.average * (now - 1)
        left = self.average * moment.rounds - spent
        lengths: Reals = state.get("norms", np.empty(0))
        known = lengths[np.isfinite(lengths)]
        if known.size and known[-1] <= 0:
            return self.minimum  # nothing was learnt, so there is nothing to send
        offsets = continued(2 * np.log(np.where(lengths > 0, lengths, np.nan)), later)
        return float(level_out(offsets / DECAY, left, self.minimum, 1.0)[0])


def level_out(offsets: Reals, total: float, low: float, high: float) -> Reals:
    """x_i = clip(level + offset_i, low, high) with the level for which they add up to `total`, as far as they can."""
    levels = np.sort(np.concatenate([low - offsets, high - offsets]))
    sums = np.clip(levels[:, None] + offsets, low, high).sum(1)
    found: Reals = np.clip(np.interp(total, sums, levels) + offsets, low, high)
    return found


def continued(past: Reals, later: Reals) -> Reals:
    """A straight line through what is known of rounds 1, 2, …, continued; NaN is not known, and nothing known is 0."""
    known = np.isfinite(past)
    if not known.any():
        return np.zeros(len(later))
    rounds, values = np.flatnonzero(known) + 1.0, past[known]
    centre, mean = rounds.mean(), values.mean()
    slope = (rounds - centre) @ (values - mean) / (((rounds - centre) ** 2).sum() + CAUTION)
    line: Reals = mean + slope * (later - centre)
    return line
