"""Uniform selection without replacement (McMahan et al., "Communication-efficient learning of deep networks from
decentralized data", AISTATS 2017), and the selections of everybody and of a pool that another selection follows."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits


@dataclass(frozen=True)
class Uniform:
    """Draws m of K clients, each as likely as any other, whatever their scores.

    Use when nothing is known of the clients, or as the control of every other selector. Beware: a cohort is as slow as
    the slowest client that chance puts into it.
    """

    kind = "uniform"

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        clients = len(context.ids)
        places = context.random.choice(clients, context.size, replace=False)
        return context.cohort(places, np.full(context.size, context.size / clients))


@dataclass(frozen=True)
class Everybody:
    """Takes all candidates, in the order of their numbers.

    Use when clients are few, or a second selection decides who sends. Beware: everyone trains and fetches the model in
    every round.
    """

    kind = "everybody"
    traits = Traits(by_cohort=True)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        return context.cohort(np.arange(len(context.ids)))


@dataclass(frozen=True)
class Pool:
    """Draws more clients than there are places, each as likely.

    Use when a second selection is to choose among those who have trained. Beware: those who are not chosen have trained
    for nothing.
    """

    kind = "pool"
    traits = Traits(by_cohort=True)

    pool: int = setting(32, "number of clients that train, but one per place at least; 0: everybody", ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        clients, size = len(context.ids), max(self.pool, context.size)
        if self.pool == 0 or size >= clients:
            return context.cohort(np.arange(clients))
        places = np.sort(context.random.choice(clients, size, replace=False))
        return context.cohort(places, np.full(size, size / clients))
