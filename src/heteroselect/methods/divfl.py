"""DivFL: the m clients whose updates best stand for everybody's.

Balakrishnan, Li, Zhou, Himayat, Smith, Bilmes, "Diverse client selection for federated learning via submodular
maximization", ICLR 2022. Clients never heard come first, in the place of the paper's round in which all send a
gradient; weights are the paper's cluster sizes.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.facility import Facility
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {**parts.PLAIN, "method.aggregate.weights": "share"}


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings), select=parts.tuned(Facility(unseen="first"), settings), needs=frozenset({"uploads"})
    )
