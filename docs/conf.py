"""How Sphinx makes the site of these pages: `make site`."""

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

from heteroselect.version import __version__

project = "heteroselect"
release = version = __version__
copyright = "the authors of heteroselect"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]

# headings can be linked as GitHub links them, and formulas of the pages stay text
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
default_role = "code"  # a name between single backticks, as in the Markdown

html_theme = "furo"
html_title = f"heteroselect {release}"
html_copy_source = False
html_show_sourcelink = False

TITLES = {
    "results/compare/compare": "Ten methods compared",
    "results/tuned/compare": "The ten methods tuned",
    "results/cross/cross": "Selectors crossed with compressors",
    "results/cifar10-log/compare-log": "CIFAR-10 beside the authors' log",
}
"""Of pages that a command wrote, which begin with their tables."""

_PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = _PROJECT.get("urls", {}).get("Repository", "").rstrip("/")


def prepared(page: str, text: str) -> str:
    """A page's text as the site takes it: with a title, and with links out of this folder into the repository.

    Where the repository has no address yet, such a link is its words alone.
    """
    if page in TITLES:
        text = f"# {TITLES[page]}\n\n{text}"
    linked = rf"[\1]({REPOSITORY}/blob/main/\2)" if REPOSITORY else r"\1"
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+([^)\s]+)\)", linked, text)


def code_is_code(lines: list[str]) -> None:
    """Mark what is indented below a paragraph of a docstring as code, which docutils would take for a quotation."""
    for at in range(len(lines) - 2, 0, -1):
        above, blank, below = lines[at - 1 : at + 2]
        if above and not above[0].isspace() and not above.endswith("::") and not blank and below.startswith("    "):
            lines[at:at] = ["", "::"]


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", lambda *event: code_is_code(event[-1]))
    app.connect("source-read", lambda _, page, source: source.__setitem__(0, prepared(page, source[0])))
