"""Which model is evaluated and saved: the server's last one, or an average of its last ones.

Clients go on from the model itself, so that an average changes nothing of the training and costs no byte. (A model with
batch-norm statistics is the exception: those of the average are measured at clients too, and charged.)
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.update import Values

RAMP = 10.0  # while s models are fewer than it allows, an exponential average keeps s/(s + RAMP)


@dataclass(frozen=True)
class NoAverage:
    """Shows the model itself.

    Use when rounds are to be judged as they come. Beware: single rounds vary more than an average of them.
    """

    kind = "none"

    def add(self, state: PartState, model: Values, moment: Moment) -> PartState:
        return {}

    def mean(self, state: PartState, model: Values) -> Values:
        return model


@dataclass(frozen=True)
class ExponentialAverage:
    """Shows a running average: a ← k·a + (1 − k)·w with k = min(`keep`, s/(s + 10)) after s earlier models: the first
    model is the average of itself, so that nothing is biased towards a start, and the memory is a tenth of the rounds
    so far until it has reached 1/(1 − `keep`) rounds.

    Before `keep` is reached this is polynomial-decay averaging with η = 9 (Shamir, Zhang, "Stochastic gradient descent
    for non-smooth optimization: convergence results and optimal averaging schemes", ICML 2013).

    Use when single models vary from round to round. Beware: a long memory lags behind a model that still improves fast.
    """

    kind = "exponential"

    keep: float = setting(0.9, "highest share of itself that the average keeps each round", ge=0, lt=1)

    def add(self, state: PartState, model: Values, moment: Moment) -> PartState:
        before = int(state["models"][0]) if state else 0
        keep = min(self.keep, before / (before + RAMP))
        mean = np.float32(keep) * state["mean"] + np.float32(1 - keep) * model if before else model.copy()
        return {"mean": mean, "models": np.array([before + 1])}

    def mean(self, state: PartState, model: Values) -> Values:
        return state.get("mean", model)


@dataclass(frozen=True)
class TailAverage:
    """Shows the plain mean of the models of the last rounds of the horizon, and before these the model itself (suffix
    averaging: Rakhlin, Shamir, Sridharan, "Making gradient descent optimal for strongly convex stochastic
    optimization", ICML 2012).

    Use when the horizon is known and the end counts. Beware: it changes nothing before the tail begins.
    """

    kind = "tail"

    share: float = setting(0.25, "share of the rounds, the last ones, of which the models are averaged", gt=0, le=1)

    def add(self, state: PartState, model: Values, moment: Moment) -> PartState:
        if moment.round <= moment.rounds - max(1, round(self.share * moment.rounds)):
            return {}
        count = int(state["models"][0]) + 1 if state else 1
        mean = state["mean"] + np.float32(1 / count) * (model - state["mean"]) if state else model.copy()
        return {"mean": mean, "models": np.array([count])}

    def mean(self, state: PartState, model: Values) -> Values:
        return state.get("mean", model)
