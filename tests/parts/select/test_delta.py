"""DELTA: who differs is drawn more often, with a lower weight each time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

import heteroselect
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import SelectionContext
from heteroselect.parts.select.delta import Delta, floored, moved, participants
from heteroselect.round.client import Worker
from heteroselect.runs.experiment import prepare
from heteroselect.settings.config import load

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)


def people(uploads, sizes=None, reports=None, round=1):
    """Clients of whom those with a vector took part in `round`."""
    population = Population.new(np.array(sizes or [10] * len(uploads)))
    last = {k: Update.whole(np.array(v, np.float32)) for k, v in enumerate(uploads) if v is not None}
    population = population.reported_by(reports or {}).selected(np.array(list(last), np.int64), round)
    return replace(population, uploads=last)


def select(population, size=2, state=None, seed=0, rule=Delta(), ids=None):
    ids = np.arange(len(population)) if ids is None else ids
    context = SelectionContext(Moment(2, 10), ids, population, size, default_rng(seed), state=state or {})
    return rule.select(np.zeros(len(population)), context)


def after(*probabilities):
    return {"clients": np.arange(len(probabilities)), "probabilities": np.array(probabilities)}


def test_the_square_root_is_the_best_and_a_uniform_draw_a_sixth_worse():
    costs = np.array([1.0, 4.0, 9.0])
    chances = moved(np.full(3, 1 / 3), np.arange(3), np.sqrt(costs))
    assert_allclose(chances, [1 / 6, 2 / 6, 3 / 6])
    # Σc/p: 36 against 42
    assert (costs * 3).sum() / (costs / chances).sum() == pytest.approx(1.167, abs=5e-4)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=8), st.data())
@RANDOM
def test_only_participants_move_and_their_mass_stays(masses, data):
    chances = np.array(masses) / sum(masses)
    ids = np.array(data.draw(st.lists(st.integers(0, len(masses) - 1), min_size=1, unique=True)))
    spread = np.array(data.draw(st.lists(st.floats(0, 5), min_size=len(ids), max_size=len(ids))))
    found = moved(chances, ids, spread)
    others = np.setdiff1d(np.arange(len(masses)), ids)
    assert_allclose(found[others], chances[others])
    assert_allclose(found[ids].sum(), chances[ids].sum())
    assert_allclose(found.sum(), 1)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(lambda values: sum(values) > 0.1))
@RANDOM
def test_a_floor_holds_and_the_sum_stays(masses):
    chances = np.array(masses) / sum(masses)
    found = floored(chances, 1e-3)
    assert (found >= 1e-3 - 1e-15).all()
    assert_allclose(found.sum(), 1)
    assert_allclose(found, chances, atol=1e-2)


def test_the_first_draw_is_uniform_and_remembered():
    cohort = select(people([None] * 4))
    assert_allclose(cohort.state["probabilities"], 0.25)
    assert_allclose(cohort.inclusion, 1 - 0.75**2)


def test_probabilities_follow_the_distance():
    # distances 3, 1 and 2 from the mean 0 (client 3 took no part and keeps its quarter)
    population = people([[3], [-1], [-2], None])
    cohort = select(population, rule=Delta(floor=0.0))
    assert_allclose(cohort.state["probabilities"], [3 / 8, 1 / 8, 2 / 8, 1 / 4])


def test_noise_counts_where_it_is_reported():
    # 1·9 + 0.5·0, 1·1 + 0.5·30, 1·4 + 0.5·0
    population = people([[3], [-1], [-2]], reports={1: {"variance": 30.0}})
    cohort = select(population, rule=Delta(noise=0.5, floor=0.0))
    assert_allclose(cohort.state["probabilities"], np.array([3, 4, 2]) / 9)


def test_only_the_last_round_moves():
    population = people([[3], [-1], [-2], None])
    population = population.selected(np.array([0, 2]), 5)
    # of ½ between 0 and 2, at 3 and −2 around 0.5, each 2.5 away; so they stay
    cohort = select(population, state=after(0.4, 0.3, 0.1, 0.2), rule=Delta(floor=0.0))
    assert_allclose(cohort.state["probabilities"], [0.25, 0.3, 0.25, 0.2])


def test_a_cohort_is_distinct_and_a_client_drawn_twice_counts_twice():
    cohort = select(people([None] * 4), size=3, state=after(0.97, 0.01, 0.01, 0.01))
    assert len(set(cohort.ids.tolist())) == len(cohort.ids)
    place = cohort.ids.tolist().index(0)
    assert round(cohort.share[place] * 3 * 0.97 / 0.25) in (2, 3)


def test_a_client_that_is_away_keeps_its_probability_and_the_others_share_the_rest():
    # clients 0, 2 and 5, of whom 2 is new and counts as a third: 0.6 : 1/3 : 0.1 of 1.0333…
    state = {"clients": np.array([0, 3, 5]), "probabilities": np.array([0.6, 0.3, 0.1])}
    cohort = select(people([None] * 3), state=state, ids=np.array([0, 2, 5]))
    assert set(cohort.ids.tolist()) <= {0, 2, 5}
    assert cohort.state["clients"].tolist() == [0, 2, 3, 5]
    share = 0.7 / (0.6 + 1 / 3 + 0.1)
    assert_allclose(cohort.state["probabilities"], [0.6 * share, share / 3, 0.3, 0.1 * share])


def test_a_participant_whose_update_was_lost_does_not_move():
    population = people([[3], [-3], None]).selected(np.array([2]), 1)
    assert participants(population).tolist() == [0, 1]
    assert_allclose(select(population, rule=Delta(floor=0.0)).state["probabilities"], 1 / 3)


def test_the_part_of_the_data_belongs_to_the_probability():
    """p ∝ w·‖g − mean‖ as the authors' code has it: equal distances, and three times the data is drawn three times as
    often, so that every draw counts the same."""
    cohort = select(people([[1], [-1]], sizes=[30, 10]), size=40, rule=Delta(floor=0.0))
    assert_allclose(cohort.state["probabilities"], [0.75, 0.25])
    drawn = cohort.share * 40  # of 40 draws, each stands for w/(40·p) = 1/40
    assert_allclose(drawn, drawn.round())
    assert drawn.sum() == pytest.approx(40)
    # distances 3, 1 and 2, sizes 10, 20 and 30: 30, 20 and 60 of 110
    cohort = select(people([[3], [-1], [-2]], sizes=[10, 20, 30]), rule=Delta(floor=0.0))
    assert_allclose(cohort.state["probabilities"], np.array([30, 20, 60]) / 110)


def test_clients_report_the_variance_of_their_batches_and_the_ledger_charges_for_it():
    """Four bytes per client and round; one by one or together, in one thread or two, to the same bits."""
    few = {"clients": 8, "selected": 3, "rounds": 4, "method.solver.steps": 4, "method.select.noise": 50.0}
    plain = heteroselect.run("mnist", method="delta", settings=few)
    noisy = [
        heteroselect.run("mnist", method="delta", settings=few | {"method.select.variance": True}, threads=threads)
        for threads in (1, 2)
    ]
    assert noisy[0].model_sha256 == noisy[1].model_sha256 != plain.model_sha256
    assert [line["bytes_scoring"] for line in noisy[0].rounds] == [
        4 * len(line["selected"]) for line in noisy[0].rounds
    ]
    assert not any(line["bytes_scoring"] for line in plain.rounds)


def test_what_is_reported_is_in_the_units_of_an_update():
    """Twice the rate makes an update twice as long, and its variance four times as large."""
    found = []
    for rate in (1e-4, 2e-4):
        experiment = prepare(load("mnist", method="delta", changes={"clients": 20, "method.select.variance": True}))
        client, model = experiment.clients()[0], FlatModel(experiment.module)
        order = Order(0, 1, rate, 1.0, 1.0, 5, False, False)
        upload, _ = Worker(client, model, experiment.task, experiment.method).train(order, {})
        found.append((upload.report["norm"], upload.report["variance"]))
    (short, small), (long, large) = found
    assert (long / short, large / small) == pytest.approx((2, 4), rel=1e-2)
