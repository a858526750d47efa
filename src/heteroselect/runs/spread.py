"""How even a run was to its clients: what each sees of the final model, how often it took part, what it sent."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from heteroselect.core.arrays import Reals
from heteroselect.core.evaluate import client_accuracies, jain, owner_accuracies, worst_tenth
from heteroselect.data.federation import Federation


def spread(outputs: Tensor | None, federation: Federation, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of a summary that are about clients; `outputs` are what the final model gives for the test examples,
    None where targets are no classes.

    A client's accuracy is that on its own test examples, where these have owners; else that on test examples of its own
    label mix.
    """
    taken, sent = shares(lines, len(federation.clients))
    own = federation.test.owner is not None
    found = _accuracies(outputs, federation)
    known = [value for value in found if value is not None]
    idle = [value for value, count in zip(found, taken, strict=False) if value is not None and not count]
    return {
        "client_accuracy_of": ("own examples" if own else "own labels") if known else None,
        "client_accuracy_mean": sum(known) / len(known) if known else None,
        "client_accuracy_worst_tenth": worst_tenth(known) if known else None,
        "client_accuracy_std": float(np.std(known)) if known else None,
        "client_accuracy_never_selected": sum(idle) / len(idle) if idle else None,
        "never_selected": int((taken == 0).sum()),
        "participation_jain": jain(taken.tolist()),
        "bytes_jain": jain(sent.tolist()),
        "owners": list(federation.owners) or None,
    }


def shares(lines: Sequence[Mapping[str, Any]], clients: int) -> tuple[Reals, Reals]:
    """How often each client was selected, and the bytes that it sent up."""
    taken, sent = np.zeros(clients), np.zeros(clients)
    for line in lines:
        np.add.at(taken, line["selected"], 1)
        np.add.at(sent, line["selected"], line["bytes_up_clients"])
    return taken, sent


def _accuracies(outputs: Tensor | None, federation: Federation) -> Sequence[float | None]:
    test, clients = federation.test, federation.clients
    if outputs is None or federation.classes is None:
        return []
    if test.owner is not None:
        return owner_accuracies(outputs, test.y, test.owner, len(clients)) or []
    return client_accuracies(outputs, test.y, [part.y for part in clients], federation.classes) or []
