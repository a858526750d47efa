"""FedCG: representative clients, each compressed to what its link can do. A reconstruction.

Jiang et al., "Heterogeneity-aware federated learning with adaptive client selection and gradient compression",
INFOCOM 2023, alternates between a submodular maximisation (who) and a linear program (how much). The abstract says so
much; the formulas here are ours.

Step A, given θ, is the selector's (select/fedcg.py): facility location over the last updates, near ties to whoever is
faster at its θ. Step B, given the clients: the shortest round t with τ_j + θ_j·u_j ≤ t for all, under
Σ ρ_j(1 − θ_j) ≤ Γ, where u_j is the time of a whole update and ρ_j says how much the compression of client j hurts. Γ
is here such that the mean density is the stated one: with ρ by the number of clients that each stands for, nearly all
of ρ is one client's, and the others send nearly everything.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.allocate.density import SPARSE, Allocation


@dataclass(frozen=True)
class FedCG:
    """Solves step B for the cohort: the mean of the densities is `average`, and slow links are spared at the expense of
    fast ones.

    Use when links differ much and rounds are to be short. Beware: it is reconstructed from an abstract, and slow
    clients send little.
    """

    kind = "fedcg"
    traits = Traits(
        brings={**SPARSE, "select": {"kind": "fedcg"}},
        carries=("average", "minimum"),
        tuned_with={"average": ("select.average",)},
        by_cohort=True,
    )

    average: float = setting(0.2, "mean density of the cohort", gt=0, le=1, tune=(0.005, 0.5, "log"))
    minimum: float = setting(0.005, "lowest density of a client", gt=0, le=1)

    def allocate(self, scores: Reals, cohort: Cohort, context: SelectionContext) -> Allocation:
        conditions, weights = context.links, np.full(len(scores), 1 / len(scores))
        _, densities = shortest(conditions.computing, conditions.sending, weights, 1 - self.average, self.minimum)
        return Allocation(float(densities.mean()), densities)


def shortest(computing: Reals, sending: Reals, weights: Reals, allowed: float, minimum: float) -> tuple[float, Reals]:
    """Step B, exactly: the shortest t, and θ_j(t) = clip((t − τ_j)/u_j, θ_min, 1), what each can send by then. Where
    computing decides about t many plans are as short: of these, the one that loses what may be lost, and evenly so."""
    least = float((computing + minimum * sending).max())
    if allowed >= (1 - minimum) * weights.sum():
        return least, np.full(len(computing), minimum)

    def by(t: float) -> Reals:
        return np.clip((t - computing) / sending, minimum, 1.0)

    def lost(t: float) -> float:
        return float(weights @ (1 - by(t)))

    # what is lost falls with t, along straight lines between the times at which a client leaves or meets a bound
    bends = np.concatenate([computing + minimum * sending, computing + sending])
    times = [least, *np.sort(bends[bends > least]).tolist()]
    bound = allowed + 1e-13 * float(weights.sum())  # else what rounding leaves at a bend costs a whole line
    place = min(bisect_left(times, -bound, key=lambda t: -lost(t)), len(times) - 1)
    before, t = times[max(0, place - 1)], times[place]
    more, less = lost(before), lost(t)
    if more > less:
        t = before + (t - before) * min(1.0, (more - allowed) / (more - less))
    return t, evened(by(t), weights, allowed, minimum)


def evened(densities: Reals, weights: Reals, allowed: float, minimum: float) -> Reals:
    """The densities with the highest of them lowered to one level, at which Σ ρ_j(1 − θ_j) is what is allowed."""
    if weights @ (1 - densities) >= allowed:
        return densities
    from scipy.optimize import brentq  # slow to import

    level = brentq(lambda top: weights @ (1 - np.minimum(densities, top)) - allowed, minimum, 1.0)
    lowered: Reals = np.minimum(densities, level)
    return lowered
