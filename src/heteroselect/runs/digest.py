"""One digest for whatever decides a run: arrays, a model, or an object or a function of the user's own.

What is plain goes by its value, an array by its bytes, a function by what Python runs of it, a class by its text, and
what comes from an installed package by its name. A thing that is none of these (an open file, a lock, a generator that
has been drawn from) has no digest: it is UNKNOWN.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.runs.fingerprint import UNKNOWN

LENGTH = 32
"""Hexadecimal digits of a digest."""
PLAIN = (type(None), bool, int, float, complex, str, bytes, PurePath, torch.dtype, torch.device)


class _UnknownError(Exception):
    """Something that has no digest."""


def digest_of(thing: object, *, weights: bool = True) -> str:
    """The digest of an object, or UNKNOWN; without `weights` only the structure of torch modules counts."""
    try:
        text = repr(_told(thing, weights, {}))
    except (_UnknownError, RecursionError, OSError, TypeError, ValueError):  # no text, no order, an empty cell
        return UNKNOWN
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _told(thing: Any, weights: bool, met: dict[int, Any]) -> tuple[Any, ...]:
    """A thing as tuples of texts, which say all that decides it; one that was `met` before goes by its number."""
    if isinstance(thing, PLAIN):
        return type(thing).__name__, repr(thing)
    if isinstance(thing, Tensor):
        plain = thing.detach().cpu().contiguous()
        content = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        return "tensor", str(plain.dtype), tuple(plain.shape), content
    if isinstance(thing, np.generic | np.ndarray) and not thing.dtype.hasobject:
        return "array", thing.dtype.str, thing.shape, np.ascontiguousarray(thing).tobytes()
    if not isinstance(thing, tuple | CodeType):  # which cannot hold themselves
        if id(thing) in met:
            return "met", list(met).index(id(thing))
        met[id(thing)] = thing  # the object too, so that its id stays its own
    network = isinstance(thing, nn.Module) and not isinstance(thing, torch.jit.ScriptModule)
    name, *parts = ("network", *_of_network(thing, weights)) if network else _parts(thing)
    return name, *[_told(part, weights, met) for part in parts]


def _parts(thing: Any) -> tuple[Any, ...]:
    """What a thing is, and what it is made of."""
    match thing:
        case Mapping():
            return "mapping", *thing.keys(), *thing.values()
        case list() | tuple():
            return type(thing).__name__, *thing
        case set() | frozenset():
            return "set", *sorted(thing)
        case functools.partial():
            return "partial", thing.func, thing.args, thing.keywords
        case MethodType():
            return "method", thing.__func__, thing.__self__
        case ModuleType():
            return "module", thing.__name__
    return _parts_of_code(thing)


def _parts_of_code(thing: Any) -> tuple[Any, ...]:
    """What a function, a class or an object is made of."""
    if callable(thing) and _installed(thing):
        top = _top(thing)  # a file of this package may move
        return "installed", top if top == "heteroselect" else thing.__module__, thing.__qualname__
    match thing:
        case FunctionType():
            cells = [cell.cell_contents for cell in thing.__closure__ or ()]
            known = {name: thing.__globals__[name] for name in _names(thing.__code__) if name in thing.__globals__}
            return "function", thing.__code__, thing.__defaults__, thing.__kwdefaults__, cells, known
        case CodeType():
            names = thing.co_names, thing.co_varnames, thing.co_freevars
            return "code", thing.co_code, thing.co_consts, thing.co_argcount, *names
        case type():
            return "class", inspect.getsource(thing), thing.__bases__
    if not hasattr(thing, "__dict__") or _top(type(thing)) in sys.stdlib_module_names:
        raise _UnknownError  # of what lies in C nothing can be told
    return "object", type(thing), vars(thing)


def _of_network(network: nn.Module, weights: bool) -> Iterator[Any]:
    """The classes of all modules with their settings, and the tensors."""
    for name, module in network.named_modules():
        yield name, type(module), {k: value for k, value in vars(module).items() if k[0] != "_" and k != "training"}
    for name, tensor in network.state_dict().items():
        yield name, tensor if weights else (tensor.dtype, tuple(tensor.shape))


def _names(code: CodeType) -> Iterator[str]:
    """The globals that a function may use, and functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _installed(thing: Any) -> bool:
    """Whether a class or a function comes from a package and not from the user, so that its name says what it is."""
    top, bound = _top(thing), getattr(thing, "__self__", None)
    file = str(getattr(sys.modules.get(top), "__file__", None) or "")
    known = top == "heteroselect" or top in sys.stdlib_module_names or "-packages" in file
    return known and isinstance(bound, ModuleType | type | None) and "<" not in getattr(thing, "__qualname__", "<")


def _top(thing: Any) -> str:
    return str(getattr(thing, "__module__", None) or "builtins").partition(".")[0]
