"""The documentation site: it builds without a warning, its lists are those of the code, and its code runs."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import typer
import typer.core

import heteroselect
from heteroselect.cli.app import app
from heteroselect.methods import REGISTRY
from heteroselect.parts.kinds import KINDS
from scripts import script

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RUN = {
    "extend.md": {"mine.py", "owners.py", "people.py", "metric.py"},
    "tutorial.md": {"tutorial.py", "turns.py"},
    "python.md": {""},
    "index.md": {"index.py"},
    "README.md": {""},
}
"""The marks before code that a test runs, here, in test_extend.py or, all of a page, in test_python_page.py. An excerpt
is part of something longer."""


class Block(NamedTuple):
    page: str
    mark: str
    language: str
    text: str


def blocks() -> list[Block]:
    """All code blocks of the pages; the mark is the comment right above one."""
    found = []
    for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))):
        mark, lines = "", iter(path.read_text(encoding="utf-8").splitlines())
        for line in lines:
            if line.lstrip().startswith("```"):
                body = []
                while not (inside := next(lines)).lstrip().startswith("```"):
                    body.append(inside)
                found.append(Block(path.name, mark, line.strip().strip("`"), "\n".join(body)))
            comment = re.fullmatch(r"<!-- (.*) -->", line)
            mark = comment[1] if comment else ""
    return found


def marked(page: str, mark: str) -> str:
    return "\n\n".join(one.text for one in blocks() if (one.page, one.mark, one.language) == (page, mark, "python"))


def test_every_code_block_is_run_or_marked_as_what_it_is():
    kinds = {"", "sh", "text", "toml", "python", "{toctree}", "{eval-rst}"}
    assert [one for one in blocks() if one.language not in kinds] == []
    code = [one for one in blocks() if one.language == "python"]
    assert len(code) > 15
    assert [one for one in code if one.mark not in {"excerpt"} | RUN.get(one.page, set())] == []
    for one in code:
        tree = ast.parse(one.text)
        if one.mark == "excerpt" and (one.page != "flower.md" or find_spec("flwr") is not None):
            imports = [node for node in tree.body if isinstance(node, ast.ImportFrom | ast.Import)]
            exec(compile(ast.Module(imports, []), one.page, "exec"), {})  # what it names is there
    tables = [tomllib.loads(one.text) for one in blocks() if one.language == "toml"]
    for table in tables:
        (name,) = table.get("with", {None: {}})
        found = heteroselect.load(table, method=name)
        assert found.rounds == 84 if name else found.method["select"]["kind"] == "oort"


def test_the_metric_of_the_page_measures():
    names: dict[str, object] = {}
    exec(marked("extend.md", "metric.py"), names)
    found = names["mse"].function(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    assert found == 2.5, "(1 + 4) / 2"


PROSE = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))))


def commands() -> list[str]:
    """All command lines of code blocks and between single backticks; what stands for something else is left out."""
    text = "\n".join(one.text for one in blocks() if one.language in {"", "sh"}).replace("\\\n", " ")
    inside = [" ".join(one.split()) for one in re.findall(r"(?<!`)`(heteroselect\s[a-z][^`]*)`(?!`)", PROSE)]
    lines = [line for line in text.splitlines() if line.startswith("heteroselect ")] + inside
    return [line for line in lines if not re.search(r"…|\b[A-Z]{2,}\b", line.partition("#")[0])]


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_every_command_line_is_one(line):
    """Each command exists and takes these arguments and options; nothing is run."""
    command, words = typer.main.get_command(app), shlex.split(line, comments=True)[1:]
    while isinstance(command, typer.core.TyperGroup):
        command, words = command.get_command(typer.Context(command), words[0]), words[1:]
        assert command is not None
        if not words:
            return  # a command is named, and not called
    command.make_context("heteroselect", words)


def test_every_target_of_make_is_there():
    made = {*re.findall(r"`make ([a-z-]+)[ `]", PROSE), *re.findall(r"^make ([a-z-]+)", PROSE, re.M)}
    assert len(made) > 10
    assert made <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(marked("tutorial.md", "tutorial.py"), "tutorial.py", "exec"), {})
    assert re.match(r"\d\d\.\d% at best\nround 1: clients \[", capsys.readouterr().out)
    Path("turns.py").write_text(marked("tutorial.md", "turns.py"), encoding="utf-8")
    small = {"clients": 6, "selected": 2, "rounds": 4, "method.solver.steps": 1}
    chosen = {**small, "method.select.kind": "turns.py:Turns", "method.select.skip": 1}
    found = heteroselect.run("mnist", settings=chosen).rounds
    assert [sorted(line["selected"]) for line in found] == [[0, 1], [3, 4], [0, 1], [3, 4]]
    found = heteroselect.run("mnist", method="turns.py:turns", settings=small).rounds
    assert [sorted(line["selected"]) for line in found] == [[0, 1], [2, 3], [4, 5], [0, 1]]


def test_the_page_of_parts_is_that_of_the_code():
    page = (DOCS / "parts.md").read_text(encoding="utf-8")
    assert page == script("studies/parts_page.py").page(), "make docs writes it"
    headings = re.findall(r"^#### `(\w+)` `(.*)`$", page, re.MULTILINE)
    assert headings == [(role, kind) for role, kinds in KINDS.items() for kind in kinds]
    assert all(entry.paper.partition("*")[0].partition("[")[0] in page for entry in REGISTRY.values())


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    missing = [name for name in ("sphinx", "furo", "myst_parser") if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed (the extra docs; make site)")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", str(tmp_path / "trees"), str(DOCS)]
    built = subprocess.run([*command, str(tmp_path / "site")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    reference = (tmp_path / "site" / "reference.html").read_text(encoding="utf-8")
    for name in ("heteroselect.run", "heteroselect.resume", "heteroselect.round.method.Selector"):
        assert f'id="{name}"' in reference
    assert "what is in rounds.jsonl: who took part" in reference, "what stands before a colon is not taken for a type"
    pages = {path.relative_to(tmp_path / "site").stem for path in (tmp_path / "site").rglob("*.html")}
    assert {"index", "tutorial", "parts", "settings", "wire", "results"} <= pages
