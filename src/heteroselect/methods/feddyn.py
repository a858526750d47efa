"""FedDyn: each client's objective is bent so that all of them have the global optimum in common.

Acar, Zhao, Matas, Mattina, Whatmough, Saligrama, "Federated learning based on dynamic regularization", ICLR 2021. α
is method.train.proximal, which is the local pull as well.
"""

from dataclasses import replace
from typing import Any

from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings
from heteroselect.train import FedDyn

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.train.momentum": 0.0,
    "method.train.proximal": 0.1,
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    parts.refuse_uneven(settings)
    if settings.train.proximal == 0:
        raise HeteroSelectError("method.train.proximal: allowed with feddyn, whose α it is, is a number > 0.")
    return replace(parts.assemble(settings), select=Uniform(), drift=FedDyn(settings.train.proximal))
