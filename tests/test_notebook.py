"""The notebook of examples/ runs from top to bottom, and shows what it shows."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts import script

notebook = script("studies/notebook.py")
KEPT = json.loads(notebook.BOOK.read_text(encoding="utf-8"))


def test_the_notebook_has_the_outputs_of_all_its_cells_and_its_links_lead_somewhere():
    outputs = [output for cell in KEPT["cells"] for output in cell.get("outputs", [])]
    kinds = [kind for output in outputs for kind in output.get("data", {})]
    assert (kinds.count("text/html"), kinds.count("image/png")) == (3, 2), "three tables with curves, two plots"
    assert notebook.BOOK.stat().st_size < 200_000
    text = "".join(line for cell in KEPT["cells"] if cell["cell_type"] == "markdown" for line in cell["source"])
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (Path(notebook.BOOK).parent / target).exists(), target


@pytest.mark.slow
@pytest.mark.skipif(find_spec("nbclient") is None, reason="nbclient comes with the extra dev")
def test_the_notebook_prints_what_it_shows():
    """Words, clients and bytes are the same; an accuracy may differ by what another type of CPU rounds otherwise."""
    number = r"\d+\.\d+"
    found, kept = ("".join(notebook.texts(book)) for book in (notebook.played(), KEPT))
    assert re.sub(number, "#", found) == re.sub(number, "#", kept)
    accuracies = [[float(one) for one in re.findall(number, text)] for text in (found, kept)]
    assert accuracies[0] == pytest.approx(accuracies[1], abs=1.0)
