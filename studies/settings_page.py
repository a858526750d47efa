"""The list of settings in docs/settings.md, from the settings themselves. Run it with `make docs`."""

from pathlib import Path

from heteroselect.report.tables import settings_page
from heteroselect.settings import describe

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD, REST = "| setting | default | allowed | meaning |", "\n\nA preset or file is laid"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(HEAD)[0], text.partition(REST)[2]
    PAGE.write_text(before + settings_page(list(describe())) + REST + after, encoding="utf-8")


if __name__ == "__main__":
    main()
