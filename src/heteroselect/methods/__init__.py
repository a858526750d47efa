"""The registry: each published system by name, with its paper and the settings it lays over the defaults."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.methods import (
    adasample,
    clustered_sampling,
    delta,
    dgc,
    divfl,
    drive,
    ef21,
    fedacg,
    fedadam,
    fedavg,
    fedavgm,
    fedcg,
    fedcs,
    feddyn,
    fednova,
    fedpaq,
    fedprox,
    fedyogi,
    flexcom,
    heteroselect,
    lean,
    oort,
    optimal_client_sampling,
    optrate,
    power_of_choice,
    scaffold,
    signsgd_majority,
    stc,
)
from heteroselect.settings import MethodSettings
from heteroselect.settings.config import load


@dataclass(frozen=True)
class Entry:
    """`settings` are dotted keys over the defaults; `build` turns the method's settings into its parts. The rule is its
    authors' own, or a `reconstruction` where their paper's text was not at hand."""

    summary: str
    paper: str
    build: Callable[[MethodSettings], Method]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reconstruction: bool = False


def _of(module: ModuleType, *, reconstruction: bool = False) -> Entry:
    """What a method's file says of itself: its first sentence, and the paper it cites next."""
    first, cited = (module.__doc__ or "").strip().split("\n\n")[:2]
    summary = " ".join(first.partition(": ")[2].split()).rstrip(".")
    title_ends = cited.index('", ') if '", ' in cited else 0
    paper = cited[: cited.index(".", title_ends)]
    return Entry(summary, " ".join(paper.split()), module.build, module.SETTINGS, reconstruction)


REGISTRY: dict[str, Entry] = {
    "heteroselect": Entry("the paper's text, with its recommended shared rate", heteroselect.PAPER, heteroselect.build),
    "heteroselect-as-run": Entry(
        "what produced the authors' logs and Table I", heteroselect.PAPER, heteroselect.build, heteroselect.AS_RUN
    ),
    "fedavg": _of(fedavg),
    "fedprox": _of(fedprox),
    "optrate": _of(optrate, reconstruction=True),
    "flexcom": _of(flexcom, reconstruction=True),
    "adasample": _of(adasample),
    "fedcg": _of(fedcg, reconstruction=True),
    "power-of-choice": _of(power_of_choice),
    "oort": _of(oort),
    "fedcs": _of(fedcs),
    "optimal-client-sampling": _of(optimal_client_sampling),
    "clustered-sampling": _of(clustered_sampling),
    "divfl": _of(divfl),
    "delta": _of(delta),
    "fedpaq": _of(fedpaq),
    "stc": _of(stc),
    "dgc": _of(dgc),
    "signsgd-majority": _of(signsgd_majority),
    "ef21": _of(ef21),
    "drive": _of(drive),
    "scaffold": _of(scaffold),
    "feddyn": _of(feddyn),
    "fednova": _of(fednova),
    "fedadam": _of(fedadam),
    "fedyogi": _of(fedyogi),
    "fedavgm": _of(fedavgm),
    "fedacg": _of(fedacg),
    "lean": _of(lean),
}

SETTINGS: dict[str, Mapping[str, Any]] = {name: entry.settings for name, entry in REGISTRY.items()}


def build(settings: MethodSettings) -> Method:
    if settings.options and not _takes_options(settings.name):
        raise HeteroSelectError(f"method.options: {settings.name} has none; allowed are the other settings of method.")
    return REGISTRY[settings.name].build(settings)


def _takes_options(name: str) -> bool:
    """Whether any part of the method looks at options, and so refuses one that cannot be."""
    plain = load({"method": {"name": name}}, methods=SETTINGS).method
    try:
        REGISTRY[name].build(plain.model_copy(update={"options": {"?": 0}}))
    except HeteroSelectError:
        return True
    return False


def get(name: str) -> Method:
    """A method by name, with its own settings."""
    return build(load({"method": {"name": name}}, methods=SETTINGS).method)
