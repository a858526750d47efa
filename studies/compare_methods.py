"""Ten methods under one clock, among them those of the paper's Table I. Run it with `make compare`.

Plays ten methods with three seeds each into runs/compare-mnist (what is there already is not played again), and leaves
the table, the page and two of its figures in docs/results/compare.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS, KEPT = ROOT / "runs" / "compare-mnist", ROOT / "docs" / "results" / "compare"
METHODS = "heteroselect,heteroselect-as-run,fedavg,fedprox,fedcg,flexcom,optrate,adasample,oort,power-of-choice"
FILES = ("compare.md", "compare.csv", "compare.json", "report.html", "figures/accuracy.png", "figures/to-target.png")


def main() -> None:
    words = ["compare", "mnist", "--methods", METHODS, "--seeds", "42,43,44", "--out", str(RUNS)]
    subprocess.run([sys.executable, "-m", "heteroselect", *words], check=True)
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copy(RUNS / name, KEPT)
    print(KEPT.relative_to(ROOT))


if __name__ == "__main__":
    main()
