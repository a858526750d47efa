"""The table of a comparison, from run folders small enough to reckon with."""

import csv
import json
from pathlib import Path

import pytest

from heteroselect.comparison import table as tables
from heteroselect.comparison.report.load import grouped
from heteroselect.comparison.table_files import save
from heteroselect.runs.folder import read_rounds

RISING = (0.5, 0.6, 0.7, 0.8, 0.9, 0.9)
"""The last quarter of them is one evaluation, 0.9; the target of 0.9 is reached in round 5."""


@pytest.fixture
def cell(make_run):
    """The row of a run and its folder: each round takes 10 s, 2 MB of payloads and 1 MB of values, or what is said."""

    def make(method: str, seed: int, accuracies=RISING, megabytes: float = 2.0, seconds: float = 10.0, **summary):
        summary |= {"status": "finished", "model_sha256": "", "wall_seconds": 1.0}
        folder: Path = make_run(f"{method}-{seed}", method=method, seed=seed, accuracies=accuracies, summary=summary)
        lines = read_rounds(folder)
        for line in lines:
            line |= {"bytes_up": megabytes * 1e6, "cumulative_seconds": seconds * line["round"]}
        (folder / "rounds.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return method, folder

    return make


def table_of(cells, **given):
    return tables.make(grouped(cells), **given)


def by_name(table: tables.Table) -> dict[str, tables.Row]:
    return {row.method: row for row in table.rows}


def test_rows_are_ranked_by_the_mean_of_the_last_five_and_not_by_the_peak(cell) -> None:
    lucky, long = (0.5, 0.5, 0.99, 0.5, 0.5, 0.5), (0.1,) * 15 + RISING[1:]  # mean of the last five: 0.78
    table, _ = table_of([cell("lucky", 1, lucky), cell("steady", 1, long)])
    assert [row.method for row in table.rows] == ["steady", "lucky"]
    assert by_name(table)["steady"].figures["last_accuracy"] == [pytest.approx(0.78)]
    assert by_name(table)["lucky"].figures["peak_accuracy"] == [0.99]
    assert table.base == "lucky", "differences are to the first method, wherever it is ranked"
    assert "ranked by final accuracy, not by the peak" in table.notes()[0]
    kept, _ = table_of([cell("lucky", 2, lucky), cell("steady", 2)], ranked=False)
    assert [row.method for row in kept.rows] == ["lucky", "steady"]


def test_equal_is_the_smallest_total_of_all_runs(cell) -> None:
    """Frugal sends 6 × 0.5 MB and takes 6 × 20 s in all: 3 MB are the whole of it, and one round of the other; the
    other's 60 s are three rounds of it."""
    table, _ = table_of([cell("plain", 1), cell("frugal", 1, megabytes=0.5, seconds=20.0)])
    assert table.budgets == {"wire_megabytes": 3.0, "seconds": 60.0}
    plain, frugal = (by_name(table)[name].figures for name in ("plain", "frugal"))
    assert (plain["accuracy_at_equal_bytes"], frugal["accuracy_at_equal_bytes"]) == ([0.5], [0.9])
    assert (plain["accuracy_at_equal_seconds"], frugal["accuracy_at_equal_seconds"]) == ([0.9], [0.7])
    assert "3.00 MB of real payloads (what goes down is not in them), equal seconds 60.0 s" in " ".join(table.notes())


def test_who_never_arrives_counts_in_every_file(cell, tmp_path: Path) -> None:
    low = (0.1,) * 6
    cells = [cell("sure", seed) for seed in (1, 2, 3)]
    cells += [cell("seldom", 1, (0.9, *RISING[1:])), cell("seldom", 2, low), cell("seldom", 3, low)]
    table, summaries = table_of(cells)
    save(table, summaries, tmp_path, "heteroselect compare …")
    sure, seldom = (by_name(table)[name].arrivals["seconds_to_target"] for name in ("sure", "seldom"))
    assert (sure.text, seldom.text) == ("50.0", "> 60.0, 1 of 3 arrived")
    assert table.horizons["seconds_to_target"] == 60.0
    # 10 s, and twice the horizon: (10 + 60 + 60) / 3; the mean of those that arrived would be 10
    assert seldom.restricted(60.0) == pytest.approx(130 / 3)
    for name in ("compare.md", "compare.tex"):
        text = (tmp_path / name).read_text()
        assert "1 of 3 arrived" in text
        assert "restricted mean to 60.0" in text
        assert "43.3" in text
    paper = (tmp_path / "compare.tex").read_text()
    parts = [part.splitlines() for part in paper.split(r"\begin{tabular}")[1:]]
    firsts = [r"final accuracy, \%", "rounds to target, median", "MB up in all"]
    assert [lines[2].split(" & ")[1] for lines in parts] == firsts  # three tables, since one is wider than a page
    for layout, _, head, _, *rows, _, _ in [lines[:8] for lines in parts]:
        assert [row.count("&") for row in (head, *rows)] == [layout.count("r")] * 3
    assert any("fewer than 4 seeds these intervals are very wide" in note for note in table.notes())
    with (tmp_path / "compare.csv").open() as file:
        heads = next(csv.reader(file))
        assert len(set(heads)) == len(heads), "no column stands there twice"
        file.seek(0)
        runs = list(csv.DictReader(file))
    assert [run["seconds_to_target_restricted"] for run in runs] == ["50.0"] * 3 + ["10.0", "60.0", "60.0"]
    assert [run["wire_megabytes_to_target_restricted"] for run in runs[3:]] == ["2.0", "12.0", "12.0"]
    content = json.loads((tmp_path / "compare.json").read_text())
    row = next(row for row in content["table"] if row["method"] == "seldom")
    assert row["arrivals"]["seconds_to_target"]["restricted_mean"] == pytest.approx(130 / 3)


def test_differences_are_paired_by_seed_and_marked_where_they_say_nothing(cell) -> None:
    """The last ones of seed s are higher by 1 to 3 points: +2 ± 2.48 (Student, three pairs)."""
    cells = [cell("base", seed, (0.5,) * 6) for seed in (1, 2, 3)]
    cells += [cell("wavering", seed, (0.5 + 0.01 * seed,) * 6) for seed in (1, 2, 3)]
    cells += [cell("better", seed, (0.6 + 0.001 * seed,) * 6) for seed in (1, 2, 3)]
    table, _ = table_of(cells)
    heads, better, wavering, base = table.cells()
    place = heads.index("difference to base, points, 95 %")
    assert (better[place], wavering[place], base[place]) == ("+10.20 ± 0.25", "≈ +2.00 ± 2.48", "")
    assert "Student's t" in " ".join(table.notes())


def test_a_figure_that_one_seed_lacks_is_no_difference_of_the_others(cell) -> None:
    """No evaluation of seed 2 is as early as the smallest total of seconds."""
    cells = [cell("base", seed) for seed in (1, 2)]
    cells += [cell("slow", 1), cell("slow", 2, seconds=100.0)]
    table, _ = table_of(cells)
    slow = by_name(table)["slow"]
    assert slow.figures["accuracy_at_equal_seconds"] == [0.9, None]
    assert slow.differences["accuracy_at_equal_seconds"] is None
    assert "— (1 of 2)" in table.cells()[2]


def test_a_table_says_that_it_is_not_about_the_test_set(cell) -> None:
    assert "validation" not in " ".join(table_of([cell("a", 1), cell("b", 1)])[0].notes())
    table, _ = table_of([cell(name, 2, evaluated_on="validation") for name in ("a", "b")])
    assert "Every accuracy is on the validation examples" in " ".join(table.notes())


def test_a_wide_terminal_shows_all_columns_and_a_narrow_one_cuts_nothing(cell) -> None:
    table, _ = table_of([cell("a-method-with-a-long-name", seed) for seed in (1, 2)] + [cell("b", 1), cell("b", 2)])
    heads, *rows = table.cells()
    assert table.fitting(400) == table.fitting(1000) == [list(range(len(heads)))]
    narrow = table.fitting(80)
    shown = [heads[place] for part in narrow for place in part if place]
    assert shown[:2] == ["final accuracy, %", "difference to a-method-with-a-long-name, points, 95 %"]
    assert len(set(shown)) == len(shown) < len(heads)
    assert "MB up to target, median" in shown
    assert "peak, %" not in shown
    for part in narrow:
        assert part[0] == 0
        widths = [max(len(row[place]) for row in rows) + 3 for place in part]
        assert sum(widths) + 1 <= 80
    assert [place for part in table.groups() for place in part if place] == list(range(1, len(heads)))


def test_what_methods_would_have_of_their_own_is_said_where_all_share_data_and_model():
    alexnet = {"data": {"variant": "plain"}, "model": {"name": "alexnet", "dropout": 0.5, "init": "torch"}}
    linear = {"data": {}, "model": {"name": "logistic", "dropout": 0.5, "init": "torch"}}
    assert tables.without_their_own([("fedavg", alexnet), ("heteroselect2", alexnet), ("heteroselect2", alexnet)]) == [
        "heteroselect2 runs without model.dropout = 0.0, which it has of its own: all share the model",
        "heteroselect2 runs without model.init = kaiming, which it has of its own: all share the model",
    ]
    (only,) = tables.without_their_own([("heteroselect2", linear)])  # which has no dropout
    assert "model.init" in only
    (only,) = tables.without_their_own([("heteroselect-as-run", alexnet)])
    assert only.endswith("data.variant = authors, which it has of its own: all share the data")
    same = {"data": {}, "model": {"name": "alexnet", "dropout": 0.0, "init": "kaiming"}}
    assert tables.without_their_own([("heteroselect2", same), ("mine", alexnet)]) == []
