"""One digest for whatever decides a run: arrays, a model, or an object or a function of the user's own.

Of the user's own code the digest is of what Python runs (the compiled code, with its constants, defaults, what it
closes over and the globals that it names), and of an object also of its fields. A thing that cannot be told apart from
another one like it in this way (an open file, a generator that has been drawn from) has no digest: it is UNKNOWN.
"""

import functools
import hashlib
import sys
from collections.abc import Callable, Mapping, Set
from enum import Enum
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.runs.fingerprint import UNKNOWN

LENGTH = 32
"""Hexadecimal digits of a digest."""

_NOTED = {"heteroselect", "torch", "numpy", *sys.stdlib_module_names}
"""Packages whose versions a fingerprint notes: what stands in them goes by its name."""
_NO_MATTER = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__match_args__"),
    *("__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__firstlineno__"),
    *("__static_attributes__", "__parameters__", "__orig_bases__", "__slots__", "__annotate_func__"),
}
_OF_A_MODULE = {"training", "_parameters", "_buffers", "_modules", "_flat_weights", "_flat_weight_refs"}


class _UnknownError(Exception):
    """Something that has no digest."""


def digest_of(thing: object, *, weights: bool = True) -> str:
    """The digest of an object, or UNKNOWN; without `weights` only the structure of torch modules counts."""
    teller = _Teller(weights)
    try:
        teller.tell(thing)
    except (_UnknownError, RecursionError):
        return UNKNOWN
    return teller.hash.hexdigest()[:LENGTH]


class _Teller:
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
        elif isinstance(thing, np.generic | np.ndarray | Tensor):
            self._array(thing)
        elif isinstance(thing, torch.dtype | torch.device | PurePath):
            self.say(type(thing).__name__, thing)
        elif id(thing) in self.met:
            self.say("met", self.met[id(thing)][0])
        else:
            self.met[id(thing)] = len(self.met), thing
            self._new(thing)

    def _new(self, thing: Any) -> None:
        told: list[tuple[type | tuple[type, ...], Callable[[Any], None]]] = [
            (Mapping, lambda one: self._each("mapping", [part for item in one.items() for part in item])),
            ((list, tuple), lambda one: self._each(type(one).__name__, one)),
            (Set, self._set),
            (Enum, lambda one: self._each("enum", [type(one), one.name])),
            (functools.partial, lambda one: self._each("partial", [one.func, one.args, one.keywords])),
            (MethodType, lambda one: self._each("method", [one.__func__, one.__self__])),
            (FunctionType, self._function),
            (BuiltinFunctionType, self._builtin),
            (ModuleType, self._module),
            (type, self._class),
            (nn.Module, self._network),
        ]
        for kinds, how in told:
            if isinstance(thing, kinds):
                how(thing)
                return
        self._object(thing)

    def _each(self, name: str, parts: Any) -> None:
        self.say(name, len(parts))
        for part in parts:
            self.tell(part)

    def _set(self, parts: Any) -> None:
        """In an order of its own; of a set with something unknown in it nothing is known."""
        digests = sorted(digest_of(part, weights=self.weights) for part in parts)
        if UNKNOWN in digests:
            raise _UnknownError
        self.say("set", *digests)

    def _array(self, array: Any) -> None:
        if isinstance(array, Tensor):
            plain = array.detach().cpu().contiguous()
            self.say("tensor", plain.dtype, tuple(plain.shape), plain.reshape(-1).view(torch.uint8).numpy().tobytes())
        elif array.dtype.hasobject:
            self._each("array", np.asarray(array).tolist())
        else:
            self.say("array", array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes())

    def _home(self, thing: Any) -> str | None:
        """The module of what goes by its name, with its version; None for the user's own. Modules of this package are
        not told apart: they may move."""
        module = str(getattr(thing, "__module__", None) or "builtins")
        top = module.partition(".")[0]
        if top == "heteroselect":
            return top
        if top in _NOTED:
            return module
        package = sys.modules.get(top)
        version, file = getattr(package, "__version__", None), str(getattr(package, "__file__", ""))
        return f"{module} {version}" if version and "-packages" in file else None

    def _function(self, one: FunctionType) -> None:
        home = self._home(one)
        if home is not None and "<" not in one.__qualname__:
            self.say("function", home, one.__qualname__)
            return
        self._each("function", [one.__defaults__, one.__kwdefaults__])
        try:
            self._each("cells", [cell.cell_contents for cell in one.__closure__ or ()])
        except ValueError:  # a cell that has nothing in it yet
            raise _UnknownError from None
        self._code(one.__code__, one.__globals__)

    def _code(self, code: CodeType, names: Mapping[str, Any]) -> None:
        self.say("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, names)
            else:
                self.tell(constant)
        for name in code.co_names:
            if name in names:
                self.say(name)
                self.tell(names[name])

    def _builtin(self, one: BuiltinFunctionType) -> None:
        if not isinstance(one.__self__, ModuleType | type | None):
            raise _UnknownError
        self.say("builtin", one.__module__, one.__qualname__)

    def _module(self, one: ModuleType) -> None:
        top = one.__name__.partition(".")[0]
        if top == "heteroselect":
            self.say("module", top)
            return
        if top in _NOTED or "-packages" in str(getattr(one, "__file__", "")):
            self.say("module", one.__name__, getattr(sys.modules.get(top), "__version__", ""))
            return
        try:
            with open(str(one.__file__), "rb") as file:  # noqa: PTH123
                self.say("module", hashlib.file_digest(file, "sha256").hexdigest())
        except OSError:
            raise _UnknownError from None

    def _class(self, one: type) -> None:
        home = self._home(one)
        if home is not None and "<" not in one.__qualname__:
            self.say("class", home, one.__qualname__)
            return
        self.say("class", one.__name__)
        self._each("bases", one.__bases__)
        for name, value in vars(one).items():
            if name in _NO_MATTER or _generated(value):
                continue
            self.say(name)
            if isinstance(value, property):
                self._each("property", [value.fget, value.fset])
            elif isinstance(value, functools.cached_property):
                self.tell(value.func)
            elif isinstance(value, classmethod | staticmethod):
                self._each(type(value).__name__, [value.__func__])
            elif type(value).__name__ != "member_descriptor":
                self.tell(value)

    def _network(self, one: nn.Module) -> None:
        if isinstance(one, torch.jit.ScriptModule):
            raise _UnknownError
        self._object(one, {name: value for name, value in vars(one).items() if name not in _OF_A_MODULE})
        for name, tensor in (*one._parameters.items(), *one._buffers.items()):
            self.say(name)
            if tensor is None or self.weights:
                self.tell(tensor)
            else:
                self.say(tensor.dtype, tuple(tensor.shape), tensor.requires_grad)
        for name, inner in one._modules.items():
            self.say(name)
            self.tell(inner)

    def _object(self, one: Any, fields: Mapping[str, Any] | None = None) -> None:
        if fields is None:
            slots = [name for kind in type(one).__mro__ for name in _slots(kind) if hasattr(one, name)]
            if not hasattr(one, "__dict__") and not slots and not _empty(type(one)):
                raise _UnknownError  # whatever it holds lies in C
            fields = {**{name: getattr(one, name) for name in slots}, **getattr(one, "__dict__", {})}
        self.tell(type(one))
        for name, value in fields.items():
            self.say(name)
            self.tell(value)


def _slots(kind: type) -> tuple[str, ...]:
    found = vars(kind).get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(name for name in found if name not in _NO_MATTER)


def _empty(kind: type) -> bool:
    """Whether objects of a class have no place for a field."""
    return kind is not object and all("__slots__" in vars(one) or one is object for one in kind.__mro__)


def _generated(value: object) -> bool:
    """Whether a method was made by `dataclass`, from the fields that are told anyway."""
    code = getattr(value, "__code__", None)
    return isinstance(code, CodeType) and code.co_filename == "<string>"
