"""What every second selection promises: senders among those who trained, by a chance that their share makes up for."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from contracts.found import bits, each
from heteroselect.core.cohort import checked
from heteroselect.parts.select import SendAll

EACH = each("second_selection", only=lambda part: not isinstance(part, SendAll))  # after which nothing is chosen
IDS = np.array([1, 2, 4, 5, 9, 12, 13, 20, 21, 30])
DRAWS = 1500


@EACH
@pytest.mark.slow
def test_it_is_reproducible_unbiased_and_of_the_size_that_is_asked_for_on_average(part):
    rng = default_rng(6)
    norms, data, x = rng.exponential(size=len(IDS)), rng.dirichlet(np.ones(len(IDS))), rng.standard_normal(31)
    before, sums, counts = bits([norms, data]), np.empty(DRAWS), np.empty(DRAWS)
    for seed in range(DRAWS):
        cohort, again = (part.choose(IDS, norms, data, 4, default_rng(seed)) for _ in range(2))
        assert bits(cohort) == bits(again)
        if len(cohort.ids):
            checked(cohort, IDS)
        sums[seed], counts[seed] = cohort.share @ x[cohort.ids], len(cohort.ids)
    assert bits([norms, data]) == before
    assert abs(sums.mean() - data @ x[IDS]) <= 4 * sums.std() / math.sqrt(DRAWS)
    assert abs(counts.mean() - 4) <= 4 * counts.std() / math.sqrt(DRAWS)


@EACH
@pytest.mark.parametrize("length", [math.nan, math.inf, -1.0])
def test_a_length_that_is_none_is_refused(part, length):
    with pytest.raises(ValueError, match="length"):
        part.choose(IDS, np.full(len(IDS), length), np.full(len(IDS), 0.1), 4, default_rng(0))
