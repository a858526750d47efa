"""The same round beyond one machine: on Flower, simulated by Ray or deployed as SuperLink and SuperNodes.

Flower is an extra (`pip install heteroselect[flower]`), so nothing of it is imported before it is used.
"""

from importlib import import_module
from typing import Any

from heteroselect.errors import HeteroSelectError

_HOMES = {
    "answer": "heteroselect.flower.own",
    "FlowerEngine": "heteroselect.engines.flower.engine",
    "HeteroSelectStrategy": "heteroselect.flower.strategy",
}

__all__ = ["FlowerEngine", "HeteroSelectStrategy", "answer"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_flower()
    return getattr(import_module(_HOMES[name]), name)


def require_flower() -> None:
    try:
        import_module("flwr")
    except ModuleNotFoundError:
        raise HeteroSelectError(
            "flower: Flower is not installed; `pip install 'heteroselect[flower]'` brings it."
        ) from None
