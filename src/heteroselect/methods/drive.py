"""DRIVE: uniform clients, updates rotated at random and sent as one bit a coordinate, without bias.

Vargaftik, Ben-Basat, Portnoy, Mendelson, Ben-Itzhak, Mitzenmacher, "DRIVE: One-bit distributed mean estimation",
NeurIPS 2021. With `method.allocate.average` below 1 that share of the bits is sent, as in EDEN (ICML 2022).
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.compress.kind": "drive",
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
