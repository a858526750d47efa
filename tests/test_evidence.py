"""The rows of studies/results.json: each says where it was made, and follows from the rounds kept beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from heteroselect.comparison.results import KEPT, figures_of, rounds_file
from heteroselect.core.measure import Measure
from heteroselect.files import read_toml

STUDIES = Path(__file__).resolve().parents[1] / "studies"
RESULTS = STUDIES / "results.json"
ROWS: list[dict[str, Any]] = json.loads(RESULTS.read_text())["runs"]
KEEPING = {file.stem for file in STUDIES.glob("*.toml") if read_toml(file).get("keep_rounds")}
TOLD = {"cpu", "instructions", "commit", "clean", "torch", "numpy", "python", "threads", "device", "heteroselect"}


@pytest.mark.parametrize("study", sorted(KEEPING))
def test_rows_of_a_study_that_keeps_its_rounds_follow_from_them(study):
    rows = [row for row in ROWS if row["study"] == study and "provenance" in row]
    files = {rounds_file(RESULTS, row) for row in rows}
    assert files == set((STUDIES / "rounds" / study).glob("*.jsonl")), "a file of rounds for each row, and no other"
    assert len(files) == len(rows)
    for row in rows:
        lines = [json.loads(line) for line in rounds_file(RESULTS, row).read_text().splitlines()]
        assert all(set(line) == set(KEPT) for line in lines)
        assert [line["round"] for line in lines] == list(range(1, len(lines) + 1))
        again = figures_of(lines, row["target"], Measure.of(row))
        assert {key: row[key] for key in again} == again, (row["row"], row["seed"])


def test_rows_say_where_they_were_made():
    """All that were made since it is noted: none may lose it again."""
    noted = [row for row in ROWS if "provenance" in row]
    assert {row["study"] for row in noted} >= {row["study"] for row in ROWS if row["study"] in KEEPING}
    for row in noted:
        assert set(row["provenance"]) == TOLD, row["row"]
        assert row["provenance"]["cpu"], row["row"]
