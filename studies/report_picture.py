"""A picture of a report for the README. Run it with `make screenshots`; it needs Debian's package chromium.

Plays MNIST with two methods and two seeds, makes the page with `heteroselect report`, and has a headless browser
photograph its top into docs/results/report.png.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "results" / "report.png"
METHODS, SEEDS = ("heteroselect", "heteroselect-as-run"), (42, 43)
WIDTH, HEIGHT = 1240, 1840


def main() -> None:
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("make screenshots needs Debian's package chromium")
    with tempfile.TemporaryDirectory() as place:
        for method in METHODS:
            for seed in SEEDS:
                words = ("--method", method, "--seed", str(seed), "--out", f"runs/{method}-{seed}", "--quiet")
                heteroselect(place, "run", "mnist", *words)
        heteroselect(place, "report", "runs", "--out", "report.html")
        photograph(browser, Path(place) / "report.html", PICTURE)
    print(PICTURE.relative_to(ROOT))


def heteroselect(place: str, *words: str) -> None:
    source = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": source}
    subprocess.run([sys.executable, "-m", "heteroselect", *words], cwd=place, check=True, env=environment)


def photograph(browser: str, page: Path, picture: Path) -> None:
    switches = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=10000")
    size, where = f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"
    subprocess.run([browser, *switches, size, where, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
