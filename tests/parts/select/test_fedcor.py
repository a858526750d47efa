"""FedCor: whose loss tells most about everybody's."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

import heteroselect
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.select import FedCor, SelectionContext, fedcor
from heteroselect.parts.select.fedcor import fitted, most_telling, unlikeliness_slope


def told(rule, round, losses, state=None, ids=None, size=2, seed=0):
    ids = np.arange(len(losses)) if ids is None else ids
    population = replace(Population.new(np.full(len(ids), 10)), losses=np.array(losses, float))
    context = SelectionContext(Moment(round, 50), ids, population, size, default_rng(seed), state=state or {})
    return rule.select(np.zeros(len(ids)), context)


def test_three_clients_by_hand():
    # 0 and 1 go together and 2 alone: 0 speaks for 1.5, as 1 does; given it, 1 is worth .75/√.75 = .866, and 2 still 1
    covariance = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1.0]])
    assert most_telling(covariance, np.ones(3) / 3, np.ones(3), 3).tolist() == [0, 2, 1]
    # who has more data counts for more: 2 is worth .6 and 0 only .3
    assert most_telling(covariance, np.array([0.2, 0.2, 0.6]), np.ones(3), 1).tolist() == [2]
    # and who was taken before for less: 1.5·.6 < 1
    assert most_telling(covariance, np.ones(3) / 3, np.array([0.6, 0.6, 1]), 1).tolist() == [2]


def test_a_variance_of_nought_is_no_obstacle():
    assert sorted(most_telling(np.zeros((3, 3)), np.ones(3) / 3, np.ones(3), 3).tolist()) == [0, 1, 2]


def test_the_slope_is_that_of_the_likelihood(monkeypatch):
    rng, noise = default_rng(1), 0.3
    monkeypatch.setattr(fedcor, "NOISE", noise)
    x, changes, weights = rng.standard_normal((2, 5)), rng.standard_normal((3, 5)), np.array([0.64, 0.8, 1.0])

    def unlikely(x):
        covariance = x.T @ x + noise**2 * np.eye(5)
        return -weights @ multivariate_normal(np.zeros(5), covariance).logpdf(changes)

    slope = unlikeliness_slope(x, changes, weights)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        assert slope[place] == pytest.approx((unlikely(x + step) - unlikely(x - step)) / 2e-5, rel=1e-4, abs=1e-5)


def test_the_fit_finds_who_goes_together(monkeypatch):
    monkeypatch.setattr(fedcor, "NOISE", 0.1)
    rng = default_rng(2)
    common = rng.standard_normal((40, 2))
    changes = common[:, [0, 0, 0, 1, 1]] + 0.05 * rng.standard_normal((40, 5))
    x = fitted(rng.standard_normal((3, 5)), changes, np.ones(40), 4000)
    found = x.T @ x
    found = found / np.sqrt(np.outer(np.diag(found), np.diag(found)))
    expected = np.corrcoef(changes.T)
    assert_allclose(found, expected, atol=0.15)


def test_rounds_are_random_in_the_warm_up_and_now_and_then_and_asked_before_and_after():
    rule, ids = FedCor(warmup=3, every=4), np.arange(2)
    assert [t for t in range(1, 17) if rule.random(t)] == [1, 2, 3, 7, 11, 15]
    asked = [t for t in range(1, 17) if len(rule.wants(SelectionContext(Moment(t, 20), ids, Population.new(ids + 1))))]
    assert asked == [1, 2, 3, 4, 7, 8, 11, 12, 15, 16]


def test_changes_are_gathered_and_then_decide():
    rule = FedCor(warmup=4, every=9)
    rng, state, losses = default_rng(3), {}, np.full(4, 5.0)
    for t in range(1, 5):
        state = told(rule, t, losses, state).state
        assert len(state["rounds"]) == t - 1
        assert "places" not in state
        group = rng.standard_normal(2)
        losses = losses + group[[0, 0, 0, 1]]
    cohort = told(rule, 5, losses, state)
    assert cohort.state["rounds"].tolist() == [1, 2, 3, 4]
    assert 3 in cohort.ids  # one of the three that are alike, and the one that is not
    assert_allclose(cohort.state["discounts"][cohort.ids], 0.9)
    later = told(rule, 6, np.full(4, np.nan), cohort.state)
    assert later.state["places"].tobytes() == cohort.state["places"].tobytes()
    assert later.state["asked"] == -1
    # a sample needs two rounds running
    assert len(told(rule, 7, losses, later.state).state["rounds"]) == 4


def test_only_the_last_samples_are_kept(monkeypatch):
    monkeypatch.setattr(fedcor, "SAMPLES", 2)
    rule, state = FedCor(), {}
    for t in range(1, 6):
        state = told(rule, t, [1.0 / t, 2.0 / t, 0.5], state).state
    assert state["rounds"].tolist() == [3, 4]
    assert_allclose(state["changes"], [[1 / 4 - 1 / 3, 2 / 4 - 2 / 3, 0], [1 / 5 - 1 / 4, 2 / 5 - 2 / 4, 0]])


def test_clients_come_and_go():
    rule = FedCor(warmup=2, every=2)
    state = told(rule, 1, [3.0, 2.0, 4.0], ids=np.array([2, 5, 7])).state
    state = told(rule, 2, [1.0, 3.0, 9.0], state, ids=np.array([2, 5, 9])).state
    assert state["clients"].tolist() == [2, 5, 7, 9]
    assert state["changes"].tolist() == [[-2, 1, -0.5, -0.5]]  # nothing is known of 7 and 9: the mean
    for t in range(3, 8):
        ids = np.array([5, 7, 9, 11]) if t % 2 else np.array([2, 5])
        cohort = told(rule, t, default_rng(t).random(len(ids)), state, ids=ids)
        assert set(cohort.ids) <= set(ids)
        assert np.isfinite(cohort.state["places"]).all()
        state = cohort.state


def test_the_ledger_charges_for_the_losses_that_it_asks_for():
    settings = {"clients": 8, "selected": 2, "rounds": 5, "method.solver.steps": 2, "method.select.warmup": 2}
    lines = heteroselect.run("mnist", method="fedcor", settings=settings | {"method.select.every": 9}).rounds
    model = lines[0]["bytes_down"] // 2
    assert [line["bytes_scoring"] for line in lines] == [6 * model + 8 * 4] * 3 + [0, 0]
