"""What a few paired runs can decide: one test per question, corrected for how many are asked, and its power."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import optimize, stats

LEVEL = 0.05
"""The chance, over all claims of a study together, that any true null hypothesis is rejected."""

FEWEST = 3
"""Pairs of runs below which no verdict is given."""


def p_value(differences: Sequence[float], beside: float = 0.0) -> float | None:
    """Return the two-sided p-value of Student's paired t test that the mean difference is `beside`; None for fewer than
    two pairs.

    >>> round(p_value([0.01, 0.02, 0.03]), 3)
    0.074
    """
    if len(differences) < 2:
        return None
    shifted = np.asarray(differences, float) - beside
    if np.ptp(shifted) <= 1e-12 * abs(shifted.mean()):  # equal differences have no spread to be tested against
        return 0.0 if shifted.mean() else 1.0
    return float(stats.ttest_1samp(shifted, 0.0).pvalue)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return p-values adjusted by Holm's step-down rule (Holm 1979), by the same names: where one is below the level,
    its claim is decided although all of them were asked.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def smallest_visible(spread: float, pairs: int, power: float = 0.8, level: float = LEVEL) -> float | None:
    """Return the smallest true difference that a paired t test shows with this power, for differences of this standard
    deviation; None for fewer than three pairs.

    >>> round(smallest_visible(1.0, 5), 2)
    1.68
    """
    if pairs < FEWEST:
        return None
    bound = stats.t.ppf(1 - level / 2, pairs - 1)

    def lacking(shift: float) -> float:
        return float(stats.nct.sf(bound, pairs - 1, shift * np.sqrt(pairs)) - power)

    most = 1.0
    while lacking(most) < 0:
        most *= 1.5  # a far bound would be beyond what the non-central t can be computed for
    return spread * float(optimize.brentq(lacking, 0.0, most))


def pooled(differences: Mapping[str, Mapping[int, float]]) -> list[float]:
    """Return one difference per seed, its mean over conditions (by condition and seed): a question that was asked in
    several worlds is one question, and a seed is one observation of it. Seeds that lack a condition are left out.

    >>> pooled({"psi 0": {42: 1.0, 43: 2.0}, "psi 0.2": {42: 3.0, 43: 4.0, 44: 5.0}})
    [2.0, 3.0]
    """
    seeds = [set(found) for found in differences.values()]
    shared = sorted(set.intersection(*seeds)) if seeds else []
    return [float(np.mean([found[seed] for found in differences.values()])) for seed in shared]
