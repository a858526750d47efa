"""The one error that is meant for people."""

import functools
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class HeteroSelectError(Exception):
    """Something the user can mend: one sentence that names the setting and what is allowed."""


def meant(name: object, allowed: Iterable[str]) -> str:
    """The name that is most like a wrong one, as words for a sentence; nothing where none is like it.

    >>> meant("oorrt", ["fedavg", "oort"]), meant("x", ["fedavg", "oort"])
    (' (did you mean oort?)', '')
    """
    found = get_close_matches(str(name), list(allowed), n=1, cutoff=0.75)
    return f" (did you mean {found[0]}?)" if found else ""


def in_python(call: Callable[P, T]) -> Callable[P, T]:
    """For what people call in Python: errors name the options of the command line, which are arguments here."""

    @functools.wraps(call)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return call(*given, **named)
        except HeteroSelectError as error:
            text = as_arguments(str(error))
            if text == str(error):
                raise
            raise HeteroSelectError(text) from error

    return called


def as_arguments(text: str) -> str:
    """A sentence with the names of arguments for those of options; commands stay what they are.

    >>> as_arguments("--threads: allowed is 1 or more, not 0.")
    'threads: allowed is 1 or more, not 0.'
    >>> as_arguments("data: not here; `heteroselect data mnist --data-dir x` fetches it into --data-dir.")
    'data: not here; `heteroselect data mnist --data-dir x` fetches it into data_dir.'
    """
    parts = text.split("`")  # commands stand at odd places
    parts[::2] = [re.sub(r"(?<![\w-])--([a-z][a-z-]*)", _argument, part) for part in parts[::2]]
    return "`".join(parts)


def _argument(found: re.Match[str]) -> str:
    return "settings" if found[1] == "set" else found[1].replace("-", "_")
