"""FairFedCS (Shi, Liu, Shi, Yu, "Fairness-aware client selection for federated learning", ICME 2023): reputation and
patience. The m clients with the highest σ·reputation + queue take part; the queue grows by m/K each round and shrinks
by 1 when a client takes part.

The paper judges a contribution by its Shapley value on validation data. A server here has no data, so a contribution
is good where the client's update points the same way as the sum of the other new ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits
from heteroselect.parts.select.by_client import recalled
from heteroselect.parts.select.geometry import SKETCH, inner


@dataclass(frozen=True)
class FairFedCS:
    """Takes clients by reputation and by how long they have waited. Reputation is (good + 1)/(good + bad + 2) of the
    contributions so far. Ties are broken at random.

    Use when some clients may contribute badly, and all are to take part. Beware: reputation goes by agreement with the
    others, so rare data look bad.
    """

    kind = "fairfedcs"
    traits = Traits(needs={"uploads"})

    reputation: float = setting(
        1.0, "weight σ of a reputation against one turn; 0 is nothing but fair", ge=0, tune=(0.1, 10, "log")
    )
    sketch: int = setting(0, SKETCH, ge=0)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        met, population = context.state.get("clients", context.ids[:0]), context.population
        clients, kept = recalled(context.state, context.ids, queue=0.0, good=0.0, bad=0.0, judged=0.0)
        mine, even = np.searchsorted(clients, context.ids), context.size / len(clients)
        kept["queue"][~np.isin(clients, met)] = even * (context.moment.round - 1)  # never taken so far
        fresh = np.flatnonzero(population.last_round > kept["judged"][mine])
        good = agreeing(population, fresh)
        kept["good"][mine[fresh]] += good
        kept["bad"][mine[fresh]] += ~good
        kept["judged"][mine[fresh]] = population.last_round[fresh]
        reputation = (kept["good"] + 1) / (kept["good"] + kept["bad"] + 2)
        suits = np.round(self.reputation * reputation + kept["queue"], 9)[mine]  # so that ties are ties
        places = np.lexsort((context.random.random(len(mine)), -suits))[: context.size]
        kept["queue"] += even
        kept["queue"][mine[places]] -= 1
        kept["queue"] = np.maximum(kept["queue"], 0.0)
        return context.cohort(places, state={**kept, "clients": clients})


def agreeing(population: Population, places: Counts) -> NDArray[np.bool_]:
    """Whether each one's upload points the same way as the sum of the others'; not where nothing arrived."""
    arrived = population.answered == population.last_round  # else the upload is of an earlier round
    sent = [int(k) for k in places if arrived[k] and int(k) in population.uploads]
    table = inner([population.uploads[k] for k in sent])
    along = dict(zip(sent, table.sum(1) - np.diag(table), strict=True))
    return np.array([k in along and along[k] >= 0 for k in places.tolist()], bool)
