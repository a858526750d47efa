"""Who was selected and did not answer is not judged by what it sent in an earlier round."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from torch import nn

import heteroselect
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.compress import Update
from heteroselect.parts.select import RBCSF, Oort, Reinforced, SelectionContext, Uniform
from heteroselect.parts.select.delta import participants
from heteroselect.parts.select.fairfedcs import agreeing

# both clients answered in round 1; in round 4 both were selected, and client 1 alone answered
REPORTS = {"rms": 2.0, "loss": 1.0, "seconds": 7.0}
FIRST = {k: {**REPORTS, "round": 1.0} for k in range(2)}
ALONG = Update.whole(np.ones(3, np.float32))
POPULATION = replace(
    Population.new(np.full(2, 5))
    .selected(np.arange(2), 1)
    .reported_by(FIRST)
    .selected(np.arange(2), 4)
    .reported_by({1: {**REPORTS, "round": 4.0}}),
    uploads={0: ALONG, 1: ALONG},
)
LINKS = Conditions(np.full(2, 1e6), np.full(2, 1e6), np.full(2, 0.1), np.ones(2, bool))
HERE = SelectionContext(Moment(5, 9), np.arange(2), POPULATION, 1, default_rng(0), LINKS)


def test_the_round_of_the_last_answer():
    assert POPULATION.last_round.tolist() == [4, 4]
    assert POPULATION.answered.tolist() == [1, 4]
    assert replace(POPULATION, reports={}).answered.tolist() == [4, 4]


def test_oort_counts_the_age_of_a_utility_from_the_answer():
    first, second = Oort().worth(np.full(2, 10.0), POPULATION, HERE.moment, {})
    # both normalise to 1 of 1e-2/1e-2; the bonus is sqrt(0.1·ln 5/L), L = 1 and 4
    assert first - second == pytest.approx(np.sqrt(0.1 * np.log(5)) / 2)
    state = {"duration": np.array(1.0), "step": np.array(1.0), "utility": np.zeros(0)}
    assert Oort().paced(state, np.array([10.0, 30.0]), POPULATION, HERE.moment)["utility"].tolist() == [30.0]


def test_a_bandit_learns_no_time_of_an_earlier_round():
    kept = {"contexts": np.ones((3, 2)), "products": np.zeros((9, 2)), "targets": np.zeros((3, 2))}
    found = RBCSF().updated(kept, np.arange(2), HERE)
    assert found["targets"][0].tolist() == [0.0, 7.0]
    assert not found["contexts"].any(), "nobody waits for ever"


def test_a_policy_is_not_rewarded_for_it():
    state = {
        **{"clients": np.arange(2), "losses": np.full(2, 1.0), "policy": np.zeros(5), "slope": np.ones(5)},
        **{"baseline": np.array(0.0), "seconds": np.array(7.0), "rounds": np.array(1.0)},
    }
    slow = POPULATION.reported_by({0: {"seconds": 700.0}})
    found = Reinforced().updated(replace(HERE, population=slow, state=state))
    assert float(found["seconds"]) == 7.0


def test_its_last_upload_says_nothing_of_this_round():
    assert participants(POPULATION).tolist() == [1]
    assert agreeing(POPULATION, np.arange(2)).tolist() == [False, True]


def test_a_round_notes_who_answered():
    rng = default_rng(0)
    data = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 2, 60)
    changes = {"clients": 6, "selected": 3, "rounds": 7, "data.partition": "iid", "world.faults.missing": 0.5}
    seen = []

    class Watching(Uniform):
        def select(self, scores, context):
            seen.append(context.population)
            return super().select(scores, context)

    method = heteroselect.Method("mine", select=Watching())
    model = nn.Linear(4, 2)
    result = heteroselect.run({}, method=method, model=model, data=data, settings=changes, threads=1)
    answered = np.zeros(6, int)
    for line in result.rounds[:-1]:
        missing = [event["client"] for event in line["events"]]
        answered[[k for k in line["selected"] if k not in missing]] = line["round"]
    assert np.nan_to_num(seen[-1].reported("round")).astype(int).tolist() == answered.tolist()
    assert ((answered > 0) & (answered < seen[-1].last_round)).any(), "somebody did not answer again"
