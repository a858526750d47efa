"""How a part declares its settings: once, as the fields of a frozen dataclass.

    @dataclass(frozen=True)
    class Softmax:
        temperature: float = setting(1.0, "τ₀ of the softmax (eq. 6)", gt=0)

A field made by `setting` has bounds and one sentence; its type gives the rest (a `Literal` lists what is allowed). The
command line, `config.toml`, the list of settings and the errors are all made from these declarations. A plain field
of a user's own part is a setting too, without bounds.
"""

import math
import operator
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")

Brings = Mapping[str, Mapping[str, Any]]
"""What the paper of a part needs in other roles: per role a kind and its settings."""
Requires = Mapping[str, tuple[str, ...]]
"""The kinds of other roles that a part can work with, by role."""
Prefers = Mapping[str, str]
"""What a part makes little sense without, by role: a promise of the part there. Who chooses the part gets what it
brings instead of one without; who chooses both, both."""

_BOUNDS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
_TESTS = {"gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}


class Misfit(NamedTuple):
    """Why a part cannot work with others, and the role that would have to change."""

    role: str
    text: str


class FieldError(ValueError):
    """A field of a part that is not what it may be; `name` is the field."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}" if name else text)
        self.name, self.text = name, text


def setting(
    default: T,
    meaning: str,
    *,
    gt: float | None = None,
    ge: float | None = None,
    lt: float | None = None,
    le: float | None = None,
    tune: tuple[float, float, Literal["linear", "log"]] | None = None,
) -> T:
    """Declare a setting: its default, one sentence, its bounds, and where it is worth tuning the range to look in."""
    bounds = {"gt": gt, "ge": ge, "lt": lt, "le": le}
    known = {name: bound for name, bound in bounds.items() if bound is not None}
    return field(default=default, metadata={"meaning": meaning, "bounds": known, "tune": tune and Range(*tune)})


@dataclass(frozen=True)
class Range:
    """Where the good values of a setting may be expected, whatever the data."""

    low: float
    high: float
    scale: Literal["linear", "log"]

    def at(self, share: float) -> float:
        """The value at this share of the way from low to high, to three digits.

        >>> Range(0.01, 1, "log").at(0.5), Range(0, 5, "linear").at(0.5)
        (0.1, 2.5)
        """
        if self.scale == "linear":
            return float(f"{self.low + share * (self.high - self.low):.3g}")
        return float(f"{self.low * (self.high / self.low) ** share:.3g}")


@dataclass(frozen=True)
class Declared:
    """One setting, as declared."""

    name: str
    type: Any
    default: Any
    meaning: str
    bounds: dict[str, float]
    tune: Range | None = None

    @property
    def allowed(self) -> str:
        """What the setting may be, in words."""
        return in_words(self.type, self.bounds)

    def checked(self, value: Any) -> Any:
        """The value as the field's type, or FieldError."""
        optional = _optional(self.type)
        if optional and (value is None or value == "none"):
            return None
        kind = optional or self.type
        found = _as(kind, value)
        if found is _NO or not self._within(found):
            raise FieldError(self.name, f"allowed is {self.allowed}, not {value!r}")
        return found

    def _within(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return math.isfinite(value) and all(_TESTS[name](value, bound) for name, bound in self.bounds.items())


def in_words(kind: Any, bounds: Mapping[str, float] = MappingProxyType({})) -> str:
    """Say what a value of this type and within these bounds may be.

    >>> in_words(float, {"ge": 0, "le": 1}), in_words(Literal["a", "b", "c"]), in_words(int | None)
    ('a number ≥ 0 and ≤ 1', 'a, b or c', 'a whole number, or none')
    """
    if optional := _optional(kind):
        return f"{in_words(optional, bounds)}, or none"
    if get_origin(kind) is Literal:
        *first, last = map(str, get_args(kind))
        return f"{', '.join(first)} or {last}" if first else last
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    return (
        f"{words.get(kind, 'a value')} {' and '.join(f'{_BOUNDS[b]} {value:g}' for b, value in bounds.items())}".strip()
    )


def declared(kind: type) -> dict[str, Declared]:
    """Return the settings of a kind of part, in the order of its fields; none of a class that is no dataclass."""
    if not is_dataclass(kind):
        return {}
    hints = get_type_hints(kind)
    return {
        one.name: Declared(
            one.name,
            hints[one.name],
            one.default,
            one.metadata.get("meaning", ""),
            dict(one.metadata.get("bounds", {})),
            one.metadata.get("tune"),
        )
        for one in fields(kind)
        if one.init and is_simple(hints[one.name])
    }


def check(part: object) -> None:
    """Raise FieldError where a field of the part is not what it may be."""
    for name, one in declared(type(part)).items():
        value = getattr(part, name)
        if isinstance(one.checked(value), int) and isinstance(value, float):
            raise FieldError(name, f"allowed is {one.allowed}, not {value!r}")


def values(part: object) -> dict[str, Any]:
    """The settings of a part, as they are."""
    return {name: one.checked(getattr(part, name)) for name, one in declared(type(part)).items()}


def kind_of(part: object) -> str:
    """The name of a part's kind; of a user's own part, its class."""
    return str(vars(type(part)).get("kind") or f"own:{type(part).__name__}")


_NO = object()


def _as(kind: Any, value: Any) -> Any:
    """The value as this type, or _NO; a bool is no number, and a number that is whole may be written as 4.0."""
    if get_origin(kind) is Literal:
        same = (one for one in get_args(kind) if one == value and isinstance(one, bool) == isinstance(value, bool))
        return next(same, _NO)
    if isinstance(value, bool) and kind is not bool:
        return _NO
    if kind is float and isinstance(value, int | float):
        return float(value)
    if kind is int and (isinstance(value, np.integer) or (isinstance(value, float) and value.is_integer())):
        return int(value)
    return value if isinstance(value, kind) else _NO


def _optional(kind: Any) -> Any:
    """T of `T | None`, else None."""
    if get_origin(kind) in (Union, types.UnionType):
        others = [one for one in get_args(kind) if one is not type(None)]
        return others[0] if len(others) == 1 and len(others) < len(get_args(kind)) else None
    return None


def is_simple(kind: Any) -> bool:
    """Whether a text can say a value of this type."""
    kind = _optional(kind) or kind
    return kind in (bool, int, float, str) or get_origin(kind) is Literal
