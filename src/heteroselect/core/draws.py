"""The random numbers that torch draws by itself (initial weights, dropout), taken from the run's streams."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from heteroselect.core.streams import Streams

# Whoever has to borrow torch's default generator for a moment does so under this lock.
_default_generator = threading.Lock()


@contextmanager
def seeded_construction(streams: Streams) -> Iterator[None]:
    """Build a module inside: its initial weights come from the run's seed, and torch's global
    generator is left exactly as it was."""
    with _default_generator, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.random.manual_seed(streams.torch("initial weights").initial_seed())
        yield


@dataclass(frozen=True)
class Draws:
    """Which torch functions a model draws random numbers with, as a dry run saw it (`watch_draws`).

    `hidden` is a draw outside every torch function, as TorchScript makes them.
    """

    functions: frozenset[Any] = frozenset()
    hidden: bool = False


def watch_draws(call: Callable[[], object]) -> Draws:
    """Run `call` once and note what in it draws random numbers; the global generator is not touched."""
    functions: set[Any] = set()
    attributed = 0

    class Watch(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal attributed
            before = operators.drawn
            result = func(*args, **(kwargs or {}))
            if operators.drawn > before:
                functions.add(func)
                attributed += operators.drawn - before
            return result

    with _SeededOperators(torch.Generator()) as operators, Watch():
        call()
    return Draws(frozenset(functions), hidden=operators.drawn > attributed)


@contextmanager
def drawing_from(generator: torch.Generator, draws: Draws) -> Iterator[None]:
    """Every random number that torch draws inside comes from `generator`, whoever draws it. Modes are local to a
    thread: clients in a pool do not mix. Only the functions that do draw pay for it. (Not covered: activation
    checkpointing around dropout, which replays torch's own generator and no other.)"""
    if draws.hidden:
        with _SeededOperators(generator):
            yield
    elif draws.functions:
        # a branch that the dry run did not take may draw too, by one of the usual functions
        with _SeededFunctions(generator, draws.functions | _usual_functions()):
            yield
    else:
        yield


class _SeededFunctions(TorchFunctionMode):
    """Gives the functions known to draw seeded operators, and lets all others pass."""

    def __init__(self, generator: torch.Generator, functions: frozenset[Any]) -> None:
        super().__init__()
        self.generator, self.functions = generator, functions

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in self.functions:
            return func(*args, **(kwargs or {}))
        with _SeededOperators(self.generator):
            return func(*args, **(kwargs or {}))


class _SeededOperators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every random operator inside, below modules and functions, takes its numbers from `generator`: thorough and slow.
    `drawn` counts them."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Or torch imports its compiler to keep out of here, which takes longer than a run's first rounds."""
        return False

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generator = generator
        self.drawn = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        self.drawn += 1
        if kwargs.get("generator") is not None:  # somebody has chosen already
            return func(*args, **kwargs)
        seeded = _seeded_overload(func)
        if seeded is not None and _device(args, kwargs).type == self.generator.device.type:
            return seeded(*args, **{**kwargs, "generator": self.generator})
        seed = int(torch.randint(2**62, (), generator=self.generator, device=self.generator.device))
        with _default_generator, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
            torch.random.manual_seed(seed)
            return func(*args, **kwargs)


@cache
def _usual_functions() -> frozenset[Any]:
    """Torch's functions that draw random numbers, as far as their names tell."""
    names = "dropout rand normal bernoulli multinomial poisson uniform exponential geometric cauchy gumbel rrelu"
    places = torch, torch.Tensor, torch.nn.functional
    named = [getattr(place, name) for place in places for name in dir(place) if any(n in name for n in names.split())]
    return frozenset(filter(callable, named))


def _device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.device:
    """Where an operator will run: on its first tensor's device, else on the one it is told."""
    tensor = next((a for a in args if isinstance(a, torch.Tensor)), None)
    return tensor.device if tensor is not None else torch.device(kwargs.get("device") or "cpu")


@cache
def _seeded_overload(func: Any) -> Any | None:
    """The overload of a random operator that takes a generator, if torch has one."""
    wanted = [argument.name for argument in func._schema.arguments if argument.name != "generator"]
    for name in [func._overloadname, *func.overloadpacket.overloads()]:
        overload = getattr(func.overloadpacket, name)
        names = [argument.name for argument in overload._schema.arguments]
        if "generator" in names and [n for n in names if n != "generator"] == wanted:
            return overload
    return None
