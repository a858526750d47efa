"""docs/python.md and the README: their Python is run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

CUT = """
from pathlib import Path
import torch
from torch import nn
clients = [(torch.randn(20, 3), torch.randint(0, 2, (20,))) for _ in range(8)]
x_test, y_test = clients[0]
model = MyModel = lambda: nn.Linear(3, 2)
test = clients[0]
Path("links.csv").write_text("second,up_mbps\\n0,1\\n60,4\\n")
"""
"""What stands before the blocks of the README and of the first page: the reader's own model, data and network."""


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)


def play(code: str, folder: Path) -> str:
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(tmp_path):
    said = play("\n".join(blocks("docs/python.md")), tmp_path)
    assert "<Result of oort: 8 rounds" in said
    assert "Rows are ranked by final accuracy" in said
    assert "two runs: fewer bytes do not cost accuracy" in said
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.slow
def test_the_block_of_the_readme_runs(tmp_path):
    extend = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    seldom = re.search(r"<!-- mine\.py -->\n```python\n(.*?)```", extend, re.S)
    (tmp_path / "mine.py").write_text(seldom[1], encoding="utf-8")
    first = next(block for block in blocks("README.md") if block.startswith("import heteroselect"))
    play(CUT + first, tmp_path)
    made = {path.name for path in (tmp_path / "out").rglob("*")}
    assert {"compare.tex", "compare.csv", "report.html", "accuracy.pdf", "summary.json"} <= made


@pytest.mark.slow
def test_the_block_of_the_first_page_runs(tmp_path):
    play(CUT + blocks("docs/index.md")[0], tmp_path)
