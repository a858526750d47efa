"""Row 0 of the ladder: a run that is kept, read at a lower target than its own."""

import pytest

from heteroselect.comparison import study as studies
from scripts import script

first_row = script("studies/first_row.py")
results_page = script("studies/results_page.py")


def line(number: int, accuracy: float) -> dict[str, object]:
    """A round that takes 10 s by one clock and 20 s by the other, and sends 1 MB up, 2 by count, 3 down, 4 to score."""
    sent = {f"bytes_{kind}": size * 1e6 for kind, size in {"up": 1, "up_paper": 2, "down": 3, "scoring": 4}.items()}
    return {"round": number, "accuracy": accuracy, "seconds_by_charge": {"paper": 10.0, "uplink": 20.0}} | sent


def test_it_has_the_target_of_the_other_rows():
    settings = studies.read(first_row.ROOT / "studies" / "parts.toml").settings
    assert (settings["target"], settings["stop_at_target"]) == (first_row.TARGET, first_row.HOLDS)


def test_it_is_what_a_run_with_that_target_would_have_been():
    lines = [line(number, one) for number, one in enumerate((0.5, 0.61, 0.59, 0.62, 0.63, 0.64, 0.7, 0.72), start=1)]
    whole = {"study": "table1", "row": "x", "charge": "paper", "seed": 42, "decides_by_clock": ["allocate score"]}
    found = first_row.row(whole, lines)
    assert found["study"] == "parts"
    assert (found["rounds_run"], found["rounds_to_target"]) == (6, 2)  # it counts from the first time, and then holds
    assert (found["peak_accuracy"], found["final_accuracy"]) == (0.64, 0.64)
    assert (found["seconds_to_target"], found["total_seconds"]) == (40.0, 120.0)
    assert (found["wire_megabytes_to_target"], found["megabytes_to_target"]) == (2.0, 4.0)
    assert (found["down_megabytes_to_target"], found["scoring_megabytes_to_target"]) == (6.0, 8.0)
    row = [found | {"sends_float32": True}]
    assert results_page.seconds(row, "paper") == "20.0"  # by which it decided
    assert results_page.seconds(row, "uplink") == "40.0†"


def test_the_kept_run_is_that_of_table_i_and_the_row_is_read_from_it():
    runs = {(run["study"], run["row"]): run for run in results_page.read("results")["runs"]}
    whole, lines = runs["table1", "heteroselect-as-run"], first_row.read_rounds(first_row.RUN)
    assert runs["parts", first_row.NAME] == first_row.row(whole, lines)
    reached = next(one["round"] for one in lines if one["accuracy"] >= whole["target"])
    assert reached == whole["rounds_to_target"]
    assert first_row.seconds(lines[:reached], "uplink") == pytest.approx(whole["seconds_to_target_by_clock"]["uplink"])
    assert first_row.megabytes(lines, "up") == whole["total_wire_megabytes"]


def test_rows_stand_in_the_order_of_their_study_and_what_comes_from_elsewhere_above():
    names = ["heteroselect2, light", "heteroselect2", "somewhere else"]
    runs = [{"study": "beyond", "row": name} for name in names]
    assert list(results_page.rows_of({"runs": runs}, "beyond")) == names[::-1]
    assert list(results_page.rows_of({"runs": [one | {"study": "none"} for one in runs]}, "none")) == names
