"""FedCS: as many clients as fit into a deadline, the quickest first.

Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge", ICC 2019.
Twice as many candidates are asked as there are places, and with a link for each client all uploads run at once.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.fedcs import FedCS
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = dict(parts.PLAIN)


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings),
        select=parts.tuned(FedCS(uploads="parallel", factor=2), settings),
        needs=frozenset({"links"}),
    )
