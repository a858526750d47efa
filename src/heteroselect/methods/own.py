"""A user's own method from a file: FILE.py:NAME, with no change to this package."""

import hashlib
import importlib.util
from collections.abc import Callable
from pathlib import Path

from heteroselect import methods
from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.settings import MethodSettings

Own = Method | Callable[[MethodSettings], Method]


def is_path(name: str) -> bool:
    """Whether a method is named by the file it stands in."""
    return ".py" in name


def digest(name: str) -> str:
    """Of FILE.py: a run says by it which version of the file it is of."""
    path = Path(name.rpartition(":")[0]).expanduser()
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:32]
    except OSError as error:
        raise HeteroSelectError(f"method: {path} cannot be read ({error.strerror}).") from error


def refuse_changed(name: str, source: str) -> None:
    """Half a run by one rule and half by another would be a run of neither."""
    if source and digest(name) != source:
        raise HeteroSelectError(
            f"--method: {name.rpartition(':')[0]} has changed since the run began; allowed is the file as it was then."
        )


def load(name: str) -> Own:
    """What stands under NAME in FILE.py: a Method, or a function from a method's settings to one."""
    file, colon, inside = name.rpartition(":")
    path = Path(file).expanduser()
    if not colon or path.suffix != ".py":
        known = ", ".join(methods.REGISTRY)
        raise HeteroSelectError(f"method: no method {name!r}; allowed are {known}, or your own as FILE.py:NAME.")
    if not path.is_file():
        raise HeteroSelectError(f"method: {path} is not there; allowed is the path of a Python file, FILE.py:NAME.")
    spec = importlib.util.spec_from_file_location(f"heteroselect_own_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise HeteroSelectError(f"method: {path} cannot be read ({type(error).__name__}: {error}).") from error
    if not hasattr(module, inside):
        raise HeteroSelectError(f"method: {path} has no {inside!r}.")
    return _build(getattr(module, inside), name)


def _build(found: object, name: str) -> Own:
    if isinstance(found, Method):
        return found
    if not callable(found):
        raise HeteroSelectError(f"method: {name} is neither a Method nor a function from a method's settings to one.")

    def build(settings: MethodSettings) -> Method:
        method = found(settings)
        if not isinstance(method, Method):
            raise HeteroSelectError(f"method: {name} gave a {type(method).__name__}; allowed is a Method.")
        return method

    return build
