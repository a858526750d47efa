"""What everything that decides when the server steps promises."""

import numpy as np
import pytest

from contracts.found import each
from heteroselect import HeteroSelectError, Method
from heteroselect.parts.aggregate import Buffer
from heteroselect.parts.select import Everybody

EACH = each("async_mode", Buffer(10, 20, exponent=2.0, mixes="models"))


@EACH
def test_what_is_fresh_counts_whole_and_what_is_staler_never_more(part):
    assert part.size >= 0
    assert part.concurrency >= 0
    assert part.mixes in ("updates", "models")
    staleness = np.arange(50)
    found = part.discount(staleness)
    assert (found.dtype, found.shape) == (np.float64, staleness.shape)
    assert found[0] == 1
    assert (found > 0).all()
    assert (np.diff(found) <= 0).all()
    assert staleness.tolist() == list(range(50))
    assert part.discount(staleness[[7, 3]]).tolist() == found[[7, 3]].tolist()
    assert part.discount(staleness[:0]).size == 0


@each("async_mode", only=lambda part: part.size)
def test_where_clients_start_one_by_one_nothing_goes_by_whole_cohorts(part):
    with pytest.raises(HeteroSelectError, match=r"method\.async_mode: .*; allowed with it is .*, not select everybody"):
        Method("own", async_mode=part, select=Everybody())
