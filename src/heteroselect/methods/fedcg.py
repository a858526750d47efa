"""FedCG: representative clients, each compressed to what its link can carry.

Jiang, Xu, Xu, Wang, Wang, Qian, "Heterogeneity-aware federated learning with adaptive client selection and gradient
compression", INFOCOM 2023. The rule is reconstructed from the abstract (arXiv 2212.09483): facility location for who,
a linear program, solved exactly by bisection, for how much, one after the other until they agree. Clients never heard
come first. Data sizes weigh: the number of clients that each one stands for (method.aggregate.weights=share) puts
nearly all weight on one of them, and costs several points on MNIST.
"""

from dataclasses import replace
from typing import Any

from heteroselect.allocate.fedcg import FedCG
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.fedcg import FedCG as Choice
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = dict(parts.SPARSE)


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings),
        select=parts.tuned(
            Choice(settings.allocate.average, settings.allocate.minimum, "first"), settings, ("average", "minimum")
        ),
        allocate=FedCG(settings.allocate.average, settings.allocate.minimum),
        needs=frozenset({"links", "uploads"}),
    )
