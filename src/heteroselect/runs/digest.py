"""One digest for whatever decides a run: arrays, a model, or an object or a function of the user's own.

What is plain goes by its value, an array by its bytes, a function by what Python runs of it, a class by its text, and
what comes from an installed package by its name. A thing that is none of these (an open file, a lock, a generator that
has been drawn from) has no digest: it is UNKNOWN.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.runs.fingerprint import UNKNOWN

LENGTH = 32
"""Hexadecimal digits of a digest."""


class _UnknownError(Exception):
    """Something that has no digest."""


def digest_of(thing: object, *, weights: bool = True) -> str:
    """The digest of an object, or UNKNOWN; without `weights` only the structure of torch modules counts."""
    walk = _Walk(weights)
    try:
        walk.tell(thing)
    except (_UnknownError, RecursionError, OSError, TypeError, ValueError):  # no text, no order, an empty cell
        return UNKNOWN
    return walk.hash.hexdigest()[:LENGTH]


class _Walk:
    """Walks through an object and puts what it finds into a hash; what it has met before is named by its number."""

    def __init__(self, weights: bool) -> None:
        self.hash, self.weights = hashlib.sha256(), weights
        self.met: dict[int, tuple[int, object]] = {}  # with the object, so that its id stays its own

    def say(self, *words: object) -> None:
        for word in words:
            text = word if isinstance(word, bytes) else str(word).encode()
            self.hash.update(f"{len(text)}:".encode() + text)

    def tell(self, thing: Any) -> None:
        if thing is None or isinstance(thing, bool | int | float | complex | str | bytes):
            self.say(type(thing).__name__, repr(thing))
        elif isinstance(thing, torch.dtype | torch.device | PurePath):
            self.say(type(thing).__name__, thing)
        elif isinstance(thing, Tensor):
            plain = thing.detach().cpu().contiguous()
            self.say("tensor", plain.dtype, tuple(plain.shape), plain.reshape(-1).view(torch.uint8).numpy().tobytes())
        elif isinstance(thing, np.generic | np.ndarray) and not thing.dtype.hasobject:
            self.say("array", thing.dtype.str, thing.shape, np.ascontiguousarray(thing).tobytes())
        elif id(thing) in self.met:
            self.say("met", self.met[id(thing)][0])
        else:
            self.met[id(thing)] = len(self.met), thing
            self._new(thing)

    def _new(self, thing: Any) -> None:
        if isinstance(thing, Mapping):
            self._each("mapping", [part for item in thing.items() for part in item])
        elif isinstance(thing, list | tuple):
            self._each(type(thing).__name__, thing)
        elif isinstance(thing, set | frozenset):
            self._each("set", sorted(thing))
        elif isinstance(thing, functools.partial):
            self._each("partial", [thing.func, thing.args, thing.keywords])
        elif isinstance(thing, MethodType):
            self._each("method", [thing.__func__, thing.__self__])
        elif isinstance(thing, ModuleType):
            self.say("module", thing.__name__)
        elif callable(thing) and _installed(thing):
            top = _top(thing)  # a file of this package may move
            self.say("installed", top if top == "heteroselect" else thing.__module__, thing.__qualname__)
        elif isinstance(thing, FunctionType):
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            self._each("function", [thing.__defaults__, thing.__kwdefaults__, cells])
            self._code(thing.__code__, thing.__globals__)
        elif isinstance(thing, type):
            self._each("class", [inspect.getsource(thing), thing.__bases__])
        elif isinstance(thing, nn.Module) and not isinstance(thing, torch.jit.ScriptModule):
            self._network(thing)
        else:
            self._object(thing)

    def _each(self, name: str, parts: Iterable[Any]) -> None:
        known = list(parts)
        self.say(name, len(known))
        for part in known:
            self.tell(part)

    def _code(self, code: CodeType, names: Mapping[str, Any]) -> None:
        self.say("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, names)
            else:
                self.tell(constant)
        self._each("globals", [(name, names[name]) for name in code.co_names if name in names])

    def _network(self, network: nn.Module) -> None:
        """The classes of all modules with their settings, and the tensors."""
        for name, module in network.named_modules():
            settings = {key: value for key, value in vars(module).items() if key[0] != "_" and key != "training"}
            self._each(name, [type(module), settings])
        for name, tensor in network.state_dict().items():
            self.say(name, tensor.dtype, tuple(tensor.shape))
            if self.weights:
                self.tell(tensor)

    def _object(self, thing: Any) -> None:
        """The class and the fields; of what lies in C nothing can be told."""
        if not hasattr(thing, "__dict__") or _top(type(thing)) in sys.stdlib_module_names:
            raise _UnknownError
        self._each("object", [type(thing), vars(thing)])


def _installed(thing: Any) -> bool:
    """Whether a class or a function comes from a package and not from the user, so that its name says what it is."""
    top, bound = _top(thing), getattr(thing, "__self__", None)
    file = str(getattr(sys.modules.get(top), "__file__", None) or "")
    known = top == "heteroselect" or top in sys.stdlib_module_names or "-packages" in file
    return known and isinstance(bound, ModuleType | type | None) and "<" not in getattr(thing, "__qualname__", "<")


def _top(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "builtins").partition(".")[0]
