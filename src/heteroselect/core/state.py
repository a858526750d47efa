"""State has an owner: what a part keeps from round to round, at a client or at the server, stands under its role.

    {"memory": {"residual": …}, "train": {"control": …}}

Two parts may use the same name without meeting. On disk and on the wire the two names are joined by a dot.
"""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

PartState = Mapping[str, NDArray[Any]]
"""The arrays that one part keeps, by name."""
State = Mapping[str, PartState]
"""What all parts keep, by role."""


def flat(state: State) -> PartState:
    """`{"memory": {"residual": a}}` as `{"memory.residual": a}`."""
    return {f"{role}.{name}": array for role, kept in state.items() for name, array in kept.items()}


def by_role(arrays: PartState) -> State:
    """The other way round."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for joined, array in arrays.items():
        role, _, name = joined.partition(".")
        found.setdefault(role, {})[name] = array
    return found
