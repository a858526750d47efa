"""Ten methods under one clock, among them those of the paper's Table I. Run it with `make compare`.

Plays ten methods with five seeds each into runs/compare (what is there already is not played again), and leaves
the table, the page and two of its figures in docs/results/compare.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
METHODS = "heteroselect,heteroselect-as-run,fedavg,fedprox,fedcg,flexcom,optrate,adasample,oort,power-of-choice"
SEEDS = "42,43,44,45,46"
FILES = ("compare.md", "compare.csv", "compare.json", "report.html", "figures/accuracy.png", "figures/to-target.png")


def keep(name: str, preset: str, methods: str, seeds: str) -> None:
    """Compare, into runs/NAME, and keep what people look at in docs/results/NAME."""
    runs, kept = ROOT / "runs" / name, ROOT / "docs" / "results" / name
    out = str(runs.relative_to(ROOT))  # the page names it, and no folder of this machine
    words = ["compare", preset, "--methods", methods, "--seeds", seeds, "--out", out]
    subprocess.run([sys.executable, "-m", "heteroselect", *words], check=True, cwd=ROOT)
    kept.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        shutil.copy(runs / file, kept)
    print(kept.relative_to(ROOT))


if __name__ == "__main__":
    keep("compare", "mnist", METHODS, SEEDS)
