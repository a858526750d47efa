"""SCAFFOLD: control variates take the drift out of the local steps.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh, "SCAFFOLD: Stochastic controlled averaging for federated learning",
ICML 2020 (option II). The server's vector c goes down with the model. The clients' c_k need not come up: the server can
compute their change from what was sent, so Σc_k = K·c holds whatever compression did to Δ_k. Left out: option I, and
the global step η_g, which is the server's `rate`.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.core.messages import Order
from heteroselect.core.part import setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Update, Values
from heteroselect.parts.train.reach import reach
from heteroselect.parts.train.solver import EQUAL, STEPS, Job, Local, ServerContext, Trainable, Trained, shift


@dataclass(frozen=True)
class Scaffold(Local):
    """Corrects drift: c − c_k is added to every gradient. Plain SGD by default: with a momentum, a pull or a clip
    −Δ/(Hη) is no mean gradient. Momentum and pull are made up for by counting how far the steps reach; a clip is
    not.

    Use when clients come back often and their data differ. Beware: it needs state at every client, equal weights and
    equal steps; rare participants have stale corrections.
    """

    kind: ClassVar[str] = "scaffold"
    traits = Traits(carries=STEPS, brings={"weigh": {"kind": "uniform"}}, requires=EQUAL, rows=True)

    momentum: float = setting(0.0, "momentum of the local SGD, which starts anew each round", ge=0, lt=1)
    proximal: float = setting(0.0, "μ, the pull to the global model", ge=0)
    clip: float = setting(0.0, "norm bound of the corrected gradient; 0 does not clip", ge=0)

    def run(self, model: Trainable, job: Job) -> Trained:
        """y ← y − η(g_k(y) − c_k + c), H times."""
        from heteroselect.parts.train.descent import descend

        added = [shift("control", state, model.vector.shape[-1], job.shared) for state in job.states]
        return descend(model, job, momentum=self.momentum, proximal=self.proximal, clip=self.clip, shift=added)

    def shared(self, state: PartState) -> PartState:
        return {"control": state["control"]} if "control" in state else {}

    def update_state(self, state: PartState, shared: PartState, sent: Update, order: Order) -> PartState:
        """c_k ← c_k − c − Δ_k/(Hη), with the Δ_k that was sent."""
        factor = self._factor(order.steps, order.rate)
        return {"control": -shift("control", state, sent.size, shared) - factor * sent.dense()}

    def follow(self, state: PartState, aggregate: Values, turn: ServerContext) -> tuple[PartState, Values | None]:
        """c ← c + (m/K)·mean(c_k⁺ − c_k), in which c_k⁺ − c_k = −c − Δ_k/(Hη); `aggregate` is the plain mean of Δ_k."""
        control = state.get("control", np.zeros_like(aggregate))
        change = -control - self._factor(turn.steps, turn.rate) * aggregate
        return {"control": control + np.float32(turn.used / turn.clients) * change}, None

    def _factor(self, steps: int, rate: float) -> np.float32:
        """1/(Hη): −Δ times it is the mean gradient."""
        return np.float32(1 / (reach(steps, self.momentum, rate * self.proximal) * rate))
