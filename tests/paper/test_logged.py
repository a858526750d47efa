"""A handful of rounds from the authors' own logs (seed 42), which our rules must give again.

From who was selected, the scores and the bandwidths alone follow every θ_k, the seconds and the megabytes.
"""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.parts.allocate import ScoreShare, UniformShare
from heteroselect.parts.compress import ErrorMemory
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import Cohort, SelectionContext, Softmax
from heteroselect.parts.train import SharedRate
from heteroselect.world import Devices
from heteroselect.world.clock import Clock, time_budget
from heteroselect.world.ledger import Messages

LOGS = json.loads((Path(__file__).parent / "logs.json").read_text())
"""Rounds 1, 2 and 100 of each, in the authors' own format."""


@dataclass(frozen=True)
class Logged:
    """A round of a log, with the number of the model's parameters."""

    size: int
    said: dict[str, Any]

    @property
    def moment(self) -> Moment:
        return Moment(self.said["round"], 100)

    def conditions(self) -> Conditions:
        """Those of the cohort."""
        devices = Devices(draw="authors").step_seconds(100, Streams(42))
        uplinks = np.array(self.said["bw_mbps_sel"]) * 1e6
        return Conditions(
            up=uplinks,
            down=uplinks,
            step_seconds=devices[self.said["selected"]],
            available=np.ones(len(uplinks), bool),
            passes=50,
            size=self.size,
            budget_seconds=time_budget(0.2, self.size, 3e6, 50, 0.3),
        )

    def shared_out(self, allocator: ScoreShare | UniformShare) -> np.ndarray:
        """θ_k of the cohort."""
        ids = np.array(self.said["selected"])
        here = SelectionContext(self.moment, ids, Population.new(np.full(len(ids), 500)), conditions=self.conditions())
        return allocator.allocate(np.array(self.said["scores_sel"]), Cohort(ids, np.ones(len(ids))), here).densities


LOGGED = [Logged(log["summary"]["model_params"], said) for log in LOGS.values() for said in log["rounds"]]

# The uniform ablation of CIFAR-10 drew the same first cohort as LOGGED[3].
UNIFORM_SECONDS, UNIFORM_MEGABYTES = 110.087, 111.26056

each = pytest.mark.parametrize("log", LOGGED, ids=lambda log: f"{log.size}-{log.said['round']}")


@each
def test_the_schedules(log):
    assert Softmax().tau(log.moment) == pytest.approx(log.said["tau"], abs=1e-5)
    assert SharedRate().eta(log.moment) == pytest.approx(log.said["lr_base"], abs=1e-6)
    theta = ScoreShare().theta(log.moment)
    assert theta == pytest.approx(log.said["theta_t"], abs=1e-5)
    assert ErrorMemory().beta(theta) == pytest.approx(log.said["beta_t"], abs=1e-5)


def charged(densities: np.ndarray, conditions: Conditions) -> tuple[float, float]:
    """Seconds and MB of a round by the paper's rules."""
    ids = np.arange(len(densities))
    sent = Messages(conditions.size, 4 * conditions.size, ids[:0], ids, densities, [])
    return float(Clock("paper").spent(sent, conditions, 50, 0.0).total.max()), sent.bytes().up_paper / 1e6


@each
def test_the_densities_the_seconds_and_the_megabytes(log):
    densities = log.shared_out(ScoreShare(warmup="allocated"))
    # bandwidths are logged to 0.5 kb/s, which a ceiling turns into up to 3·10⁻⁴ of itself
    assert_allclose(densities, log.said["theta_k"], rtol=3e-4, atol=1e-5)
    seconds, megabytes = charged(densities, log.conditions())
    assert seconds == pytest.approx(log.said["sim_time_s"], rel=3e-4)
    assert megabytes == pytest.approx(log.said["sim_traffic_mb"], rel=3e-4)


def test_the_uniform_ablation_had_no_ceiling():
    log = LOGGED[3]
    schedule = {name: getattr(ScoreShare(), name) for name in ("amplitude", "floor", "warmup_rounds")}
    densities = log.shared_out(UniformShare(ceiling="none", warmup="allocated", **schedule))
    seconds, megabytes = charged(densities, log.conditions())
    assert seconds == pytest.approx(UNIFORM_SECONDS, rel=3e-4)
    assert megabytes == pytest.approx(UNIFORM_MEGABYTES, rel=1e-6)


def test_the_means_of_the_score_parts_in_the_first_two_rounds():
    score = Informativeness(constant=1.0, fairness_start=1.0, raw_staleness=True)
    population = replace(Population.new(np.full(100, 500)), losses=np.linspace(2, 3, 100))

    def means(round: int) -> dict[str, float]:
        here = SelectionContext(Moment(round, 100), np.arange(100), population)
        return {name: part.mean() for name, part in score.score(here).parts.items()}

    first = means(1)
    assert first == pytest.approx({"loss": 0.5, "diversity": 0.5, "fairness": 1, "staleness": 0.34657}, abs=1e-5)
    assert first["staleness"] == pytest.approx(0.5 * math.log(2))
    population = population.selected(np.array(LOGGED[0].said["selected"]), 1)
    second = means(2)
    # 90 clients at 1, and 10 at −1 and at 0
    assert (second["fairness"], second["staleness"]) == pytest.approx((0.8, 0.9))
