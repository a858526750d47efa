"""Uniform selection without replacement (McMahan et al., "Communication-efficient learning of deep networks from
decentralized data", AISTATS 2017), and the draws that other selectors are made of."""

from dataclasses import dataclass

import numpy as np

from heteroselect.arrays import Counts, Reals
from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.softmax import gumbel_top


@dataclass(frozen=True)
class Uniform:
    """Everybody is as likely: m of K, whatever their scores."""

    def select(self, scores: Reals, here: Situation) -> Cohort:
        clients = len(scores)
        ids = here.rng.choice(clients, here.size, replace=False)
        return Cohort(ids, np.full(here.size, here.size / clients))


@dataclass(frozen=True)
class Everybody:
    """All clients, in the order of their numbers; for methods that select after training."""

    def select(self, scores: Reals, here: Situation) -> Cohort:
        return Cohort(np.arange(len(scores)), np.ones(len(scores)))


def weighted(weights: Reals, size: int, rng: np.random.Generator) -> Cohort:
    """`size` distinct clients, one after the other with probability ∝ weight.

    Where too few have any weight, they all are in, and the others are drawn uniformly.
    """
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a client's weight is negative or not finite")
    heavy, light = np.flatnonzero(weights > 0), np.flatnonzero(weights <= 0)
    if size <= len(heavy):
        cohort = gumbel_top(np.log(weights[heavy]), size, rng)
        return Cohort(heavy[cohort.ids], cohort.inclusion)
    more = size - len(heavy)
    ids = np.concatenate([rng.permutation(heavy), rng.choice(light, more, replace=False)])
    return Cohort(ids, np.repeat([1.0, more / len(light)], [len(heavy), more]))


def tally(draws: Counts, speaks: Reals, inclusion: Reals) -> Cohort:
    """The cohort of draws with replacement: each client once, speaking as often as it was drawn.

    `speaks` is how much a single draw of a client speaks for, `inclusion` how likely it is drawn at all.

    >>> tally(np.array([2, 0, 2]), np.full(3, 0.25), np.ones(3)).share.tolist()
    [0.25, 0.5]
    """
    ids, times = np.unique(draws, return_counts=True)
    return Cohort(ids, inclusion[ids], share=times * speaks[ids])
