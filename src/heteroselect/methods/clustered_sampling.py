"""Clustered sampling: one client from each of m groups of similar ones, without bias.

Fraboni, Vidal, Kameni, Lorenzi, "Clustered sampling: Low-variance and improved representativity for clients
selection in federated learning", ICML 2021. By similarity of the last updates, or by size (method.options.by=size).
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.clustered import Clustered
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "share"}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=parts.tuned(Clustered(), settings), needs=frozenset({"uploads"}))
