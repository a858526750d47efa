"""Corrections of client drift: SCAFFOLD and FedDyn, as formulas.

Karimireddy et al., "SCAFFOLD: Stochastic controlled averaging for federated learning", ICML 2020 (option II);
Acar et al., "Federated learning based on dynamic regularization", ICLR 2021.

Both add a vector to every local gradient: c − c_k in SCAFFOLD, −h_k in FedDyn (which trains with the proximal term
α/2·‖y − w‖² besides). Both settle on a new vector of their own from what was sent: c_k ← c_k − c − Δ_k/(Hη) and
h_k ← h_k − αΔ_k are both −shift − factor·Δ_k. The server can follow from the mean of what was sent, so nothing else
goes over the air, and Σc_k = K·c holds whatever compression did to Δ_k.
"""

from dataclasses import dataclass

import numpy as np

from heteroselect.aggregate.normalised import reach
from heteroselect.compress.memory import Kept
from heteroselect.compress.update import Update, Values
from heteroselect.messages import Order
from heteroselect.train.fedprox import FedProx


@dataclass(frozen=True)
class Turn:
    """What the server knows of a round when it moves its own vectors: the rate and the steps it ordered, how many
    clients it heard, and of how many."""

    rate: float
    steps: int
    heard: int
    clients: int


@dataclass(frozen=True)
class NoDrift:
    """Local gradients as they are."""

    def shared(self, state: Kept) -> Kept:
        return {}

    def shift(self, kept: Kept, shared: Kept, like: Values) -> Values | None:
        return None

    def settle(self, added: Values, sent: Update, order: Order, solver: FedProx) -> Kept:
        return {}

    def follow(self, state: Kept, aggregate: Values, turn: Turn, solver: FedProx) -> tuple[Kept, Values | None]:
        return {}, None


@dataclass(frozen=True)
class Scaffold:
    """c − c_k is added to every gradient; c goes down with the model, and nothing more than Δ comes up."""

    def shared(self, state: Kept) -> Kept:
        return {"control": state["control"]} if "control" in state else {}

    def shift(self, kept: Kept, shared: Kept, like: Values) -> Values | None:
        return shift(kept.get("control"), shared.get("control"), like)

    def settle(self, added: Values, sent: Update, order: Order, solver: FedProx) -> Kept:
        steps = reach(order.steps, solver.momentum, order.rate * solver.proximal)
        return {"control": settle(added, sent.dense(), 1 / (steps * order.rate))}

    def follow(self, state: Kept, aggregate: Values, turn: Turn, solver: FedProx) -> tuple[Kept, Values | None]:
        steps = reach(turn.steps, solver.momentum, turn.rate * solver.proximal)
        moved, _ = scaffold(state, aggregate, rate=turn.rate, steps=steps, heard=turn.heard, clients=turn.clients)
        return moved, None


@dataclass(frozen=True)
class FedDyn:
    """−h_k is added to every gradient, beside the proximal pull α; the server steps on by −h/α."""

    alpha: float = 0.1

    def shared(self, state: Kept) -> Kept:
        return {}

    def shift(self, kept: Kept, shared: Kept, like: Values) -> Values | None:
        return shift(kept.get("correction"), None, like)

    def settle(self, added: Values, sent: Update, order: Order, solver: FedProx) -> Kept:
        return {"correction": settle(added, sent.dense(), self.alpha)}

    def follow(self, state: Kept, aggregate: Values, turn: Turn, solver: FedProx) -> tuple[Kept, Values | None]:
        moved, step = feddyn(state, aggregate, alpha=self.alpha, heard=turn.heard, clients=turn.clients)
        return moved, step - aggregate


def shift(own: Values | None, shared: Values | None, like: Values) -> Values:
    """What is added to every gradient: c − c_k, where None is zero; FedDyn shares nothing and adds −h_k."""
    added = np.zeros_like(like) if shared is None else shared.copy()
    if own is not None:
        added -= own
    return added


def settle(shift: Values, sent: Values, factor: float) -> Values:
    """c_k or h_k for the next time: −shift − factor·Δ, with the Δ that was sent.

    The factor is α in FedDyn. In SCAFFOLD it is 1/(Hη), so that −Δ times it is the mean gradient; with momentum or a
    proximal term H steps reach further or less far, and `aggregate.normalised.reach` says how many to count.
    """
    return -shift - np.float32(factor) * sent


def scaffold(
    state: Kept, aggregate: Values, *, rate: float, steps: float, heard: int, clients: int, step: float = 1.0
) -> tuple[Kept, Values]:
    """The server's half: c ← c + (m/K)·mean(c_k⁺ − c_k), in which c_k⁺ − c_k = −c − Δ_k/(Hη); w ← w + η_g·Δ̄.

    `aggregate` is the plain mean of what the m clients heard have sent.
    """
    control = state.get("control", np.zeros_like(aggregate))
    change = -control - np.float32(1 / (steps * rate)) * aggregate
    return {"control": control + np.float32(heard / clients) * change}, np.float32(step) * aggregate


def feddyn(state: Kept, aggregate: Values, *, alpha: float, heard: int, clients: int) -> tuple[Kept, Values]:
    """The server's half: h ← h − α(m/K)·Δ̄, w ← mean(y_k) − h/α, which is a step of Δ̄ − h/α."""
    correction = state.get("correction", np.zeros_like(aggregate))
    correction = correction - np.float32(alpha * heard / clients) * aggregate
    return {"correction": correction}, aggregate - np.float32(1 / alpha) * correction
