"""What everything that decides when the server steps promises."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from heteroselect import HeteroSelectError, Method
from heteroselect.core.part import check
from heteroselect.parts.aggregate import Buffer, WaitForAll
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import Everybody


@dataclass(frozen=True)
class Hinge:
    """A user's own: FedAsync's other discount."""

    size: int = 2
    concurrency: int = 0
    mixes: str = "updates"
    knee: int = 4

    def discount(self, staleness):
        return 1 / np.maximum(1.0, 1.0 + 10.0 * (staleness - self.knee))


ALL = [WaitForAll(), Buffer(), Buffer(1, exponent=0.0), Buffer(10, 20, exponent=2.0, mixes="models"), Hinge()]


def test_every_kind_is_here():
    assert {type(part) for part in ALL} >= set(KINDS["async_mode"].values())


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_it_fits_its_role(part):
    check(part)
    method = Method("own", async_mode=part)
    assert method == replace(method)
    assert part.size >= 0
    assert part.concurrency >= 0
    assert part.mixes in ("updates", "models")


@pytest.mark.parametrize("part", ALL, ids=repr)
def test_what_is_fresh_counts_whole_and_what_is_staler_never_more(part):
    staleness = np.arange(50)
    found = part.discount(staleness)
    assert (found.dtype, found.shape) == (np.float64, staleness.shape)
    assert found[0] == 1
    assert (found > 0).all()
    assert (np.diff(found) <= 0).all()
    assert staleness.tolist() == list(range(50))
    assert part.discount(staleness[[7, 3]]).tolist() == found[[7, 3]].tolist()
    assert part.discount(staleness[:0]).size == 0


@pytest.mark.parametrize("part", [one for one in ALL if one.size], ids=repr)
def test_where_clients_start_one_by_one_nothing_goes_by_whole_cohorts(part):
    with pytest.raises(HeteroSelectError, match=r"method\.async_mode: .*; allowed with it is .*, not select everybody"):
        Method("own", async_mode=part, select=Everybody())
