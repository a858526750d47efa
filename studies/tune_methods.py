"""The ten methods of `make compare`, each with its default and tuned with equal effort. Run it with `make tune`.

Plays twelve trials per method with the seeds 101 and 102 on validation examples of MNIST, into runs/tuned (what is
there already is not played again), then compares the tuned methods on the test part with the seeds of `make compare`.
What is best is the final accuracy, by which the comparison ranks: at the bytes of a method that compresses, one that
does not would be tuned for its first rounds alone.
Leaves the files of settings and the pages in docs/results/tuned.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from compare_methods import METHODS, ROOT, SEEDS

COMPARED = ("compare.md", "compare.csv", "compare.json", "report.html")


def play(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "heteroselect", *words], check=True, cwd=ROOT)


def named(folder: Path) -> str:
    """As the files will name it, which are mailed around: no folder of this machine."""
    return str(folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder)


def main(tuned: Path, compared: Path, kept: Path, *more: str) -> None:
    """Tune and compare, and keep what people look at."""
    play("tune", "mnist", "--methods", METHODS, "--trials", "12", "--seeds", "101,102", "--by", "final",
         "--out", named(tuned), *more)  # fmt: skip
    play("compare", "mnist", "--methods", METHODS, "--seeds", SEEDS,
         "--tuned", named(tuned), "--out", named(compared), *more)  # fmt: skip
    kept.mkdir(parents=True, exist_ok=True)
    for file in (*tuned.glob("*.toml"), tuned / "tune.json", tuned / "tune.html", *(compared / f for f in COMPARED)):
        shutil.copy(file, kept)
    print(kept)


if __name__ == "__main__":
    runs = ROOT / "runs"
    main(runs / "tuned", runs / "compare-tuned", ROOT / "docs" / "results" / "tuned")
