"""The notebook of examples/: its cells run from top to bottom in a process of their own, and it carries no output."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "examples" / "first_steps.ipynb"

RUNNER = """
import json, sys
namespace = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        *body, last = "".join(cell["source"]).rpartition("\\n")
        exec(compile("".join(body), "a cell", "exec"), namespace)
        try:
            value = eval(compile(last, "the last line of a cell", "eval"), namespace)
        except SyntaxError:
            exec(compile(last, "the last line of a cell", "exec"), namespace)
        else:
            if hasattr(value, "_repr_html_"):
                print("PAGE", len(value._repr_html_()), value._repr_html_().count("<svg"))
axes = namespace["axes"]
print("LINES", len(axes.lines))
"""


def cells() -> list[dict]:
    return json.loads(BOOK.read_text(encoding="utf-8"))["cells"]


def test_the_notebook_has_no_outputs_and_its_links_lead_somewhere():
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    text = "".join(line for cell in cells() if cell["cell_type"] == "markdown" for line in cell["source"])
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (BOOK.parent / target).exists(), target


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg"}
    command = [sys.executable, "-W", "error", "-c", RUNNER, str(BOOK)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=300)
    assert found.returncode == 0, found.stderr
    pages = re.findall(r"^PAGE (\d+) (\d+)$", found.stdout, re.M)
    assert [svg for _, svg in pages] == ["1", "1", "1"], "a result and two comparisons show themselves"
    assert all(int(size) < 20_000 for size, _ in pages)
    assert "LINES 7" in found.stdout, "three methods with two seeds, and the target"
    assert re.search(r"^seldom has asked 20 of 20 clients in 8 rounds$", found.stdout, re.M)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
