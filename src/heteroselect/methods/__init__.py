"""The registry: each published system by name, with its paper and the settings it lays over the defaults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heteroselect.config import load
from heteroselect.method import Method
from heteroselect.methods import heteroselect
from heteroselect.settings import MethodSettings


@dataclass(frozen=True)
class Entry:
    """`settings` are dotted keys over the defaults; `build` turns the method's settings into its parts."""

    summary: str
    paper: str
    build: Callable[[MethodSettings], Method]
    settings: Mapping[str, Any] = field(default_factory=dict)


_PAPER = "Masud, Jahin, Hasan: HeteRo-Select"

REGISTRY: dict[str, Entry] = {
    "heteroselect": Entry("the paper's text, with its recommended shared rate", _PAPER, heteroselect.build),
    "heteroselect-as-run": Entry(
        "what produced the authors' logs and Table I", _PAPER, heteroselect.build, heteroselect.AS_RUN
    ),
}

SETTINGS: dict[str, Mapping[str, Any]] = {name: entry.settings for name, entry in REGISTRY.items()}


def build(settings: MethodSettings) -> Method:
    return REGISTRY[settings.name].build(settings)


def get(name: str) -> Method:
    """A method by name, with its own settings."""
    return build(load({"method": {"name": name}}, methods=SETTINGS).method)
