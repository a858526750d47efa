"""Keeps the course of single runs, whose folders are too large for the repository: after each evaluated round the
accuracy, the simulated seconds by two clocks and the megabytes up and down so far, in studies/courses.json.

    python studies/courses.py runs/beyond/ROW/seed-42 …
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heteroselect.runs.folder import read_rounds

FILE = Path(__file__).resolve().parent / "courses.json"
HEADS = ("round", "accuracy", "seconds, real payloads", "seconds, everything", "MB up", "MB down")


def main() -> None:
    runs: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))["runs"] if FILE.exists() else {}
    for folder in map(Path, sys.argv[1:]):
        runs[f"{folder.parent.name}, {folder.name}"] = course(read_rounds(folder))
    lines = [f" {json.dumps(name)}: {json.dumps(rows)}" for name, rows in runs.items()]
    text = f'{{"columns": {json.dumps(HEADS)},\n"runs": {{\n' + ",\n".join(lines) + "\n}}\n"
    FILE.write_text(text, encoding="utf-8")


def course(lines: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """
    >>> one = {"seconds_by_charge": {"uplink": 2.0, "everything": 3.0}, "bytes_up": 1e6, "bytes_down": 2e6}
    >>> course([{"round": 1, "accuracy": None, **one}, {"round": 2, "accuracy": 0.5, **one}])
    [[2, 0.5, 4.0, 6.0, 2.0, 4.0]]
    """
    rows, so_far = [], [0.0] * 4
    for line in lines:
        clocks = line["seconds_by_charge"]
        spent = (clocks["uplink"], clocks["everything"], line["bytes_up"] / 1e6, line["bytes_down"] / 1e6)
        so_far = [one + more for one, more in zip(so_far, spent, strict=True)]
        if line["accuracy"] is not None:
            rows.append([line["round"], line["accuracy"], *(round(one, 3) for one in so_far)])
    return rows


if __name__ == "__main__":
    main()
