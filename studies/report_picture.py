"""A picture of a report for the README. Run it with `make screenshots`; it needs Debian's package chromium.

A headless browser photographs the top of docs/results/compare/report.html, which `make compare` makes.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs" / "results" / "compare" / "report.html", ROOT / "docs" / "results" / "report.png"
WIDTH, HEIGHT = 1240, 2335


def main() -> None:
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("make screenshots needs Debian's package chromium")
    if not PAGE.is_file():
        sys.exit(f"{PAGE.relative_to(ROOT)} is not there; `make compare` makes it")
    switches = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=10000")
    size, where = f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={PICTURE}"
    subprocess.run([browser, *switches, size, where, PAGE.as_uri()], check=True, capture_output=True)
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
