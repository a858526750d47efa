"""What a user hands over in Python, because no setting can name it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from torch import nn

from heteroselect.core.evaluate import Function, Metric
from heteroselect.core.flat import Loss
from heteroselect.world import World


@dataclass(frozen=True, eq=False)
class Own:
    """A user's own model, data, test part, loss, metric and world; None stands for what the settings say.

    >>> own = Own(loss=lambda outputs, targets: ((outputs - targets) ** 2).mean())
    >>> own.names, bool(own), bool(Own())
    (('loss',), True, False)
    """

    model: Callable[[], nn.Module] | nn.Module | str | None = None
    """a function that makes a module, a module whose weights are the start, or the name of a known model"""
    data: Any = None
    """a list with one (x, y) per client, {"owner": (x, y)}, or one (x, y) to be dealt out"""
    test: Any = None
    loss: Loss | None = None
    metric: Metric | Function | None = None
    world: World | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What was handed over."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) is not None)

    def __bool__(self) -> bool:
        return bool(self.names)

    def settled(self, settings: Mapping[str, Any] | None = None) -> tuple["Own", dict[str, Any]]:
        """The same with the name of a known model, if there is one, moved to where it belongs: the settings.

        >>> Own(model="cnn").settled({"rounds": 3})[1]
        {'rounds': 3, 'model.name': 'cnn'}
        """
        if not isinstance(self.model, str):
            return self, dict(settings or {})
        return replace(self, model=None), {**(settings or {}), "model.name": self.model}
