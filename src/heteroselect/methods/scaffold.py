"""SCAFFOLD: control variates take the drift out of the local steps.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh, "SCAFFOLD: Stochastic controlled averaging for federated learning",
ICML 2020 (option II). The server's vector goes down with the model; the clients' need not come up, because the
server can compute them from what was sent. Plain SGD at the clients: with a momentum the control variates are not
mean gradients.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings
from heteroselect.train import Scaffold

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.train.momentum": 0.0,
    "method.train.clip": 0.0,
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    parts.refuse_uneven(settings)
    return replace(parts.assemble(settings), select=Uniform(), drift=parts.tuned(Scaffold(), settings))
