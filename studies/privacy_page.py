"""Rewrites the table of docs/privacy.md between its two markers. `make privacy` runs it."""

from pathlib import Path

from heteroselect.cli.privacy import presets_table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "privacy.md"
START, END = "<!-- presets: made by `make privacy` -->", "<!-- end of presets -->"


def main() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(f"{before}{START}\n{presets_table()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
