"""A balanced draw (our own): clients spread over what they learnt last, each with exactly its chance.

The draw is the local pivotal method (Grafström, Lundström, Schelin, Biometrics 2012; see `pivotal`). Clients that
learnt alike seldom come together, so that the mean of a cohort is nearer to the mean of all; since every chance π_k is
exact, Σ p_k·x_k/π_k over the cohort is unbiased whatever the places (Horvitz and Thompson, 1952). All of it is
made from what the server has anyway: nobody is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update
from heteroselect.parts.allocate.flexcom import known
from heteroselect.parts.select.geometry import SKETCH, inner
from heteroselect.parts.select.pivotal import chances, spread

APART = 10.0  # how far clients without an upload stand from all others, in extents of these


@dataclass(frozen=True)
class Balanced:
    """Draws clients spread over what they learnt last, each with exactly its chance. Chances are as ‖last
    update‖^`norm` · (rounds since selected)^`age` · (steps per second)^`speed`, so equal by default. Places are the
    leading principal components of the last uploads; clients without an upload stand apart from all others and at
    random among themselves. `share` is each one's part of all data over its chance.

    Use when the draw has to stay unbiased and the mean of a cohort near the mean of all. Beware: it needs last uploads;
    until there are some it draws nearly at random.
    """

    kind = "balanced"

    norm: float = setting(0.0, "power of the length of the last update in a client's chance", ge=0)
    age: float = setting(0.0, "power of the rounds since a client was last selected in its chance", ge=0)
    speed: float = setting(0.0, "power of a device's steps per second in a client's chance", ge=0)
    floor: float = setting(
        0.2,
        "no chance falls below floor·m/K, so that no client counts for more than 1/floor times its part",
        gt=0,
        le=1,
    )
    dimensions: int = setting(8, "principal components of the last uploads that the draw is spread over", ge=1)
    sketch: int = setting(0, SKETCH, ge=0)

    @property
    def traits(self) -> Traits:
        asked = {"uploads": True, "reports": self.norm > 0, "links": self.speed > 0}
        needs = {word for word, wanted in asked.items() if wanted}
        return Traits(needs, brings={"weigh": {"kind": "share"}}, shares=True)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        population = context.population
        found = chances(self.weights(context), context.size, self.floor)
        places = spread(
            found, stood(population.uploads, len(context.ids), self.dimensions, context.random), context.random
        )
        part = population.sizes[places] / population.sizes.sum()
        return context.cohort(places, found[places], share=part / found[places])

    def weights(self, context: SelectionContext) -> Reals:
        """What the chances are in proportion to, where no bound is met."""
        clients = len(context.ids)
        weights = np.ones(clients)
        if self.norm:
            weights *= _powered(known(context.population.reported("norm"), clients), self.norm)
        if self.age:
            weights *= _powered((context.moment.round - context.population.last_round).astype(np.float64), self.age)
        if self.speed and (context.links.step_seconds > 0).all():
            weights *= _powered(1 / context.links.step_seconds, self.speed)
        return weights


def stood(uploads: Mapping[int, Update], clients: int, dimensions: int, rng: np.random.Generator) -> Reals:
    """Where each client stands: a row per client."""
    seen = np.array(sorted(uploads), np.int64)
    known = components([uploads[int(k)] for k in seen], dimensions)
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


def _powered(values: Reals, power: float) -> Reals:
    mean = values.mean()
    found: Reals = (values / mean) ** power if mean > 0 else np.ones(len(values))
    return found
