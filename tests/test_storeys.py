"""The storeys of the house: each folder or single module of the package imports from its own storey and from below."""

import ast
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "heteroselect"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in FILES})

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


class Import(NamedTuple):
    """A room that a line of a file imports."""

    file: str
    line: int
    room: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.room}"


def _nodes(node: ast.AST, functions: bool = True) -> Iterator[ast.AST]:
    """All that is run: everything but what stands under `if TYPE_CHECKING:`. Without functions it is all that is run as
    soon as the module is imported."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in child.orelse:
                yield from _nodes(other, functions)
        elif functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _nodes(child, functions)


def _names(node: ast.AST, package: tuple[str, ...]) -> list[str]:
    """The full names that an import statement of a file in `package` takes in."""
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = package[: len(package) - node.level + 1] if node.level else ()
    return [".".join([*base, *filter(None, [node.module]), one.name]) for one in node.names]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[Import]:
    """The rooms that a file imports, at its top or in a function; its own too."""
    place = path.relative_to(SOURCE)
    package = ("heteroselect", *place.parts[:-1])
    found = []
    for node in _nodes(parsed(path)):
        for name in _names(node, package):
            top, *rest = name.split(".")
            if top == "heteroselect":
                room = rest[0] if rest and rest[0] in ROOMS else "__init__"
                found.append(Import(str(place), node.lineno, room))  # type: ignore[attr-defined]
    return found


def graph() -> dict[str, dict[str, list[Import]]]:
    """Room → room that it imports → the lines that do."""
    edges: dict[str, dict[str, list[Import]]] = {room: {} for room in ROOMS}
    for path in FILES:
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for one in imports(path):
            if one.room != own:
                edges[own].setdefault(one.room, []).append(one)
    return edges


def circles(edges: Mapping[str, Collection[str]]) -> list[set[str]]:
    """The groups of rooms, or of modules, each of which reaches all others of its group."""
    reach = {room: set(edges[room]) for room in edges}
    for middle in edges:
        for room in edges:
            if middle in reach[room]:
                reach[room] |= reach[middle]
    groups = {frozenset({room} | {other for other in reach[room] if room in reach[other]}) for room in edges}
    return sorted((set(group) for group in groups if len(group) > 1), key=sorted)


def test_every_room_has_its_storey():
    assert sorted(HEIGHT) == ROOMS


def test_nobody_imports_from_above():
    upward = [
        str(one)
        for room, imported in graph().items()
        for other, lines in imported.items()
        for one in lines
        if HEIGHT[other] >= HEIGHT[room]
    ]
    assert not upward, "\n".join(upward)


def modules() -> dict[str, set[str]]:
    """Module → the modules that are imported before it is done. Python imports `a` and `a.b` before `a.b.c`."""
    files = {".".join(["heteroselect", *path.relative_to(SOURCE).with_suffix("").parts]): path for path in FILES}
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    edges = {}
    for name, path in files.items():
        package = ("heteroselect", *path.relative_to(SOURCE).parts[:-1])
        asked = [one for node in _nodes(parsed(path), functions=False) for one in _names(node, package)]
        before = {above for one in (name, *asked) for above in accumulate(one.split("."), "{}.{}".format)}
        edges[name] = before & files.keys() - {name}
    registry = "heteroselect.methods"  # it imports all of its modules, by their names
    edges[registry] |= {name for name in files if name.startswith(f"{registry}.")}
    return edges


def through_its_room(circle: set[str]) -> bool:
    """Whether all of them are in a room that is one of them: Python imports it first, whichever is asked for."""
    room = min(circle, key=len)
    return all(f"{name}.".startswith(f"{room}.") for name in circle)


def test_any_module_can_be_the_first():
    """Modules that import each other are always imported in the same order."""
    found = circles(modules())
    assert any({"heteroselect.parts.compress", "heteroselect.parts.compress.stc"} <= one for one in found)
    assert [one for one in found if not through_its_room(one)] == []


def test_a_circle_is_entered_through_its_room_or_not():
    assert through_its_room({"a", "a.b", "a.c.d"})
    assert not through_its_room({"a.b", "a.c"})
    assert not through_its_room({"a", "ab"})


def test_a_circle_is_found():
    one = Import("a", 1, "b")
    assert circles({"a": {"b": [one]}, "b": {"c": [one]}, "c": {"a": [one]}, "d": {"a": [one]}}) == [{"a", "b", "c"}]
    assert circles({"a": {"b": [one]}, "b": {}}) == []


def test_every_import_is_seen_but_those_for_the_type_checker():
    tree = ast.parse(
        "from typing import TYPE_CHECKING\n"
        "import heteroselect.core.flat\n"
        "from heteroselect.parts import score\n"
        "from heteroselect import run\n"
        "from . import wire\n"
        "from ..part import check\n"
        "if TYPE_CHECKING:\n    from heteroselect.world import World\nelse:\n    import heteroselect.data.files\n"
        "def later():\n    from heteroselect.cli.app import main\n"
    )
    names = [name for node in _nodes(tree) for name in _names(node, ("heteroselect", "parts", "compress"))]
    assert [name for name in names if name.startswith("heteroselect")] == [
        "heteroselect.core.flat",
        "heteroselect.parts.score",
        "heteroselect.run",
        "heteroselect.parts.compress.wire",
        "heteroselect.parts.part.check",
        "heteroselect.data.files",
        "heteroselect.cli.app.main",
    ]
    at_once = [
        name for node in _nodes(tree, functions=False) for name in _names(node, ("heteroselect", "parts", "compress"))
    ]
    assert at_once == names[:-1]


def test_no_function_is_long():
    long = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.name} has {length} lines"
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > LONGEST
    ]
    assert not long, "\n".join(long)


def _python(*words: str) -> str:
    """What another interpreter prints."""
    found = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    return found.stdout


EVERYTHING = """
import importlib, pathlib, sys
from importlib.machinery import FileFinder, SourceFileLoader
from importlib.util import find_spec
source = pathlib.Path(sys.argv[1])

class Bare(SourceFileLoader):  # as -OO would have it, which would compile all of PyTorch as well
    def get_code(self, name):
        path = self.get_filename(name)
        return compile(self.get_data(path), path, "exec", dont_inherit=True, optimize=2)

def hook(path):
    if not pathlib.Path(path).is_relative_to(source.parent):
        raise ImportError
    return FileFinder(path, (Bare, [".py"]))

sys.path_hooks.insert(0, hook)
sys.path.insert(0, str(source.parent))
sys.path_importer_cache.clear()
count = 0
for path in sorted(source.rglob("*.py")):
    parts = path.relative_to(source.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if parts[-1] == "__main__" or (parts[1] == "flower" and find_spec("flwr") is None):
        continue
    assert importlib.import_module(name).__doc__ is None, name
    count += 1
print(count)
"""


@pytest.mark.slow
def test_every_module_can_be_imported_without_docstrings_and_asserts():
    assert int(_python("-W", "ignore", "-c", EVERYTHING, str(SOURCE))) > 100


@pytest.mark.slow
def test_the_settings_are_told_the_same_without_docstrings():
    text = "from heteroselect.settings import describe, method; print([*describe(), *method.describe()])"
    assert _python("-OO", "-c", text) == _python("-c", text)


@pytest.mark.parametrize("module", ["settings.method", "parts.kinds", "round.method", "methods"])
@pytest.mark.slow
def test_the_settings_of_parts_are_known_without_what_takes_seconds_to_import(module):
    heavy = {"torch", "scipy", "constriction", "flwr", "matplotlib"}
    assert _python("-c", f"import heteroselect.{module}, sys; print(*{heavy} & set(sys.modules))").split() == []
