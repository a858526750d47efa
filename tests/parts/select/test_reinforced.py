"""A policy that learns whom to draw."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import Reinforced, SelectionContext
from heteroselect.parts.select.draws import gumbel_top
from heteroselect.parts.select.reinforced import described, likelihood_slope, reinforced


def log_likelihood(logits, order):
    total, left = 0.0, list(range(len(logits)))
    for place in order:
        total += logits[place] - np.log(np.exp(logits[left]).sum())
        left.remove(place)
    return total


def test_the_slope_is_that_of_the_likelihood():
    rng = default_rng(1)
    features, policy, order = rng.standard_normal((6, 3)), rng.standard_normal(3), np.array([4, 0, 2])
    slope = likelihood_slope(features, features @ policy, order)
    for place in range(3):
        step = 1e-6 * np.eye(3)[place]
        up, down = (log_likelihood(features @ (policy + sign * step), order) for sign in (1, -1))
        assert slope[place] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)


def test_on_a_bandit_it_learns_who_pays():
    rng, features = default_rng(2), np.eye(4)
    state = {"policy": np.zeros(4)}
    for _ in range(600):
        logits = features @ state["policy"]
        place = gumbel_top(logits, 1, rng).places
        state["slope"] = likelihood_slope(features, logits, place)
        state |= reinforced(state, float(place[0] == 0), 0.5)
    chances = np.exp(state["policy"]) / np.exp(state["policy"]).sum()
    assert chances[0] > 0.9


def situation(round, state=None, **known):
    links = Conditions(np.full(4, 64.0), np.ones(4), np.array([1.0, 1, 2, 4]), np.ones(4, bool), passes=1.0, size=2)
    reports = {name: np.array(known.pop(name)) for name in ("loss", "seconds") if name in known}
    population = replace(Population.new(np.array([5, 5, 5, 9])), reports=reports, **known)
    return SelectionContext(Moment(round, 9), np.arange(4), population, 2, default_rng(0), links, state or {})


def test_features_are_standardised_and_nought_where_nothing_is_known():
    features = described(situation(3, loss=[1.0, np.nan, 3.0, np.nan]))
    assert_allclose(features[:, 0], [-1, 0, 1, 0])
    assert_allclose(features[:, 1:3], 0)  # nobody has taken part
    assert_allclose(features[:, 3].mean(), 0, atol=1e-12)
    assert_allclose(features[:, 3].std(), 1)
    assert_allclose(features[3, 4], np.sqrt(3))


def test_at_first_it_is_uniform_and_a_better_round_makes_its_draw_likelier():
    rule = Reinforced(slowness=0.5, rate=0.1)
    first = rule.select(np.zeros(4), situation(1))
    assert not first.state["policy"].any()
    state = {**first.state, "slope": np.ones(5), "losses": np.array([2.0, 0, 0, 0])}
    last, counts = np.array([1, 1, 0, 0]), np.array([1, 1, 0, 0])
    told = situation(
        2, state, loss=[1.0, 3.0, np.nan, np.nan], seconds=[4.0, 6.0, 9.0, np.nan], last_round=last, counts=counts
    )
    second = rule.select(np.zeros(4), told).state
    # of client 1 nothing was known before: ln(2/1); 6 s is the slowest, and so far the mean
    assert second["baseline"] == pytest.approx(np.log(2) - 0.5)
    assert not second["policy"].any()  # the first reward is the baseline
    assert second["losses"].tolist() == [1, 3, 0, 0]
    known = {"loss": [1.0, 1.0, np.nan, np.nan], "seconds": [4.0, 3.0, 9.0, np.nan], "counts": counts}
    told = situation(3, {**second, "slope": np.ones(5)}, last_round=np.array([1, 2, 0, 0]), **known)
    third = rule.select(np.zeros(4), told).state
    reward = np.log(3) - 0.5 * 3 / 4.5
    assert_allclose(third["policy"], 0.1 * (reward - (np.log(2) - 0.5)))
    assert third["seconds"] == pytest.approx(4.5)


def test_without_an_answer_nothing_is_learnt():
    state = {
        "policy": np.ones(5),
        "slope": np.ones(5),
        "baseline": np.array(1.0),
        "clients": np.arange(4),
        "losses": np.zeros(4),
    }
    assert Reinforced().select(np.zeros(4), situation(4, state)).state["policy"].tolist() == [1] * 5
