"""The lists of settings in docs/settings.md, from the settings themselves. Run it with `make docs`."""

from pathlib import Path

from heteroselect.cli.listings import kinds_page, settings_page
from heteroselect.cli.lists import general_settings, method_settings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
HEAD, REST = "| setting | default | allowed | meaning |", "\n\n## What overrides what"


def page(text: str) -> str:
    """Return the page with its lists written anew; what stands above and below them is written by hand."""
    before, head, rest = text.partition(HEAD)
    _, anchor, after = rest.partition(REST)
    if not (head and anchor and len(after) > 1000):
        raise SystemExit(f"{PAGE}: what stands below the lists is not there any more")
    return f"{before}{settings_page(general_settings())}\n\n{kinds_page(method_settings())}{REST}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
