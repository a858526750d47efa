"""A balanced draw (our own): clients spread over what they learnt last, each with exactly its chance.

The draw is the local pivotal method (Grafström, Lundström, Schelin, Biometrics 2012; see `pivotal`). Clients that
learnt alike seldom come together, so that the mean of a cohort is nearer to the mean of all; since every chance π_k is
exact, Σ p_k·x_k/π_k over the cohort is unbiased whatever the places (Horvitz and Thompson, 1952).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update
from heteroselect.parts.select.geometry import SKETCH, inner
from heteroselect.parts.select.pivotal import chances, spread

APART = 10.0  # how far clients without an upload stand from all others, in extents of these
FLOOR = 0.2  # no chance falls below it times m/K, so that no client counts for more than 5 times its part
DIMENSIONS = 8  # principal components of the last uploads that the draw is spread over


@dataclass(frozen=True)
class Balanced:
    """Draws clients spread over what they learnt last, each with exactly its chance. Places are the leading principal
    components of the last uploads; clients without an upload stand apart from all others and at random among
    themselves. `share` is each one's part of all data over its chance.

    Use when the draw has to stay unbiased and the mean of a cohort near the mean of all. Beware: it needs last uploads;
    until there are some it draws nearly at random.
    """

    kind = "balanced"

    speed: float = setting(0.0, "power of a device's steps per second in a client's chance; 0: all are equal", ge=0)
    sketch: int = setting(0, SKETCH, ge=0)

    @property
    def traits(self) -> Traits:
        needs = {"uploads", "links"} if self.speed else {"uploads"}
        return Traits(needs, brings={"weigh": {"kind": "share"}}, shares=True)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        sizes, uploads, clients = context.population.sizes, context.population.uploads, len(context.ids)
        weights = np.ones(clients)
        if self.speed and (context.links.step_seconds > 0).all():
            speeds = 1 / context.links.step_seconds
            weights = (speeds / speeds.mean()) ** self.speed
        found = chances(weights, context.size, FLOOR)
        places = spread(found, stood(uploads, clients, context.random), context.random)
        return context.cohort(places, found[places], share=sizes[places] / sizes.sum() / found[places])


def stood(uploads: Mapping[int, Update], clients: int, rng: np.random.Generator) -> Reals:
    """Where each client stands: a row per client."""
    seen = np.array(sorted(uploads), np.int64)
    known = components([uploads[int(k)] for k in seen], DIMENSIONS)
    extent = float(np.abs(known).max(initial=0.0)) or 1.0
    places = np.zeros((clients, known.shape[1] + 2))
    places[:, -2], places[:, -1] = APART * extent, extent * rng.random(clients)
    places[seen, :-2], places[seen, -2:] = known, 0.0
    return places


def components(updates: list[Update], dimensions: int) -> Reals:
    """The leading principal components of some updates, to single precision: the last bits are the machine's."""
    if len(updates) < 2:
        return np.zeros((len(updates), 1))
    if updates[0].size > len(updates):  # by the table of inner products, the smaller one
        table = inner(updates)
        table = table - table.mean(0) - table.mean(1)[:, None] + table.mean()
        squares, vectors = np.linalg.eigh((table + table.T) / 2)
        found = vectors[:, -dimensions:] * np.sqrt(squares[-dimensions:].clip(min=0.0))
    else:
        rows = np.stack([update.dense() for update in updates]).astype(np.float64)
        rows -= rows.mean(0)
        found = rows @ np.linalg.eigh(rows.T @ rows)[1][:, -dimensions:]
    rounded: Reals = found.astype(np.float32).astype(np.float64)
    return rounded
