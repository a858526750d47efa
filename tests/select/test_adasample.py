"""AdaSample: the probabilities with the shortest expected time to a loss."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.allocate import Means
from heteroselect.compress.update import Update
from heteroselect.moment import Moment
from heteroselect.population import Population
from heteroselect.select import Situation
from heteroselect.select.adasample import AdaSample, best, estimate, lifted, round_seconds

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
POSITIVE = st.floats(0.05, 20)
DRAWS = 2000


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


def test_clients_alike_are_drawn_alike():
    assert_allclose(best(np.full(4, 2.0), np.full(4, 3.0), 7.0), 0.25)


def test_the_fast_are_drawn_more_and_the_more_so_the_larger_beta():
    pulls, times = np.ones(2), np.array([1.0, 4.0])
    shares = [best(pulls, times, beta)[0] for beta in (0.0, 1.0, 10.0, 100.0)]
    assert shares[0] == pytest.approx(2 / 3)
    assert (np.diff(shares) > 0).all()


def test_the_time_of_a_round_by_enumeration():
    chances, times = np.array([0.5, 0.2, 0.3]), np.array([2.0, 5.0, 1.0])
    by_hand = sum(chances[a] * chances[b] * max(times[a], times[b]) for a in range(3) for b in range(3))
    assert round_seconds(chances, times, 2) == pytest.approx(by_hand)
    assert round_seconds(chances, times, 1) == pytest.approx(chances @ times)


def test_lengths_are_lifted_and_filled():
    # the mean of the known is 2
    assert_allclose(lifted(np.array([0.0, 4.0, math.nan]), 1e-3), [0.002, 4, 2])


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=6), st.floats(0.01, 10))
@RANDOM
def test_the_ratio_is_found_again(clients, ratio):
    weights, norms = np.array(clients).T
    data = weights / weights.sum()
    uniform, by_data = len(data) * (data**2 @ norms**2), data @ norms**2
    if abs(uniform - by_data) > 1e-3 * uniform:
        beta = ratio * uniform
        assert estimate(uniform + beta, by_data + beta, data, norms) == pytest.approx(ratio, rel=1e-6)
    assert estimate(5, 5, data, norms) == 0


def people(norms, sizes=None):
    population = Population.new(np.array(sizes or [10] * len(norms)))
    for client, norm in enumerate(norms):
        if norm is not None:
            population.received(client, Update.whole(np.ones(1, np.float32)))
            population.reported_by(client, {"norm": norm})
    return population


def select(rule, population, bandwidth, size=2, seed=0):
    # nothing to compute, and 32 bits to send
    means = Means(np.array(bandwidth, float), np.zeros(len(bandwidth)), 5, 10.0, 1)
    return rule.select(np.zeros(len(bandwidth)), Situation(size, Moment(2, 9), default_rng(seed), population, means))


def test_the_selector_goes_by_data_length_and_time():
    # t = 1, 4, 1 s; pG = 0.2·3, 0.3·4, 0.5·1 → over √t 0.6, 0.6, 0.5
    population = people([3.0, 4.0, 1.0], [20, 30, 50])
    q = np.array([0.6, 0.6, 0.5]) / 1.7
    for seed in range(5):
        cohort = select(AdaSample(), population, [32, 8, 32], size=1, seed=seed)
        k = cohort.ids[0]
        assert cohort.inclusion[0] == pytest.approx(q[k])
        assert cohort.share[0] == pytest.approx([0.2, 0.3, 0.5][k] / q[k])


def test_until_everybody_is_heard_the_draw_is_uniform_or_by_the_average():
    population = people([3.0, None, 1.0])
    assert_allclose(select(AdaSample(), population, [32, 8, 32], size=1).inclusion, 1 / 3)
    # G = 3, 2, 1 and t = 1, 4, 1
    q = np.array([3, 1, 1]) / 5
    cohort = select(AdaSample(cold="average"), population, [32, 8, 32], size=1)
    assert_allclose(cohort.inclusion, q[cohort.ids])
    assert_allclose(select(AdaSample(cold="average"), people([None] * 3), [32, 8, 32], size=1).inclusion, 1 / 3)
    assert_allclose(select(AdaSample(), people([0.0] * 3), [32, 8, 32], size=1).inclusion, 1 / 3)


def test_the_sum_is_unbiased():
    sizes, x = [10, 30, 20, 40], np.array([1.0, -2.0, 4.0, 0.5])
    population = people([3.0, 0.5, 1.0, 2.0], sizes)
    sums = np.empty(DRAWS)
    for seed in range(DRAWS):
        cohort = select(AdaSample(ratio=0.5), population, [32, 8, 16, 4], seed=seed)
        assert len(set(cohort.ids.tolist())) == len(cohort.ids)
        sums[seed] = cohort.share @ x[cohort.ids]
    assert abs(sums.mean() - x @ np.array(sizes) / 100) <= 4 * sums.std() / math.sqrt(DRAWS)


def test_links_are_needed():
    with pytest.raises(ValueError, match="links"):
        AdaSample().select(np.zeros(2), Situation(1, Moment(1, 9), default_rng(0), people([None, None])))


def test_the_ratio_is_in_units_of_what_uniform_sampling_needs():
    norms, data, times = np.array([3.0, 4.0, 1.0]), np.array([0.2, 0.3, 0.5]), np.array([1.0, 4.0, 1.0])
    pulls = (data * norms) ** 2
    q = best(pulls, times, 0.5 * 3 * pulls.sum())
    cohort = select(AdaSample(ratio=0.5), people(norms.tolist(), [20, 30, 50]), [32, 8, 32], size=1)
    assert_allclose(cohort.inclusion, q[cohort.ids])
    assert not np.allclose(q, best(pulls, times))
