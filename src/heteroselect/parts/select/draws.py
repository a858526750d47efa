"""The random draws that selectors are made of, as places in a list."""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Counts, Reals


@dataclass(frozen=True)
class Draw:
    """The places drawn, the weight of inclusion of each, and what each stands for where the draw decides it."""

    places: Counts
    inclusion: Reals
    share: Reals | None = None


def gumbel_top(logits: Reals, size: int, rng: np.random.Generator) -> Draw:
    """`size` distinct places, successively with probability ∝ exp(logit): the largest of log-probabilities with Gumbel
    noise (Kool, van Hoof, Welling, ICML 2019). With t* the largest perturbed value left out, q = 1 − exp(−exp(φ − t*))
    are the inclusion weights; where nobody is left out they are 1."""
    if not 1 <= size <= len(logits):
        raise ValueError(f"{size} clients cannot be drawn from {len(logits)}")
    if not np.isfinite(logits).all():
        raise ValueError("a client's score is not finite")
    phi = logits - np.logaddexp.reduce(logits)
    perturbed = phi + rng.gumbel(size=len(phi))
    order = np.argsort(-perturbed, kind="stable")
    places = order[:size]
    if size == len(phi):
        return Draw(places, np.ones(size))
    above = np.minimum(phi[places] - perturbed[order[size]], 700.0)  # beyond it exp overflows, and q is 1 anyway
    return Draw(places, -np.expm1(-np.exp(above)))


def weighted(weights: Reals, size: int, rng: np.random.Generator) -> Draw:
    """`size` distinct places, one after the other with probability ∝ weight. Where too few have any weight, they all
    are in, and the others are drawn uniformly."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("a client's weight is negative or not finite")
    heavy, light = np.flatnonzero(weights > 0), np.flatnonzero(weights <= 0)
    if size <= len(heavy):
        drawn = gumbel_top(np.log(weights[heavy]), size, rng)
        return Draw(heavy[drawn.places], drawn.inclusion)
    more = size - len(heavy)
    places = np.concatenate([rng.permutation(heavy), rng.choice(light, more, replace=False)])
    return Draw(places, np.repeat([1.0, more / len(light)], [len(heavy), more]))


def tally(draws: Counts, each: Reals, inclusion: Reals) -> Draw:
    """Draws with replacement as distinct places, each standing for as much as all of its draws; `each` is what a single
    draw of a place stands for.

    >>> tally(np.array([2, 0, 2]), np.full(3, 0.25), np.ones(3)).share.tolist()
    [0.25, 0.5]
    """
    places, times = np.unique(draws, return_counts=True)
    return Draw(places, inclusion[places], share=times * each[places])
