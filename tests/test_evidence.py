"""The rows of studies/results.json: each says where it was made, and follows from the rounds kept beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from heteroselect import study
from heteroselect.comparison.figures import figures_of
from heteroselect.comparison.results import KEPT, rounds_file
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


def test_a_cheap_row_made_again_gives_the_figures_of_the_file(tmp_path):
    """The way from a study's file to its rows, once more: another CPU may round otherwise, and no more than that."""
    found = tmp_path / "again.json"
    study(STUDIES / "beyond-mnist.toml", only=["lean"], out=tmp_path / "runs", results=found, progress=False)
    again = {row["seed"]: row for row in json.loads(found.read_text())["runs"]}
    known = {row["seed"]: row for row in ROWS if (row["study"], row["row"]) == ("beyond-mnist", "lean")}
    assert set(again) == set(known) == {42, 43, 44, 45, 46}
    for seed, row in known.items():
        assert again[seed]["settings"] == row["settings"]
        assert again[seed]["last_accuracy"] == pytest.approx(row["last_accuracy"], abs=0.005)
        for cost in ("rounds_to_target", "seconds_to_target", "wire_megabytes_to_target", "down_megabytes_to_target"):
            assert again[seed][cost] == pytest.approx(row[cost], rel=0.01), (seed, cost)
