"""FedYogi: an adaptive step at the server whose second moment moves slowly.

Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan, "Adaptive federated optimization", ICLR 2021.
"""

from dataclasses import replace
from typing import Any

from heteroselect.aggregate.adaptive import Adaptive
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = dict(parts.PLAIN)


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings), select=Uniform(), server=parts.tuned(Adaptive("yogi", rate=0.03), settings)
    )
