"""The lists of settings in docs/settings.md, from the settings themselves. Run it with `make docs`."""

from pathlib import Path

from heteroselect.cli.lists import general_settings, method_settings
from heteroselect.comparison.report.tables import kinds_page, settings_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD, REST = "| setting | default | allowed | meaning |", "\n\n## What overrides what"


def main() -> None:
    before, head, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    _, anchor, after = rest.partition(REST)
    if not (head and anchor and len(after) > 1000):
        raise SystemExit(f"{PAGE}: what stands below the lists is written by hand, and is not there any more")
    lists = f"{settings_page(general_settings())}\n\n{kinds_page(method_settings())}"
    PAGE.write_text(before + lists + REST + after, encoding="utf-8")


if __name__ == "__main__":
    main()
