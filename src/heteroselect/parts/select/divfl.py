"""DivFL (Balakrishnan, Li, Zhou, Himayat, Smith, Bilmes, "Diverse client selection for federated learning via
submodular maximization", ICLR 2022): the m clients whose updates best stand for everybody's.

Clients without an upload come first, in the place of the paper's round in which all send a gradient.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.facility import lazy, represented
from heteroselect.parts.select.geometry import SKETCH, distances, gram


@dataclass(frozen=True)
class DivFL:
    """Takes the m most representative clients; `share` is the part of all clients that each stands for, which weighs
    where `weigh` is share.

    Use when updates of clients are similar in groups, so that a few can stand for all. Beware: the server remembers the
    last upload of every client.
    """

    kind = "divfl"
    traits = Traits(needs={"uploads"}, shares=True)

    sketch: int = setting(0, SKETCH, ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        fresh = newcomers(context)
        if fresh is not None:
            return fresh
        table = distances(gram(context.population))
        places = lazy(table, context.size)
        return context.cohort(places, share=represented(table, places) / len(table))


def newcomers(context: SelectionContext) -> Cohort | None:
    """Whom to take while there are clients without an upload: these first, and before there is any upload uniformly.
    They are equals and share equally."""
    clients, size = len(context.population), context.size
    unknown = np.array([k for k in range(clients) if k not in context.population.uploads], np.int64)
    if len(unknown) == clients:
        places = context.random.choice(clients, size, replace=False)
        return context.cohort(places, np.full(size, size / clients), share=np.full(size, 1 / size))
    if len(unknown) == 0:
        return None
    known = np.setdiff1d(np.arange(clients), unknown)
    places = np.concatenate([context.random.permutation(unknown), context.random.permutation(known)])[:size]
    return context.cohort(places, share=np.full(len(places), 1 / len(places)))
