"""The pages that people read first have short sentences: 18 words on average, and none above 35."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("index", "choose", "compare", "flower", "glossary", "reliability")),
]
NO_PROSE = (
    r"<!-- ([\w-]+): made by .*?<!-- end of \1 -->",  # what a command wrote
    r"```.*?```",
    r"^(#|\||!\[|<).*?$",
)


def sentences(page: str) -> list[list[str]]:
    """The words of each sentence of a page; an item of a list is a paragraph, a link its words, and code one word.

    >>> sentences("# No\\n\\nOne `a b` [two](x.md). Three:\\n\\n- **four** five\\n\\n| a | b |\\n")
    [['One', '`', 'two'], ['Three'], ['four', 'five']]
    """
    for pattern in NO_PROSE:
        page = re.sub(pattern, "\n\n", page, flags=re.S | re.M)
    page = re.sub(r"^\s*(?:[-*]|\d\.) ", "\n\n", page, flags=re.M)
    page = re.sub(r"`[^`]+`", "`", page)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page).replace("*", "")
    ends = (re.split(r"[.!?](?=\s|$)|\s·\s", paragraph) for paragraph in re.split(r"\n\s*\n", page))
    found = [re.findall(r"[\w`’'%→≈-]+", one) for sentence in ends for one in sentence]
    return [words for words in found if words]


def test_what_a_sentence_is():
    found = sentences("# No\n\nOne `a b` [two](x.md). Three:\n\n- **four** five\n\n| a | b |\n")
    assert found == [["One", "`", "two"], ["Three"], ["four", "five"]]


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short(page):
    found = sentences((ROOT / page).read_text(encoding="utf-8"))
    assert sum(map(len, found)) / len(found) <= 18
    assert [" ".join(words) for words in found if len(words) > 35] == []
