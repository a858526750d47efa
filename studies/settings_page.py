"""The list of settings in docs/settings.md, from the settings themselves. Run it with `make docs`."""

from pathlib import Path

from heteroselect.report.tables import settings_page
from heteroselect.settings import describe

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD, REST = "| setting | default | allowed | meaning |", "\n\nA preset or file is laid"


def main() -> None:
    before, head, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    _, anchor, after = rest.partition(REST)
    if not (head and anchor and len(after) > 1000):
        raise SystemExit(f"{PAGE}: what stands below the list is written by hand, and is not there any more")
    PAGE.write_text(before + settings_page(list(describe())) + REST + after, encoding="utf-8")


if __name__ == "__main__":
    main()
