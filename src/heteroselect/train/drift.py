"""Corrections of client drift: SCAFFOLD and FedDyn, as formulas.

Karimireddy et al., "SCAFFOLD: Stochastic controlled averaging for federated learning", ICML 2020 (option II);
Acar et al., "Federated learning based on dynamic regularization", ICLR 2021.

Both add a vector to every local gradient: c − c_k in SCAFFOLD, −h_k in FedDyn (which trains with the proximal term
α/2·‖y − w‖² besides). Both settle on a new vector of their own from what was sent: c_k ← c_k − c − Δ_k/(Hη) and
h_k ← h_k − αΔ_k are both −shift − factor·Δ_k. The server can follow from the mean of what was sent, so nothing else
goes over the air, and Σc_k = K·c holds whatever compression did to Δ_k.
"""

import numpy as np

from heteroselect.compress.memory import Kept
from heteroselect.compress.update import Values


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
