"""Runs the comparison of the README's first screen and keeps its table and its picture in docs/results/first.

`make first` calls it, in about two minutes on two cores; `make results` puts the table into the README.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "results" / "first"
COMMAND = "heteroselect compare mnist-narrowband --methods fedavg,oort,stc,drive --seeds 1,2,3 --rounds 30"
WIDTH = 96
"""Letters in a line of the terminal that the command believes in: the README's blocks are as wide."""


def main() -> None:
    """Run the command and keep what the README shows of it."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out"
        (KEPT / "compare.txt").write_text(f"$ {COMMAND}\n{first_table(said(out))}", encoding="utf-8")
        shutil.copy(out / "figures" / "race.svg", KEPT / "race.svg")


def said(out: Path) -> str:
    """What the command prints, on a terminal of this width."""
    words = [sys.executable, "-m", "heteroselect", *COMMAND.split()[1:], "--out", str(out)]
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    return subprocess.run(words, env=environment, check=True, capture_output=True, encoding="utf-8").stdout


def first_table(printed: str) -> str:
    """The first table among the lines of a terminal.

    >>> print(first_table("finished\\n┏━━┓\\n┃ a┃\\n└──┘\\nfolder: x"), end="")
    ┏━━┓
    ┃ a┃
    └──┘
    """
    lines = printed.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("┏"))
    end = next(place for place, line in enumerate(lines) if place > start and line.startswith("└"))
    return "\n".join(line.rstrip() for line in lines[start : end + 1]) + "\n"


if __name__ == "__main__":
    main()
