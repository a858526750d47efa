"""Errors that are meant for people, and that a script can catch. Each is one sentence that names the setting, the file
or the folder, and says what to do.

    HeteroSelectError        all of them; the command line prints the sentence and ends with exit code 2
    ├── SettingError         a setting, an option or an argument that is wrong, alone or beside others
    ├── DataError            a data set, a file of a world, or data handed over that a run cannot work with
    ├── FolderError          a run's folder that is taken, damaged, in use, or of another run
    ├── OwnCodeError         a user's own file or part that fails, or answers what it may not
    ├── Diverged             a model whose numbers have stopped being finite
    └── MissingExtra         a package that is not installed, with the command that installs it

    Interrupted              Ctrl-C, with the run as far as it came: a KeyboardInterrupt, so that no handler of errors
                             takes it for one
"""

import functools
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class HeteroSelectError(Exception):
    """Something the user can mend: one sentence that says what to do."""


class SettingError(HeteroSelectError):
    """A setting, an option or an argument is wrong, alone or beside others."""


class DataError(HeteroSelectError):
    """A data set, a file of a world, or data handed over is missing, damaged or not what a run can work with."""


class FolderError(HeteroSelectError):
    """A run's folder is taken, damaged, in use, or of another run."""


class OwnCodeError(HeteroSelectError):
    """A user's own file or part fails, or answers what it may not."""


class Diverged(HeteroSelectError):  # noqa: N818 (what one catches, by its name)
    """The numbers of a model have stopped being finite."""


class MissingExtra(HeteroSelectError):  # noqa: N818
    """A package is not installed."""


def meant(name: object, allowed: Iterable[str]) -> str:
    """The name that is most like a wrong one, as words for a sentence; nothing where none is like it.

    >>> meant("oorrt", ["fedavg", "oort"]), meant("x", ["fedavg", "oort"])
    (' (did you mean oort?)', '')
    """
    found = get_close_matches(str(name), list(allowed), n=1, cutoff=0.75)
    return f" (did you mean {found[0]}?)" if found else ""


def in_python(call: Callable[P, T]) -> Callable[P, T]:
    """A decorator for what people call in Python: errors name options of the command line, which are arguments here."""

    @functools.wraps(call)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return call(*given, **named)
        except HeteroSelectError as error:
            text = as_arguments(str(error))
            if text == str(error):
                raise
            raise type(error)(text) from error

    return called


def as_arguments(text: str) -> str:
    """A sentence with the names of arguments for those of options; commands stay what they are.

    >>> as_arguments("--threads: choose 1 or more, not 0.")
    'threads: choose 1 or more, not 0.'
    >>> as_arguments("data: not here; `heteroselect data mnist --data-dir x` fetches it into --data-dir.")
    'data: not here; `heteroselect data mnist --data-dir x` fetches it into data_dir.'
    """
    parts = text.split("`")  # commands stand at odd places
    parts[::2] = [re.sub(r"(?<![\w-])--([a-z][a-z-]*)", _argument, part) for part in parts[::2]]
    return "`".join(parts)


def _argument(found: re.Match[str]) -> str:
    return "settings" if found[1] == "set" else found[1].replace("-", "_")
