"""The study of the theorems: its arithmetic on cases worked out by hand, and that a look at a run changes nothing."""

import json
import math
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

import heteroselect
from heteroselect.parts.allocate.density import proportional
from heteroselect.parts.select import Cohort
from scripts import script

ROOT = Path(__file__).resolve().parents[1]
RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


theory = script("studies/theory.py")
SCORES = np.array([0, 1 / 3, 2 / 3, 1])


def test_heterogeneity_is_the_squared_distance_from_the_mean():
    gradients = np.array([[0.0, 0], [2, 0], [1, 3]])  # the mean is (1, 1)
    assert theory.heterogeneity(gradients).tolist() == [2, 2, 4]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_inclusion_is_that_of_drawing_one_after_the_other(size):
    logits = SCORES / 0.5
    p = np.exp(logits) / np.exp(logits).sum()
    exact = np.zeros(4)
    for ids in permutations(range(4), size):
        left = np.cumsum([0, *p[list(ids)]])[:-1]
        exact[list(ids)] += math.prod(p[list(ids)] / (1 - left))
    assert_allclose(theory.inclusion(logits, size), exact, atol=1e-9)


def test_inclusion_of_a_hundred_clients_adds_up_and_keeps_the_order():
    scores = np.sort(default_rng(1).random(100))
    found = theory.inclusion(scores / 0.5, 10)
    assert found.sum() == pytest.approx(10)
    assert (np.diff(found) > 0).all()
    assert_allclose(theory.inclusion(np.zeros(100), 10), 0.1)


def test_rank_correlation_goes_by_order_alone():
    rising = np.array([1.0, 2, 3, 4])
    assert theory.rank_correlation(rising, np.exp(rising)) == pytest.approx(1)
    assert theory.rank_correlation(rising, -(rising**3)) == pytest.approx(-1)
    assert theory.rank_correlation(rising, np.array([2.0, 1, 4, 3])) == pytest.approx(0.6)  # 1 − 6·4/(4·15)
    assert theory.rank_correlation(rising, np.ones(4)) is None


def test_what_is_unsent_are_the_smallest_coordinates():
    v = np.array([3.0, -1, 2, -4])
    assert [theory.unsent(v, kept) for kept in range(5)] == [30, 14, 5, 1, 0]


def square_law(a: float, size: int) -> np.ndarray:
    """A vector whose error is a(1 − θ)²: its coordinates' squares are the differences of that."""
    return np.sqrt(-np.diff(a * (1 - np.arange(size + 1) / size) ** 2))


def test_proportional_shares_lose_where_theorem_2_says_they_win():
    # E_k = a_k(1 − θ)², a = (1, 1.01), S = (0, 1), θ_t = 0.2
    vectors = np.stack([square_law(1.0, 100), square_law(1.01, 100)])
    assert theory.unsent(vectors[0], 20) == pytest.approx(0.64)
    by_score = theory.shared_error(vectors, proportional(np.array([0.0, 1]), 0.2), 40)
    uniform = theory.shared_error(vectors, np.ones(2), 40)
    assert by_score == pytest.approx(1 + 1.01 * 0.6**2)  # 1.3636
    assert uniform == pytest.approx(2.01 * 0.8**2)  # 1.2864
    # the best shares are .196 and .204, between the coordinates of a hundred
    best = theory.common_threshold_error(vectors, 40)
    assert 1.6**2 * 1.01 / 2.01 <= best <= uniform


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0, 1))
@RANDOM
def test_one_threshold_for_all_is_never_worse(seed, clients, theta):
    rng, size = default_rng(seed), 30
    vectors = rng.standard_normal((clients, size)) * rng.exponential(size=(clients, 1))
    total = round(theta * clients * size)
    best = theory.common_threshold_error(vectors, total) * (1 - 1e-12) - 1e-12
    assert best <= theory.shared_error(vectors, np.ones(clients), total)
    assert best <= theory.shared_error(vectors, rng.random(clients), total)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).map(np.array), st.floats(0, 1))
@RANDOM
def test_every_way_to_share_spends_the_same(densities, theta):
    size = 25
    total = round(theta * len(densities) * size)
    # all coordinates are 1: what is unsent counts those that were not kept
    assert theory.shared_error(np.ones((len(densities), size)), densities, total) == len(densities) * size - total


def test_the_gain_is_that_of_the_next_coordinate():
    v = np.array([[4.0, 3, 2, 1], [1, 1, 5, 1]])
    assert theory.gains(v, 0.25).tolist() == [9, 1]
    assert theory.gains(v, 0.0).tolist() == [16, 25]


def all_draws(clients: int, size: int) -> list[Cohort]:
    return [Cohort(np.array(ids), np.ones(size)) for ids in combinations(range(clients), size)]


def test_a_uniform_draw_has_no_bias_and_the_textbook_variance():
    gradients = default_rng(2).standard_normal((5, 3))
    draws = all_draws(5, 2) * 1000
    found = theory.estimate(theory.weight_rows(draws, 5, lambda c: np.full(2, 0.5)), gradients @ gradients.T)
    # B²/M·(K − M)/(K − 1): without replacement
    assert found.variance == pytest.approx(theory.heterogeneity(gradients).mean() / 2 * 3 / 4, rel=1e-3)
    assert found.bias2 == pytest.approx(0, abs=1e-3)
    assert found.error == pytest.approx(found.bias2 + found.variance)


def test_an_estimate_by_hand():
    # gradients 0 and 4, whose mean is 2; the second is drawn three times of four
    draws = [Cohort(np.array([k]), np.ones(1)) for k in (0, 1, 1, 1)] * 1000
    inner = np.array([[0.0, 0], [0, 16]])
    plain = theory.estimate(theory.weight_rows(draws, 2, lambda c: np.ones(1)), inner)
    assert (plain.error, plain.standard_error) == (4, 0)
    assert plain.bias2 == pytest.approx(1, abs=2e-3)  # the mean is 3
    assert plain.variance == pytest.approx(3, abs=2e-3)
    pi = np.array([0.25, 0.75])
    inverse = theory.estimate(theory.weight_rows(draws, 2, lambda c: 1 / (2 * pi[c.ids])), inner)
    assert inverse.bias2 == pytest.approx(0, abs=2e-3)
    assert inverse.error == pytest.approx((4 + 3 * (8 / 3 - 2) ** 2) / 4)


def test_the_spread_over_seeds_leaves_out_what_was_not_measured():
    found = theory.over_seeds([{"a": [None, 1.0, 2.0]}, {"a": [None, 3.0, 6.0]}])["a"]
    assert found["mean"] == 3  # of 1.5 and 4.5
    assert found["deviation"] == pytest.approx(math.sqrt(4.5))
    assert found["by_round"] == [None, [2, pytest.approx(math.sqrt(2))], [4, pytest.approx(math.sqrt(8))]]


@pytest.mark.slow
def test_looking_at_a_run_does_not_change_it():
    small = {"clients": 20, "selected": 4, "rounds": 4, "method.solver.steps": 5}
    columns, result = theory.look_at(7, (1, 2, 4), 50, small)
    assert result.model_sha256 == heteroselect.run("mnist", seed=7, settings=small).model_sha256
    assert {len(column) for column in columns.values()} == {3}
    assert columns["compression.common"][0] is None  # the warm-up sends everything
    assert all(ratio <= 1 for ratio in columns["compression.common"][1:])
    assert columns["selection.rank.diversity"][0] is None
    assert columns["selection.rank.score"][0] == columns["selection.rank.loss"][0]


def test_the_file_is_whole_and_its_means_are_those_of_its_runs():
    path = ROOT / "studies" / "theory.json"
    study = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 60_000
    assert study["rounds"] == list(theory.ROUNDS)
    assert list(study["runs"]) == [str(seed) for seed in theory.SEEDS]
    runs = [run["measured"] for run in study["runs"].values()]
    for name, spread in theory.over_seeds(runs).items():
        assert study["over_seeds"][name]["mean"] == pytest.approx(spread["mean"], rel=1e-3, abs=1e-4), name
