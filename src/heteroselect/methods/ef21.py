"""EF21: clients send changes to what they last said, and the server steps by all clients' last words.

Richtárik, Sokolov, Fatkhullin, "EF21: A new, simpler, theoretically better, and practically faster error feedback",
NeurIPS 2021, with partial participation. It starts slowly, while most clients have not spoken yet: above 80 % on
MNIST after 10 rounds.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.SPARSE, "method.compress.memory": "ef21", "method.aggregate.weights": "everybody"}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
