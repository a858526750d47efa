"""FlexCom: every device has its own density, by what sending and waiting cost it.

Li, Shi, Hou, Li, Pan, Han, "To talk or to work: Flexible communication compression for energy efficient federated
learning over heterogeneous mobile edge devices", INFOCOM 2021. The rule is reconstructed from the abstract (arXiv
2012.11804), with time in the place of energy.
"""

from dataclasses import replace
from typing import Any

from heteroselect.allocate.flexcom import FlexCom
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.SPARSE,
    "method.compress.memory": "error",
    "method.compress.decay": "static",
    "method.compress.decay_static": 1.0,
}


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings),
        select=Uniform(),
        allocate=parts.tuned(
            FlexCom(settings.allocate.average, minimum=settings.allocate.minimum), settings, ("average", "minimum")
        ),
    )
