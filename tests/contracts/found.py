"""The cases of the contracts, found in KINDS, so that a newly shipped kind is tested without an edit; and what the
contracts share."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

from heteroselect.core.part import Declared, FieldError, declared, kind_of
from heteroselect.core.state import PartState, by_role, flat
from heteroselect.parts.kinds import KINDS


def parts(role: str, *, bounds: bool = True) -> list[Any]:
    """A part of each kind with its defaults, one for each other choice and, with `bounds`, each bound of a setting."""
    found = []
    for kind in KINDS[role].values():
        found.append(kind())
        for name, one in declared(kind).items():
            for value in others(one, bounds):
                try:
                    found.append(kind(**{name: value}))
                except FieldError:
                    continue  # not beside the other defaults
    return found


def others(one: Declared, bounds: bool) -> list[Any]:
    """Values that a setting may have beside its default."""
    values = [False, True] if one.type is bool else list(get_args(one.type)) if get_origin(one.type) is Literal else []
    if bounds:
        values += [one.checked(one.bounds[bound]) for bound in ("ge", "le") if bound in one.bounds]
    return [value for value in values if value != one.default]


def named(part: Any) -> str:
    """Its kind, and the settings that are not the defaults."""
    changed = [
        f"{name}={getattr(part, name)}"
        for name, one in declared(type(part)).items()
        if getattr(part, name) != one.default
    ]
    return " ".join([kind_of(part), *changed])


def each(
    role: str, *more: Any, only: Callable[[Any], bool] = lambda part: True, bounds: bool = True
) -> pytest.MarkDecorator:
    """Run a test with every part of the role, and `more`: `only` those of which something holds."""
    cases = [part for part in [*parts(role, bounds=bounds), *more] if only(part)]
    return pytest.mark.parametrize("part", cases, ids=named)


def stored(state: PartState) -> PartState:
    """A part's state as a checkpoint gives it back: by joined names, from bytes, and read-only."""
    joined = {name: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape) for name, a in flat({"role": state}).items()}
    return by_role(joined).get("role", {})


def bits(thing: Any) -> Any:
    """Arrays, and dataclasses, mappings and sequences of them, as what can be compared to the bit."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if isinstance(thing, Mapping):
        return {name: bits(one) for name, one in thing.items()}
    if isinstance(thing, list | tuple):
        return [bits(one) for one in thing]
    if is_dataclass(thing):
        return {one.name: bits(getattr(thing, one.name)) for one in fields(thing)}
    return thing
