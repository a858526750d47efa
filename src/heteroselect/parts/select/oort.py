"""Oort (Lai et al., "Oort: Efficient federated learning via guided participant selection", OSDI 2021).

A client is worth what its examples still have to teach (by the losses of its last training), less if it is slower
than a preferred duration T, which the pacer lengthens as soon as the worth of the cohorts stops changing. Part of
each cohort is explored: clients never tried, the fast ones rather than the slow.

The constants are the paper's, and so is T in seconds. In three things the rule is that of the released code: utilities
are brought to about 0 to 1 before the bonus is added to them; T grows when utility has become flat (not whenever it
falls, as losses always do) and shrinks when it changes sharply; and nobody is left out for having been picked often.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.parts.select.draws import weighted

EXPLORE, EXPLORE_DECAY, EXPLORE_LEAST = 0.9, 0.98, 0.2  # share of newcomers: at first, left after a round, at least
BONUS = 0.1  # weight of the bonus for a utility from long ago
CLIP = 95.0  # percentile that utilities are cut at, so that no outlier takes all
CUT = 0.95  # c: clients worth more than c times the last one taken have a chance too
WINDOW = 20  # rounds whose worth the pacer adds up
FLAT = 0.1  # T grows by Δ where two windows differ by at most this part of the first
SHARP = 5.0  # T shrinks by Δ where they differ by this many times the first


@dataclass(frozen=True)
class Oort:
    """Prefers clients with a high loss that are fast enough.

    Use when time to a target counts, and devices differ much in speed. Beware: clients that report a false high loss
    are preferred, and slow clients are heard seldom.
    """

    kind = "oort"
    traits = Traits(needs={"reports", "examples", "links"}, brings={"weigh": {"kind": "uniform"}})

    penalty: float = setting(2.0, "exponent α of the penalty (T/t)^α of slow clients", ge=0, tune=(0, 5, "linear"))
    tired: int = setting(0, "selections after which a client rests (the paper: 10); 0: nobody rests", ge=0)
    overcommit: float = setting(1.0, "clients asked per place; the first to answer count (the paper: 1.3)", ge=1)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        population = context.population
        size = min(math.ceil(self.overcommit * context.size - 1e-9), len(context.ids))
        utility = statistical(population)
        state = self.paced(context.state, utility, population, context.moment)
        tried, fresh = np.flatnonzero(np.isfinite(utility)), np.flatnonzero(np.isnan(utility))

        # how many of each: an epsilon of newcomers, as far as there are any
        known = min(len(tried), size - round(self.epsilon(context.moment) * size))
        new = min(len(fresh), size - known)
        known = size - new

        speed = 1 / (context.links.computing + context.links.sending)
        # who was asked before and never answered is worth another try, but less and less
        worth_trying = (speed / (1 + population.counts))[fresh]
        explored = fresh[weighted(worth_trying, new, context.random).places] if new else fresh[:0]
        worth = self.worth(utility, population, context.moment, state)
        exploited = self.exploited(tried, worth, population, known, context.random) if known else tried[:0]
        cohort = context.cohort(np.concatenate([exploited, explored]), state=state)
        return replace(cohort, enough=context.size) if size > context.size else cohort

    def epsilon(self, moment: Moment) -> float:
        """The share of newcomers in this round."""
        return max(EXPLORE * EXPLORE_DECAY ** (moment.round - 1), EXPLORE_LEAST)

    def worth(self, utility: Reals, population: Population, moment: Moment, state: PartState) -> Reals:
        """Util = ((min(U, clip) − 0.999·min U)/range + √(0.1·ln R/L))·(T/t)^α where t > T; NaN of those never tried."""
        if np.isnan(utility).all():
            return utility
        # a client long not selected may have changed: L is the round that its utility is from
        age = np.sqrt(BONUS * np.log(moment.round) / np.maximum(population.answered, 1))
        took = population.reported("seconds")
        late = np.maximum(1.0, np.nan_to_num(took / float(state["duration"]), nan=1.0)) if "duration" in state else 1.0
        worth: Reals = (normalised(utility, CLIP) + age) / late**self.penalty
        return worth

    def exploited(
        self, tried: Counts, worth: Reals, population: Population, size: int, rng: np.random.Generator
    ) -> Counts:
        """Draw ∝ worth from all near the best. The tired come in only where the others do not suffice."""
        weary = (population.counts[tried] > self.tired) & (self.tired > 0)
        rested = tried[~weary]
        if len(rested) <= size:
            spare = tried[weary]
            more = spare[np.argsort(-worth[spare], kind="stable")][: size - len(rested)]
            return np.concatenate([rested, more])
        last = np.sort(worth[rested])[-size]
        pool: Counts = rested[worth[rested] >= CUT * last]
        return pool[weighted(worth[pool], size, rng).places]

    def paced(self, state: PartState, utility: Reals, population: Population, moment: Moment) -> PartState:
        """Once per window: T ← T + Δ where the last one was worth as much as the one before it, and T ← T − Δ, but not
        below Δ, where they have hardly anything in common. T and Δ start at the tenth percentile of the first times."""
        took = population.reported("seconds")
        if not np.isfinite(took).any():
            return state
        if "duration" not in state:
            step = np.array(np.nanpercentile(took, 10))
            state = {"duration": step, "step": step, "utility": np.zeros(0)}
        last = population.answered == moment.round - 1
        past = np.append(state["utility"], np.nansum(utility[last]))[-2 * WINDOW :]
        duration, step = state["duration"], state["step"]
        if len(past) == 2 * WINDOW and (moment.round - 1) % WINDOW == 0:
            before, lately = past[:WINDOW].sum(), past[WINDOW:].sum()
            change = abs(lately - before)
            if change <= FLAT * before:
                duration = duration + step
            elif change >= SHARP * before:
                duration = np.maximum(step, duration - step)
        return {**state, "duration": np.asarray(duration), "utility": past}


def statistical(population: Population) -> Reals:
    """U = |B|·√(mean over examples of squared losses), of the last participation; NaN of those without a report."""
    return population.sizes * population.reported("rms")


def normalised(utility: Reals, percentile: float) -> Reals:
    """(min(U, clip) − 0.999·min U)/range: about 0 to 1, and above 0 for everybody. What is 0 counts as the least of the
    others; NaN stays NaN.

    >>> normalised(np.array([100.0, 200.0, 300.0]), 100).round(4).tolist()
    [0.0005, 0.5002, 1.0]
    """
    positive = utility[utility > 0]
    least = float(positive.min()) if positive.size else 1.0
    low, high = 0.999 * least, max(least, float(np.nanmax(utility)))
    cut: Reals = np.clip(utility, least, max(least, np.nanpercentile(utility, percentile)))
    return (cut - low) / max(high - low, 1e-4)
