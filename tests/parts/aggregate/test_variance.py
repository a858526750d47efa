"""Weights by how exact each upload is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.cohort import Cohort
from heteroselect.core.population import Population
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.aggregate import ByVariance
from heteroselect.parts.compress import Drive
from heteroselect.round.method import Method


def weigh(part, variances):
    ids = np.arange(len(variances))
    return part.weights(
        np.zeros(len(ids)), Cohort(ids, np.ones(len(ids)), variances=np.array(variances)), Population.new(ids + 1)
    )


def test_by_hand():
    assert_allclose(weigh(ByVariance(), [1.0, 3.0]), [2 / 3, 1 / 3])  # 1/2 and 1/4
    # one bit and a tenth of it: a weight follows the density, 1/(π/(2θ))
    assert_allclose(weigh(ByVariance(), [Drive().variance(1.0), Drive().variance(0.1)]), [10 / 11, 1 / 11])


def test_no_other_weights_have_less_variance():
    rng = np.random.default_rng(1)
    variances = rng.exponential(5.0, 8)
    found = weigh(ByVariance(), variances)
    least = found**2 @ (1 + variances)
    assert least == pytest.approx(1 / (1 / (1 + variances)).sum())
    for other in (np.full(8, 1 / 8), *rng.dirichlet(np.ones(8), 50)):
        assert other**2 @ (1 + variances) > least


def test_what_is_left_of_bias_is_that_links_go_with_data():
    """Half of the clients learn x = 0 and half x = 1, whose mean is 1/2; densities are 0.1 to 0.5, as the links are."""
    rng = np.random.default_rng(2)
    learnt, means = np.arange(10) % 2, {"apart": [], "together": []}
    for _ in range(4000):
        densities = rng.uniform(0.1, 0.5, 10)
        variances = np.pi / (2 * densities) - 1
        means["apart"].append(weigh(ByVariance(), variances) @ learnt)
        slow = np.sort(densities)  # all slow links with the one half of the data
        variances = np.pi / (2 * np.where(learnt == 0, slow[np.arange(10) // 2], slow[5 + np.arange(10) // 2])) - 1
        means["together"].append(weigh(ByVariance(), variances) @ learnt)
    off = {name: np.mean(found) - 0.5 for name, found in means.items()}
    assert abs(off["apart"]) <= 4 * np.std(means["apart"]) / np.sqrt(4000)
    assert off["together"] == pytest.approx(1 / 6, abs=0.02)  # densities of 0.2 and 0.4 in the mean: 2/3 instead of 1/2


def test_a_compressor_without_a_variance_is_refused():
    with pytest.raises(
        HeteroSelectError, match=r"method.weigh: variance is allowed with .* as method.compress.kind=drive"
    ):
        Method("mine", weigh=ByVariance())
    with pytest.raises(ValueError, match="given none"):
        ByVariance().weights(np.zeros(1), Cohort(np.zeros(1, int), np.ones(1)), Population.new(np.ones(1, int)))
