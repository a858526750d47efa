"""How the settings of a run are declared: as those of a part are (`core.part`), in groups that read tables.

    class ModelSettings(Group):
        dropout: float = setting(0.5, "dropout probability of AlexNet's last hidden layer", ge=0, lt=1)

Whatever is wrong with tables is said in one sentence by `explained`.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from heteroselect.core.part import Declared, FieldError, in_words, is_simple
from heteroselect.errors import meant
from heteroselect.settings.renamed import hint


def setting(default: Any, meaning: str, **bounds: float) -> Any:
    """Declare a setting of a group: its default, one sentence, and its bounds (gt, ge, lt, le)."""
    return Field(default, description=meaning, json_schema_extra={"bounds": {**bounds}})


class Group(BaseModel):
    """A table of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _as_declared(cls, value: Any, info: ValidationInfo) -> Any:
        one = declared(cls).get(str(info.field_name))
        try:
            return value if one is None else one.checked(value)
        except FieldError as error:
            raise ValueError(error.text) from error


@cache
def declared(group: type[BaseModel]) -> Mapping[str, Declared]:
    """Return the settings of a group that are no groups or lists themselves."""
    return {
        name: Declared(name, one.annotation, one.default, one.description or "", _bounds(one.json_schema_extra))
        for name, one in group.model_fields.items()
        if is_simple(one.annotation)
    }


def _bounds(extra: Any) -> dict[str, float]:
    return dict(extra["bounds"]) if extra else {}


def explained(error: ValidationError, form: type[BaseModel], place: str = "") -> str:
    """Say what is wrong first with the tables of a `form`, which stand at `place`, without a full stop."""
    first = error.errors()[0]
    path, where = first["loc"], place + _place(first["loc"])
    if first["type"] == "extra_forbidden":
        known = list(_kind(form, path[:-1]).model_fields)
        group = _place(path[:-1]) or "the top level"
        unknown = (
            f"{where}: there is no {path[-1]!r} in {group}{meant(path[-1], known)}; allowed are {', '.join(known)}"
        )
        return hint(_place(path)) or unknown
    if first["type"] == "value_error":
        return f"{where + ': ' if where else ''}{first['ctx']['error']}"
    rule = _rule(_kind(form, path))
    if first["type"] == "missing":
        return f"{where}: it is missing; allowed is {rule}"
    return f"{where}: allowed is {rule}, not {first['input']!r}"


def _place(path: Sequence[Any]) -> str:
    """Keys with dots, and the number of a table or a value, from 1.

    >>> _place(["row", 0, "paper", 1, "rounds"])
    'row 1.paper 2.rounds'
    """
    text = ""
    for part in path:
        text += f" {part + 1}" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _kind(kind: Any, path: Sequence[Any]) -> Any:
    """The annotation at the end of a path through tables, lists and groups."""
    for part in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[part].annotation
        else:
            kind = get_args(kind)[0 if get_origin(kind) is tuple else 1]
    return kind


def _rule(kind: Any) -> str:
    """What may stand there, in words."""
    origin, inside = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"a table with {', '.join(kind.model_fields)}"
    if origin is tuple:
        return "a list" if inside[0] is Any else f"a list, of which each is {_rule(inside[0])}"
    return "a table" if origin is dict else in_words(kind)
