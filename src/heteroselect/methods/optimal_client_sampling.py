"""Optimal client sampling: everybody trains, and those with long updates are likelier to send theirs.

Chen, Horváth, Richtárik, "Optimal client sampling for federated learning", TMLR 2022. All clients work for each
round; what is saved is the uplink.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.optimal import OptimalSampling
from heteroselect.select.uniform import Everybody
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "share"}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Everybody(), choose=parts.tuned(OptimalSampling(), settings))
