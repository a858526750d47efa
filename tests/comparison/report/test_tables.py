"""What a person reads: figures formatted, missing ones named."""

import pytest
from rich.console import Console

from heteroselect.comparison.figures import FIGURES
from heteroselect.comparison.report.tables import result_table, sparkline
from heteroselect.settings import PaperRow
from run_folders import line


def text(table):
    console = Console(width=140, record=True)
    console.print(table)
    return console.export_text()


SUMMARY = {"method": "m", "dataset": "d", "seed": 1, "target": 0.9, "parameters": 7850}
LINES = [line(1, seed=1, accuracy=0.81944, cumulative_seconds=2353.76, bytes_scoring=0, bytes_up=1_370)]


def test_our_figures_and_the_papers_stand_side_by_side():
    paper = [
        PaperRow(source="Table", peak_accuracy=0.5, rounds_to_target=5),
        PaperRow(source="Never", peak_accuracy=0.4),
    ]
    printed = text(result_table(SUMMARY, LINES, paper))
    rows = {line.split("│")[1].strip(): line for line in printed.splitlines() if line.count("│") == 5}
    cells = {name: [cell.strip() for cell in row.split("│")[2:5]] for name, row in rows.items()}
    assert cells["peak accuracy"] == ["81.94%", "50.00%", "40.00%"]
    assert cells["rounds to target"] == ["not reached", "5", "not reached"]
    assert cells["simulated time to target"] == ["not reached", "", ""]
    assert cells["simulated time in all"] == ["2,354 s", "", ""]
    assert cells["parameters"] == ["7,850", "", ""]


def test_traffic_is_told_apart_and_small_amounts_are_in_kilobytes():
    printed = text(result_table(SUMMARY, LINES, []))
    rows = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in printed.splitlines() if "│" in line}
    assert (rows["sent by clients in all"], rows["models sent to clients in all"]) == ("1.4 kB", "3.00 MB")
    assert not any("scoring" in row for row in rows), "there was none"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("peak_accuracy", 0.5, "50.00%"),
        ("rounds_to_target", None, "not reached"),
        ("client_accuracy_mean", None, "—"),
        ("parameters", 2781514, "2,781,514"),
        ("total_megabytes", 0.6079, "0.61 MB"),
        ("total_seconds", 2367.34, "2,367 s"),
    ],
)
def test_formats(name, value, shown):
    assert FIGURES[name].text(value) == shown


def test_a_sparkline_rises_with_its_values():
    assert sparkline([]) == ""
    assert sparkline([0.3]) == "▁"
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert len(sparkline(list(range(1000)), width=40)) == 40
    assert sparkline(list(range(1000)), width=40)[-1] == "█"
