"""docs/settings.md: its lists are those of the settings, and each of its tables is one."""

import re

from heteroselect.settings import describe
from scripts import script


def test_the_lists_are_those_of_today_and_every_row_has_the_cells_of_its_table():
    made = script("studies/settings_page.py")
    text = made.PAGE.read_text(encoding="utf-8")
    assert text == made.page(text), "make docs writes it"
    columns = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert cells in (columns, 0) or columns == 0, line
        columns = cells
    assert not re.search(r"\|\n[^|\n]", text), "a row goes on in another line"


def test_a_sentence_on_a_setting_stands_alone():
    for one in describe():
        assert len(one.meaning.split()) > 3, one.name
        assert "\n" not in one.meaning
