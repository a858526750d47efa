"""What every rule for the number of local steps promises."""

import numpy as np
import pytest

from contracts.found import each

SECONDS = np.array([0.1, 0.02, 0.3, 0.1, 0.2])
RELABELLED = np.array([3, 1, 4, 0, 2])


@pytest.mark.parametrize("steps", [1, 3, 50])
@each("local_steps")
def test_whole_steps_at_least_one_and_no_more_for_the_slower(part, steps):
    before = SECONDS.copy()
    counts = part.of(steps, SECONDS)
    assert np.issubdtype(counts.dtype, np.integer)
    assert len(counts) == len(SECONDS)
    assert counts.min() >= 1
    assert (np.diff(counts[np.argsort(SECONDS)]) <= 0).all()
    assert (part.of(steps, np.full(4, 0.2)) == steps).all()
    assert (before == SECONDS).all()
    assert (part.of(steps, SECONDS[RELABELLED]) == counts[RELABELLED]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@each("local_steps")
def test_a_speed_that_is_not_finite_is_refused_or_not_looked_at(part, bad):
    if (part.of(5, np.array([0.1, 9.9])) != 5).any():
        with pytest.raises(ValueError, match="not finite"):
            part.of(5, np.array([0.1, bad]))
    else:
        assert part.of(5, np.array([0.1, bad])).tolist() == [5, 5]
