"""FedNova: clients take as many steps as their device can, and updates are normalised by how far those reach.

Wang, Liu, Liang, Joshi, Poor, "Tackling the objective inconsistency problem in heterogeneous federated
optimization", NeurIPS 2020.
"""

from dataclasses import replace
from typing import Any

from heteroselect.aggregate.normalised import Normalised
from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.train.steps_rule": "device"}


def build(settings: MethodSettings) -> Method:
    if settings.train.proximal:
        raise HeteroSelectError("method.train.proximal: allowed with fednova is 0, for which its weights are made.")
    return replace(parts.assemble(settings), select=Uniform(), weigh=Normalised(settings.train.momentum))
