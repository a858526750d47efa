"""What every rule for the local learning rate promises."""

import numpy as np
import pytest

from contracts.found import each
from heteroselect.core.moment import Moment
from heteroselect.core.traits import traits_of
from heteroselect.parts.train import CosineRate

MOMENTS = [Moment(1, 10), Moment(7, 10, 33.0), Moment(30, 10, 500.0)]
SCORES = np.array([0.4, 0.0, 1.0, 0.4, 0.9])
RELABELLED = np.array([3, 1, 4, 0, 2])


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@each("lr", CosineRate(0.2, 60.0, 5.0, 0.0))
def test_one_rate_per_client_finite_and_not_negative(part, moment):
    before = SCORES.copy()
    rates = part.of_clients(moment, SCORES)
    assert len(rates) == len(SCORES)
    assert all(type(one) is float and np.isfinite(one) and one >= 0 for one in [*rates, part.eta(moment)])
    assert rates == part.of_clients(moment, SCORES)
    assert (before == SCORES).all()
    assert part.of_clients(moment, SCORES[:0]) == []
    assert part.of_clients(moment, SCORES[RELABELLED]) == [rates[place] for place in RELABELLED]


@each("lr")
def test_a_rate_that_needs_scores_refuses_what_is_not_finite_and_any_other_does_not_look(part):
    if "scores" not in traits_of(part).needs:
        assert part.of_clients(MOMENTS[0], np.full(5, np.nan)) == part.of_clients(MOMENTS[0], SCORES)
        return
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            part.of_clients(MOMENTS[0], np.array([0.5, bad]))
