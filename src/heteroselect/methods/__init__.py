"""The registry: every method by name. Each `Entry` in a file of this folder is a method with its paper, found by being here.

Files in `reconstructed/` have rules that follow from an abstract, with formulas of our own: they are not counted among
the published methods.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import cleandoc
from pkgutil import walk_packages

from heteroselect.errors import HeteroSelectError, meant
from heteroselect.methods.entry import FAMILIES, STAR, Entry
from heteroselect.round.method import Method


def _found() -> Iterator[Entry]:
    """Every Entry of every file, with the docstring of the file as its notes."""
    for file in walk_packages(__path__, f"{__name__}."):
        module = import_module(file.name)
        notes, apart = cleandoc(module.__doc__ or ""), file.name.startswith(f"{__name__}.reconstructed.")
        for entry in filter(lambda one: isinstance(one, Entry), vars(module).values()):
            yield replace(entry, notes=notes, reconstruction=apart)


REGISTRY: dict[str, Entry] = {
    entry.method.name: entry
    for entry in sorted(
        _found(), key=lambda one: (one.reconstruction, [*FAMILIES].index(one.family), one.year, one.method.name)
    )
}
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
