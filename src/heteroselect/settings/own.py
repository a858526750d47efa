"""A user's own method or part from a file: FILE.py:NAME, with no change to this package."""

import hashlib
import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from heteroselect.errors import HeteroSelectError, OwnCodeError, SettingError
from heteroselect.round.method import Method

PREFIX = "heteroselect_own_"
"""Modules of people's own files have names that begin so."""


def is_path(name: str) -> bool:
    """Whether a method or a part is named by the file it stands in."""
    return ".py" in name


def digest(name: str) -> str:
    """Of FILE.py: a run says by it which version of the file it is of."""
    path = Path(name.rpartition(":")[0]).expanduser()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    except OSError as error:
        raise SettingError(f"method: {path} cannot be read ({error.strerror}).") from error


def refuse_changed(name: str, source: str, key: str = "--method") -> None:
    """Refuse to go on if the user's file has changed since the run began."""
    if source and digest(name) != source:
        raise SettingError(
            f"{key}: {name.rpartition(':')[0]} has changed since the run began; restore the file, or start a new run."
        )


def method(name: str) -> Method:
    """The Method under NAME in FILE.py."""
    found = find(name, "method")
    if not isinstance(found, Method):
        role = f"a part goes to its role, as in --set method.select.kind={name}"
        raise SettingError(f"method: {name} is a {type(found).__name__}; allowed is a Method ({role}).")
    return found


def part(name: str, key: str) -> Any:
    """The part under NAME in FILE.py: a class that can be made without arguments, or an object."""
    found = find(name, key)
    if isinstance(found, Method):
        raise SettingError(f"{key}: {name} is a whole Method; allowed is a part here, or --method {name}.")
    if isinstance(found, type):
        try:
            found = found()
        except TypeError as error:
            raise SettingError(f"{key}: {name} cannot be made without arguments ({error}).") from error
    return found


def find(name: str, key: str) -> Any:
    """What stands under NAME in FILE.py."""
    file, colon, inside = name.rpartition(":")
    path = Path(file).expanduser()
    if not colon or path.suffix != ".py":
        raise SettingError(f"{key}: allowed is FILE.py:NAME for your own, not {name!r}.")
    if not path.is_file():
        raise SettingError(f"{key}: {path} is not there; allowed is the path of a Python file, FILE.py:NAME.")
    module = _module(path.resolve(), path.stat().st_mtime_ns)
    if not hasattr(module, inside):
        raise SettingError(f"{key}: {path} has no {inside!r}.")
    return getattr(module, inside)


@cache
def _module(path: Path, version: int) -> ModuleType:  # noqa: ARG001 (another version is another module)
    """Loaded once for each version of the file, so that two names from one file share its classes."""
    spec = importlib.util.spec_from_file_location(f"{PREFIX}{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except HeteroSelectError as error:
        raise OwnCodeError(f"{path.name}: {error}") from error
    except Exception as error:
        raise OwnCodeError(f"method: {path} cannot be read ({type(error).__name__}: {error}).") from error
    return module
