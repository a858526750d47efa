"""What is wrong with a file of tables, in one sentence that says where it is and what is allowed there."""

from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from heteroselect.errors import meant
from heteroselect.settings.schema import allowed


def explained(error: ValidationError, form: type[BaseModel]) -> str:
    """The first thing that is wrong with a `form`, without a full stop."""
    first = error.errors()[0]
    *path, last = first["loc"]
    where = _place(first["loc"])
    if first["type"] == "extra_forbidden":
        group = _kind(form, path)
        place = _place(path) or "the top level"
        known = list(group.model_fields)
        return f"{where}: there is no {last!r} in {place}{meant(last, known)}; allowed are {', '.join(known)}"
    if first["type"] == "value_error":
        return f"{where}: {first['ctx']['error']}"
    rule = _rule(_kind(form, first["loc"]))
    if first["type"] == "missing":
        return f"{where}: it is missing; allowed is {rule}"
    return f"{where}: allowed is {rule}, not {first['input']!r}"


def _place(path: Any) -> str:
    """Keys with dots, and the number of a table or a value, from 1.

    >>> _place(["row", 0, "paper", 1, "rounds"])
    'row 1.paper 2.rounds'
    """
    text = ""
    for part in path:
        text += f" {part + 1}" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _kind(kind: Any, path: Any) -> Any:
    """The annotation at the end of a path through tables, lists and forms."""
    for part in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[part].annotation
        else:
            kind = get_args(kind)[0 if get_origin(kind) is tuple else 1]
    return kind


def _rule(kind: Any) -> str:
    """What may stand there, in words."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _rule(next(one for one in inside if one is not type(None)))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return f"a table with {', '.join(kind.model_fields)}"
    if origin is tuple:
        return "a list" if inside[0] is Any else f"a list, of which each is {_rule(inside[0])}"
    return "a table" if origin is dict else allowed(FieldInfo.from_annotation(kind))
