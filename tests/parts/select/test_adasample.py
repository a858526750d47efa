"""AdaSample: the probabilities with the shortest expected time to a loss."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import SelectionContext
from heteroselect.parts.select.adasample import AdaSample, best, lifted

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
POSITIVE = st.floats(0.05, 20)


def value(q, pulls, times, beta):
    return (q @ times) * ((pulls / q).sum() + beta)


def test_without_beta_the_closed_form_by_hand():
    # √(a/t) = 1, ½, 3/2 over 3, and the value is (Σ√(a·t))² = (1 + 8 + 6)²
    pulls, times = np.array([1.0, 4.0, 9.0]), np.array([1.0, 16.0, 4.0])
    assert_allclose(best(pulls, times), np.array([1, 0.5, 1.5]) / 3)
    assert value(best(pulls, times), pulls, times, 0) == pytest.approx(15**2)


@pytest.mark.parametrize("beta", [0.0, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_line_search_finds_the_full_optimum(beta, seed):
    rng = default_rng(seed)
    pulls, times = rng.exponential(size=5) + 0.05, rng.uniform(1, 5, 5)

    def of(z):
        q = np.exp(z - z.max())
        return value(q / q.sum(), pulls, times, beta)

    found = min(minimize(of, rng.standard_normal(5), tol=1e-12).fun for _ in range(5))
    ours = value(best(pulls, times, beta), pulls, times, beta)
    assert ours == pytest.approx(found, rel=1e-7)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=8), st.sampled_from([0.0, 0.1, 10.0, 1e4]))
@RANDOM
def test_q_is_a_distribution_that_no_small_change_improves(clients, beta):
    pulls, times = np.array(clients).T
    q = best(pulls, times, beta)
    assert (q > 0).all()
    assert_allclose(q.sum(), 1)
    reached = value(q, pulls, times, beta)
    for k in range(len(q)):
        for factor in (0.99, 1.01):
            other = q.copy()
            other[k] *= factor
            assert value(other / other.sum(), pulls, times, beta) >= reached * (1 - 1e-9)


def test_the_fast_are_drawn_more_and_the_more_so_the_larger_beta():
    pulls, times = np.ones(2), np.array([1.0, 4.0])
    shares = [best(pulls, times, beta)[0] for beta in (0.0, 1.0, 10.0, 100.0)]
    assert shares[0] == pytest.approx(2 / 3)
    assert (np.diff(shares) > 0).all()


def test_lengths_are_lifted_and_filled():
    # the mean of the known is 2
    assert_allclose(lifted(np.array([0.0, 4.0, math.nan])), [0.002, 4, 2])


def people(norms, sizes=None):
    reports = {client: {"norm": norm} for client, norm in enumerate(norms) if norm is not None}
    return Population.new(np.array(sizes or [10] * len(norms))).reported_by(reports)


def select(rule, population, bandwidth, size=2, seed=0):
    # nothing to compute, and 32 bits to send
    clients, up = len(bandwidth), np.array(bandwidth, float)
    links = Conditions(up, up, np.zeros(clients), np.ones(clients, bool), passes=5.0, size=1)
    context = SelectionContext(Moment(2, 9), np.arange(clients), population, size, default_rng(seed), links)
    return rule.select(np.zeros(clients), context)


def test_the_selector_goes_by_data_length_and_time():
    # t = 1, 4, 1 s; pG = 0.2·3, 0.3·4, 0.5·1 → over √t 0.6, 0.6, 0.5
    population = people([3.0, 4.0, 1.0], [20, 30, 50])
    q = np.array([0.6, 0.6, 0.5]) / 1.7
    for seed in range(5):
        cohort = select(AdaSample(), population, [32, 8, 32], size=1, seed=seed)
        k = cohort.ids[0]
        assert cohort.inclusion[0] == pytest.approx(q[k])
        assert cohort.share[0] == pytest.approx([0.2, 0.3, 0.5][k] / q[k])


def test_until_everybody_has_reported_it_goes_by_the_average_and_without_a_report_the_draw_is_uniform():
    population = people([3.0, None, 1.0])
    # G = 3, 2, 1 and t = 1, 4, 1
    q = np.array([3, 1, 1]) / 5
    cohort = select(AdaSample(), population, [32, 8, 32], size=1)
    assert_allclose(cohort.inclusion, q[cohort.ids])
    assert_allclose(select(AdaSample(), people([None] * 3), [32, 8, 32], size=1).inclusion, 1 / 3)
    assert_allclose(select(AdaSample(), people([0.0] * 3), [32, 8, 32], size=1).inclusion, 1 / 3)


def test_the_ratio_is_in_units_of_what_uniform_sampling_needs():
    norms, data, times = np.array([3.0, 4.0, 1.0]), np.array([0.2, 0.3, 0.5]), np.array([1.0, 4.0, 1.0])
    pulls = (data * norms) ** 2
    q = best(pulls, times, 0.5 * 3 * pulls.sum())
    cohort = select(AdaSample(ratio=0.5), people(norms.tolist(), [20, 30, 50]), [32, 8, 32], size=1)
    assert_allclose(cohort.inclusion, q[cohort.ids])
    assert not np.allclose(q, best(pulls, times))
