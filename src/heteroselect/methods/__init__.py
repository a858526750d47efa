"""The registry: each published system by name. A method file is its parts and its paper."""

from collections.abc import Iterable
from importlib import import_module

from heteroselect.errors import HeteroSelectError, meant
from heteroselect.methods.entry import STAR, Entry
from heteroselect.round.method import Method

# in the order in which they are listed; a file has one ENTRY, or several ENTRIES
_FILES = (
    "heteroselect fedavg fedprox optrate flexcom adasample fedcg power_of_choice oort fedcs optimal_client_sampling "
    "clustered_sampling divfl delta fedcor rbcs_f fairfedcs fedstas fedlecc longfed rl qsgd fedpaq stc dgc aji mem_sgd random_k wangni terngrad signsgd_majority ef21 drive fedluar opwa fedband scaffold "
    "feddyn fedsol fednova fedadam fedyogi fedavgm fedacg fedbuff lean heteroselect2"
)


def _entries(file: str) -> tuple[Entry, ...]:
    module = import_module(f"{__name__}.{file}")
    entries: tuple[Entry, ...] = getattr(module, "ENTRIES", ()) or (module.ENTRY,)
    return entries


REGISTRY: dict[str, Entry] = {entry.method.name: entry for file in _FILES.split() for entry in _entries(file)}


def get(name: str) -> Method:
    """A method by name."""
    if name not in REGISTRY:
        raise HeteroSelectError(
            f"method: no method {name!r}{meant(name, REGISTRY)}; allowed are {', '.join(REGISTRY)}, or your own as "
            "FILE.py:NAME."
        )
    return REGISTRY[name].method


def gaps(names: Iterable[str]) -> list[str]:
    """A sentence on each of these methods that is a reconstruction, and on each that leaves out something of its
    paper; other names are passed over."""
    known = {name: REGISTRY[name] for name in names if name in REGISTRY}
    found = [f"{name}: {STAR.removeprefix('* ')}." for name, entry in known.items() if entry.reconstruction]
    return found + [f"{name} leaves out {entry.leaves_out}." for name, entry in known.items() if entry.leaves_out]
