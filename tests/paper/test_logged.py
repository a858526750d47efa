"""A handful of rounds from the authors' own logs (seed 42), which our rules must give again.

From who was selected, the scores and the bandwidths alone follow every θ_k, the seconds and the megabytes.
"""

import math
from dataclasses import dataclass, replace

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

MNIST, CIFAR10 = 7850, 2_781_514  # parameters of the logistic regression and of AlexNet


@dataclass(frozen=True)
class Logged:
    size: int
    round: int
    tau: float
    rate: float
    theta: float
    beta: float
    selected: list[int]
    scores: list[float]
    mbps: list[float]
    densities: list[float]
    seconds: float
    megabytes: float

    @property
    def moment(self) -> Moment:
        return Moment(self.round, 100)

    def conditions(self) -> Conditions:
        """Those of the cohort."""
        devices = Devices(draw="authors").step_seconds(100, Streams(42))
        uplinks = np.array(self.mbps) * 1e6
        return Conditions(
            up=uplinks,
            down=uplinks,
            step_seconds=devices[self.selected],
            available=np.ones(len(uplinks), bool),
            passes=50,
            size=self.size,
            budget_seconds=time_budget(0.2, self.size, 3e6, 50, 0.3),
        )

    def shared_out(self, allocator: ScoreShare | UniformShare) -> np.ndarray:
        """θ_k of the cohort."""
        ids = np.array(self.selected)
        here = SelectionContext(self.moment, ids, Population.new(np.full(len(ids), 500)), conditions=self.conditions())
        return allocator.allocate(np.array(self.scores), Cohort(ids, np.ones(len(ids))), here).densities


LOGGED = [
    Logged(
        size=MNIST,
        round=1,
        tau=0.995,
        rate=0.04975,
        theta=1.0,
        beta=0.85,
        selected=[36, 94, 73, 59, 15, 5, 86, 69, 1, 96],
        scores=[0.36786, 0.41195, 0.79014, 0.39395, 0.09372, 0.36673, 0.77784, 0.38318, 0.10209, 0.41406],
        mbps=[3.187, 2.642, 2.301, 1.795, 3.057, 3.099, 1.102, 3.493, 1.849, 1.915],
        densities=[0.89689, 1.0, 1.0, 0.96049, 0.2285, 0.89414, 1.0, 0.93424, 0.2489, 1.0],
        seconds=23.695,
        megabytes=0.25632,
    ),
    Logged(
        size=MNIST,
        round=2,
        tau=0.99,
        rate=0.0495,
        theta=0.28,
        beta=0.9364,
        selected=[90, 78, 61, 85, 18, 87, 53, 30, 10, 22],
        scores=[0.90224, 0.7942, 0.52604, 0.57103, 0.95847, 0.93695, 0.84406, 0.87141, 0.67198, 0.56489],
        mbps=[1.949, 4.594, 4.269, 3.195, 2.204, 3.608, 4.747, 1.968, 2.293, 3.011],
        densities=[0.33061, 0.29102, 0.19276, 0.20924, 0.35121, 0.34333, 0.30929, 0.31931, 0.24624, 0.20699],
        seconds=23.879,
        megabytes=0.08792,
    ),
    Logged(
        size=MNIST,
        round=100,
        tau=0.5,
        rate=0.025,
        theta=0.12,
        beta=0.9556,
        selected=[97, 28, 84, 0, 1, 48, 23, 66, 58, 7],
        scores=[0.26963, 0.65711, 0.2353, 0.74069, 0.52651, 0.34207, 0.97784, 1.0, 0.73589, 0.69717],
        mbps=[3.01, 4.389, 4.347, 1.651, 2.552, 1.015, 3.714, 2.268, 1.622, 1.363],
        densities=[0.05234, 0.12755, 0.04567, 0.14377, 0.1022, 0.0664, 0.1898, 0.19411, 0.14284, 0.13533],
        seconds=24.643,
        megabytes=0.03768,
    ),
    Logged(
        size=CIFAR10,
        round=1,
        tau=0.995,
        rate=0.04975,
        theta=1.0,
        beta=0.85,
        selected=[36, 95, 74, 60, 14, 5, 86, 72, 1, 97],
        scores=[0.82089, 0.60717, 0.89113, 0.78414, 0.76861, 0.75085, 0.88991, 0.77644, 0.89824, 0.74564],
        mbps=[3.187, 4.022, 3.918, 1.022, 1.799, 3.099, 1.102, 2.244, 1.849, 1.308],
        densities=[0.74951, 0.76538, 0.92157, 0.24038, 0.42304, 0.72886, 0.2591, 0.52775, 0.43495, 0.30761],
        seconds=45.803,
        megabytes=59.61517,
    ),
    Logged(
        size=CIFAR10,
        round=2,
        tau=0.99,
        rate=0.0495,
        theta=0.28,
        beta=0.9364,
        selected=[92, 79, 62, 85, 18, 88, 52, 89, 28, 10],
        scores=[0.74501, 0.43066, 0.94511, 0.84953, 0.91953, 0.75827, 0.73676, 0.81101, 0.97043, 0.77706],
        mbps=[2.302, 4.594, 4.269, 1.643, 2.989, 3.608, 3.764, 1.897, 1.58, 4.772],
        densities=[0.26261, 0.15181, 0.33315, 0.29946, 0.32413, 0.26729, 0.25971, 0.28588, 0.34207, 0.27391],
        seconds=39.448,
        megabytes=31.15296,
    ),
    Logged(
        size=CIFAR10,
        round=100,
        tau=0.5,
        rate=0.025,
        theta=0.12,
        beta=0.9556,
        selected=[6, 57, 46, 49, 90, 2, 71, 4, 3, 40],
        scores=[1.0, 0.84111, 0.68083, 0.71174, 0.59633, 0.45748, 0.37118, 0.79068, 0.24351, 0.54212],
        mbps=[4.224, 4.08, 3.177, 1.678, 1.876, 3.118, 4.449, 1.162, 1.116, 1.582],
        densities=[0.19246, 0.16188, 0.13103, 0.13698, 0.11477, 0.08805, 0.07144, 0.15218, 0.04687, 0.10434],
        seconds=35.179,
        megabytes=13.35127,
    ),
]

# The uniform ablation of CIFAR-10 drew the same first cohort.
UNIFORM_SECONDS, UNIFORM_MEGABYTES = 110.087, 111.26056

each = pytest.mark.parametrize("log", LOGGED, ids=lambda log: f"{log.size}-{log.round}")


@each
def test_the_schedules(log):
    assert Softmax().tau(log.moment) == pytest.approx(log.tau, abs=1e-5)
    assert SharedRate().eta(log.moment) == pytest.approx(log.rate, abs=1e-6)
    theta = ScoreShare().theta(log.moment)
    assert theta == pytest.approx(log.theta, abs=1e-5)
    assert ErrorMemory().beta(theta) == pytest.approx(log.beta, abs=1e-5)


def charged(densities: np.ndarray, conditions: Conditions) -> tuple[float, float]:
    """Seconds and MB of a round by the paper's rules."""
    ids = np.arange(len(densities))
    sent = Messages(conditions.size, 4 * conditions.size, ids[:0], ids, densities, [])
    return float(Clock("paper").spent(sent, conditions, 50, 0.0).total.max()), sent.bytes().up_paper / 1e6


@each
def test_the_densities_the_seconds_and_the_megabytes(log):
    densities = log.shared_out(ScoreShare(warmup="allocated"))
    # bandwidths are logged to 0.5 kb/s, which a ceiling turns into up to 3·10⁻⁴ of itself
    assert_allclose(densities, log.densities, rtol=3e-4, atol=1e-5)
    seconds, megabytes = charged(densities, log.conditions())
    assert seconds == pytest.approx(log.seconds, rel=3e-4)
    assert megabytes == pytest.approx(log.megabytes, rel=3e-4)


def test_the_uniform_ablation_had_no_ceiling():
    log = next(log for log in LOGGED if (log.size, log.round) == (CIFAR10, 1))
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
    population = population.selected(np.array(LOGGED[0].selected), 1)
    second = means(2)
    # 90 clients at 1, and 10 at −1 and at 0
    assert (second["fairness"], second["staleness"]) == pytest.approx((0.8, 0.9))
