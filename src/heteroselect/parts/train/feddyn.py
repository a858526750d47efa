"""FedDyn: each client's objective is changed so that all of them have the global optimum in common.

Acar, Zhao, Matas, Mattina, Whatmough, Saligrama, "Federated learning based on dynamic regularization", ICLR 2021. The
server follows from the mean of what was sent, so nothing but Δ_k comes up. Left out: the division of α by K·p_k in the
authors' code.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from heteroselect.core.messages import Order
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values
from heteroselect.parts.train.solver import EQUAL, STEPS, Job, Local, ServerContext, Trainable, Trained, shift


@dataclass(frozen=True)
class FedDyn(Local):
    """Takes H steps on F_k(y) − ⟨h_k, y⟩ + α/2·‖y − w‖²; the server steps on by −h/α.

    Use when clients differ and many rounds are to converge to the common optimum. Beware: the server's correction can
    grow without bound where few of many clients take part.
    """

    kind = "feddyn"
    traits = Traits(carries=STEPS, brings={"weigh": {"kind": "uniform"}}, requires=EQUAL, rows=True)

    alpha: float = setting(
        0.01, "strength α of the regularisation, and of the local pull", gt=0, tune=(0.001, 1, "log")
    )
    clip: float = setting(10.0, "norm bound of the corrected gradient; 0 does not clip", ge=0)
    show: Literal["model", "mean"] = setting(
        "mean", "model that is evaluated: w, or the mean of the cohort's models, w + h/α"
    )

    @property
    def proximal(self) -> float:
        """μ of the local objective, which adds to its curvature."""
        return self.alpha

    def run(self, model: Trainable, job: Job) -> Trained:
        from heteroselect.parts.train.descent import descend

        added = [shift("correction", state, model.vector.shape[-1]) for state in job.states]  # −h_k
        return descend(model, job, proximal=self.alpha, clip=self.clip, shift=added)

    def shared(self, state: PartState) -> PartState:
        return {}

    def update_state(self, state: PartState, shared: PartState, sent: Update, order: Order) -> PartState:
        """h_k ← h_k − αΔ_k, with the Δ_k that was sent."""
        return {"correction": -shift("correction", state, sent.size) - np.float32(self.alpha) * sent.dense()}

    def follow(self, state: PartState, aggregate: Values, turn: ServerContext) -> tuple[PartState, Values | None]:
        """h ← h − α(m/K)·Δ̄ and w ← mean(y_k) − h/α, which is −h/α beside the step of Δ̄."""
        correction = state.get("correction", np.zeros_like(aggregate))
        correction = correction - np.float32(self.alpha * turn.used / turn.clients) * aggregate
        step = aggregate - np.float32(1 / self.alpha) * correction
        return {"correction": correction}, step - aggregate

    def shown(self, state: PartState, model: Values) -> Values:
        """w itself, or w + h/α, which is the mean of the models that the last cohort sent."""
        if self.show == "model" or "correction" not in state:
            return model
        behind: Values = np.float32(1 / self.alpha) * state["correction"]
        return model + behind
