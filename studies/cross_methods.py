"""Five ways to select clients, each with five ways to compress what they send, on MNIST. Run it with `make cross`.

Plays FedAvg with every pair and five seeds each into runs/cross (what is there already is not played again), and leaves
the tables, the page and the picture in docs/results/cross.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SELECT = "method.select.kind=uniform,softmax,oort,power-of-choice,divfl"
COMPRESS = "method.compress.kind=none,topk,stc,qsgd,drive"
SEEDS = "42,43,44,45,46"
FILES = ("cross.md", "cross.csv", "cross.json", "cross.html", "cross.svg", "cross.png")


def keep(runs: Path, kept: Path, *words: str) -> None:
    """Cross, into `runs`, and keep what people look at in `kept`."""
    command = [sys.executable, "-m", "heteroselect", "compare", "mnist", *words, "--out", str(runs)]
    subprocess.run(command, check=True, cwd=ROOT)
    kept.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copy(runs / file, kept)
    print(kept)


if __name__ == "__main__":
    axes = ("--cross", SELECT, "--cross", COMPRESS, "--seeds", SEEDS)
    keep(ROOT / "runs" / "cross", ROOT / "docs" / "results" / "cross", *axes)
