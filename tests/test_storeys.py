"""The storeys of the house: each folder or single module of the package imports from its own storey and from below."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "heteroselect"
FILES = sorted(SOURCE.rglob("*.py"))
STOREYS = [
    "errors files version",
    "extras",
    "core",
    "parts",
    "data models",
    "world",
    "round",
    "methods",
    "settings",
    "engines loggers",
    "runs",
    "comparison",
    "flower paper",
    "cli",
    "__init__ __main__",
]
"""From the ground up. Rooms of one storey do not know each other; what an engine carries (`engines/flower`) lies below
what runs it (`flower`)."""
HEIGHT = {room: height for height, storey in enumerate(STOREYS) for room in storey.split()}
LONGEST = 80
"""Lines of a function."""


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def run_parts(node: ast.AST) -> Iterator[ast.AST]:
    """All of a module but what stands under `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield child
            yield from run_parts(child)


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the room of each import of the package's own, at the top of a file or in a function."""
    for node in run_parts(ast.parse(path.read_text(encoding="utf-8"))):
        names = [one.name for one in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports have full names"
            names = [f"{node.module}.{name}" for name in names]
        for name in names:
            top, room, *_ = [*name.split("."), "__init__"]
            if top == "heteroselect":
                yield node.lineno, room if room in HEIGHT else "__init__"


def test_every_room_has_its_storey():
    assert sorted(HEIGHT) == sorted({room_of(path) for path in FILES})


def test_nobody_imports_from_above():
    upward = [
        f"{path.relative_to(SOURCE)}:{line} imports {room}"
        for path in FILES
        for line, room in imported(path)
        if room != room_of(path) and HEIGHT[room] >= HEIGHT[room_of(path)]
    ]
    assert not upward, "\n".join(upward)


def test_no_function_is_long():
    long = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST
    ]
    assert not long, "\n".join(long)


@pytest.mark.parametrize("module", ["settings.method", "parts.kinds", "round.method", "methods"])
@pytest.mark.slow
def test_the_settings_of_parts_are_known_without_what_takes_seconds_to_import(module):
    text = f"import heteroselect.{module}, sys; print(*{{'torch', 'scipy', 'flwr', 'matplotlib'}} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, check=True).stdout.split() == []
