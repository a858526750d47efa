"""The registry: every method by name. A file in this folder is a method with its paper, found by being here.

Files in `reconstructed/` have rules that follow from an abstract, with formulas of our own: they are not counted among
the published methods.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from pkgutil import iter_modules

from heteroselect.errors import HeteroSelectError, meant
from heteroselect.methods.entry import FAMILIES, STAR, Entry
from heteroselect.round.method import Method

_RECONSTRUCTED = "reconstructed"


def _found() -> Iterator[Entry]:
    """The ENTRY of each file, or its several ENTRIES."""
    here = Path(__file__).parent
    for folder, package in ((here, __name__), (here / _RECONSTRUCTED, f"{__name__}.{_RECONSTRUCTED}")):
        for file in iter_modules([str(folder)]):
            if file.name in ("entry", _RECONSTRUCTED):
                continue
            module = import_module(f"{package}.{file.name}")
            entries: tuple[Entry, ...] = getattr(module, "ENTRIES", ()) or (module.ENTRY,)
            for entry in entries:
                notes = cleandoc(module.__doc__ or "")
                yield replace(entry, notes=notes, reconstruction=folder.name == _RECONSTRUCTED)


def _place(entry: Entry) -> tuple[bool, int, int, str]:
    return entry.reconstruction, list(FAMILIES).index(entry.family), entry.year, entry.method.name


REGISTRY: dict[str, Entry] = {entry.method.name: entry for entry in sorted(_found(), key=_place)}
"""By family and year; reconstructions last."""


def counted() -> str:
    """How many methods there are, as words for a sentence."""
    entries = REGISTRY.values()
    published, rebuilt = sum(one.published for one in entries), sum(one.reconstruction for one in entries)
    own = len(entries) - published - rebuilt
    return f"{published} published methods, {own} of our own and {rebuilt} reconstructed from abstracts"


def get(name: str) -> Method:
    """Return a method by name."""
    if name not in REGISTRY:
        raise HeteroSelectError(
            f"method: there is no method {name!r}{meant(name, REGISTRY)}; `heteroselect methods` lists all, and "
            "your own is FILE.py:NAME."
        )
    return REGISTRY[name].method


def gaps(names: Iterable[str]) -> list[str]:
    """A sentence on each of these methods that is a reconstruction, and on each that leaves out something of its
    paper; other names are passed over."""
    known = {name: REGISTRY[name] for name in names if name in REGISTRY}
    found = [f"{name}: {STAR.removeprefix('* ')}." for name, entry in known.items() if entry.reconstruction]
    return found + [f"{name} leaves out {entry.leaves_out}." for name, entry in known.items() if entry.leaves_out]
