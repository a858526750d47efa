"""AdaSample: adaptive client sampling (Luo, Xiao, Wang, Huang, Tassiulas, "Tackling system and statistical
heterogeneity for federated learning with adaptive client sampling", INFOCOM 2022).

m clients are drawn with replacement, with the probabilities q that minimise the time to a given loss: the expected
seconds of a round, taken as Σ q_i·t_i, times the rounds it takes, ∝ α·Σ p_i²G_i²/q_i + β.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.draws import tally

FLOOR = 1e-3  # a length below this part of the mean is lifted to it


@dataclass(frozen=True)
class AdaSample:
    """Draws by chances that balance speed of convergence against seconds per round.

    G is the length of an update as last reported, and the mean of the others where there is no report; t is the time to
    compute and send a whole update. The paper estimates `ratio` from two short runs.

    Use when links and devices differ, and the draw has to stay unbiased. Beware: it starts from guesses until every
    client has reported a length.
    """

    kind = "adasample"
    traits = Traits(needs={"links"}, brings={"weigh": {"kind": "share"}}, shares=True)

    ratio: float = setting(0.0, "ratio β/α of the rounds to a loss, in units of K·Σp²G²", ge=0, tune=(0, 4, "linear"))

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        population, clients, size = context.population, len(context.ids), context.size
        data, times = population.sizes / population.sizes.sum(), context.links.computing + context.links.sending
        chances, norms = np.full(clients, 1 / clients), population.reported("norm")
        if np.isfinite(norms).any():
            pulls = (data * lifted(norms)) ** 2
            if pulls.sum() > 0:
                chances = best(pulls, times, self.ratio * clients * pulls.sum())
        draws = context.random.choice(clients, size, p=chances)
        drawn = tally(draws, data / (size * chances), 1 - (1 - chances) ** size)
        return context.cohort(drawn.places, drawn.inclusion, share=drawn.share)


def best(pulls: Reals, times: Reals, beta: float = 0.0) -> Reals:
    """The q that minimises (Σ q·t)(Σ a/q + β), for a = p²G² > 0 and t > 0: where the derivative vanishes,
    q_i ∝ √(a_i/(t_i − c)) with c = β·Σqt/(Σa/q + β), one number between 0 and the shortest time."""

    def at(c: float) -> Reals:
        shape = np.sqrt(pulls / (times - c))
        q: Reals = shape / shape.sum()
        return q

    def gap(c: float) -> float:
        q = at(c)
        return float(beta * (q @ times) / ((pulls / q).sum() + beta) - c)

    highest = float(times.min()) * (1 - 1e-12)
    if beta <= 0:
        return at(0.0)
    from scipy.optimize import brentq  # slow to import, and few methods need it

    return at(highest if gap(highest) >= 0 else float(brentq(gap, 0.0, highest, xtol=1e-15 * highest, rtol=1e-14)))


def lifted(norms: Reals) -> Reals:
    """Lengths, the mean for unknown ones and none below `FLOOR` times it: who reported 0 once may be drawn again."""
    mean = float(np.nanmean(norms))
    return np.maximum(np.where(np.isfinite(norms), norms, mean), FLOOR * mean)
