"""The page of all parts and published methods, docs/parts.md, from the code itself. Run it with `make docs`."""

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from heteroselect.cli.listings import ROLES
from heteroselect.core.part import declared, kind_of
from heteroselect.methods import REGISTRY
from heteroselect.methods.entry import Entry
from heteroselect.parts.kinds import KINDS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "parts.md"
HEAD = """# Parts and methods

A method is one part per role, and any part goes with any other that can work with it: `--set method.select.kind=oort`.
Below is every kind of every role, what it does, its fields with their defaults (what is allowed is in
[settings](settings.md)), and the published methods with their papers. The page is made by `make docs`.
"""
RECONSTRUCTED = """Reconstructed methods

The rules of these follow from the abstracts of their papers, with formulas of our own. A star marks them in tables, and
they are not counted among the published methods."""


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## Parts"]
    for role, kinds in KINDS.items():
        parts.append(f"### `method.{role}`: {ROLES[role]}")
        parts += [_kind(role, name, kind) for name, kind in kinds.items()]
    for title, rebuilt in (("Methods", False), (RECONSTRUCTED, True)):
        parts.append(f"## {title}")
        parts += [_method(name, entry) for name, entry in REGISTRY.items() if entry.reconstruction is rebuilt]
    return "\n\n".join(parts) + "\n"


def _kind(role: str, name: str, kind: type) -> str:
    fields = [f"- `{field}` = {_value(one.default)}: {_text(one.meaning)}" for field, one in declared(kind).items()]
    module = kind.__module__.removeprefix("heteroselect.")
    lines = [f"#### `{role}` `{name}`", _text(_said(kind.__doc__)), f"`heteroselect.{module}.{kind.__name__}`"]
    cited = _text(_said(sys.modules[kind.__module__].__doc__).partition("\n\n")[0])
    if re.search(r"\b(19|20)\d\d\b", cited):  # the file names a paper
        lines.append(f"From: {cited}")
    users = [method for method, entry in REGISTRY.items() if name == kind_of(getattr(entry.method, role))]
    if users and len(users) < len(REGISTRY) / 4:
        lines.append(f"In the methods {', '.join(f'`{one}`' for one in users)}.")
    return "\n\n".join([*lines, *(["\n".join(fields)] if fields else [])])


def _method(name: str, entry: Entry) -> str:
    heading = f"### {name}{chr(92) + '*' if entry.reconstruction else ''}"
    lines = [heading, f"{_text(entry.summary)}.", _text(entry.paper)]
    if entry.leaves_out:
        lines.append(f"Leaves out {_text(entry.leaves_out)}.")
    return "\n\n".join([*lines, *([_text(entry.notes)] if entry.notes else [])])


def _said(text: str | None) -> str:
    """A docstring up to its examples."""
    return inspect.cleandoc(text or "").partition(">>>")[0].strip()


def _text(text: str) -> str:
    """Markdown in which only what stands between backticks is code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if at % 2 else re.sub(r"([*_<>\[\]])", r"\\\1", piece) for at, piece in enumerate(pieces))


def _value(value: Any) -> str:
    return f"`{value!r}`" if isinstance(value, str) else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
