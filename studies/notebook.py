"""Runs the notebook of examples/ from top to bottom and keeps its outputs in it. `make notebook` calls it."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

BOOK = Path(__file__).resolve().parents[1] / "examples" / "first_steps.ipynb"
WITHOUT: dict[str, dict[str, Any]] = {
    "stream": {},
    "display_data": {"metadata": {}},
    "execute_result": {"metadata": {}, "execution_count": None},
}
"""What would change with every run, by the type of an output."""


def main() -> None:
    """Write the notebook with what its cells show."""
    BOOK.write_text(json.dumps(played(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def played() -> dict[str, Any]:
    """The notebook with the outputs of a run in an empty folder, which it leaves empty."""
    import nbclient
    import nbformat

    book = nbformat.read(BOOK, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": folder}}).execute()
        if left := [path.name for path in Path(folder).iterdir()]:
            sys.exit(f"The notebook leaves {', '.join(left)} behind.")
    found: dict[str, Any] = json.loads(nbformat.writes(book))  # type: ignore[no-untyped-call]
    kept = json.loads(BOOK.read_text(encoding="utf-8"))
    for cell, old in zip(found["cells"], kept["cells"], strict=True):
        cell["metadata"] = old["metadata"]
        if cell["cell_type"] == "code":
            shown = [
                one for one in cell["outputs"] if one["output_type"] != "display_data" or "image/png" in one["data"]
            ]
            cell["outputs"] = [{**one, **WITHOUT[one["output_type"]]} for one in shown]  # progress is no output
            cell["execution_count"] = None
    return {**kept, "cells": found["cells"]}


def texts(book: dict[str, Any]) -> list[str]:
    """What the cells print, and their values as text, without addresses in memory."""
    outputs = [output for cell in book["cells"] for output in cell.get("outputs", [])]
    found = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    return ["".join(text) for text in found if "object at 0x" not in "".join(text)]


if __name__ == "__main__":
    main()
