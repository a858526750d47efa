"""What a person reads: figures formatted, missing ones named."""

from rich.console import Console

from heteroselect.comparison.report.tables import result_table, shown, sparkline
from heteroselect.settings import PaperRow


def text(table):
    console = Console(width=140, record=True)
    console.print(table)
    return console.export_text()


SUMMARY = {
    "method": "m",
    "dataset": "d",
    "seed": 1,
    "target": 0.9,
    "peak_accuracy": 0.91944,
    "rounds_to_target": None,
    "seconds_to_target": None,
    "total_seconds": 2353.76,
    "total_megabytes": 6.474,
    "parameters": 7850,
}


def test_our_figures_and_the_papers_stand_side_by_side(capsys):
    printed = text(result_table(SUMMARY, [PaperRow(source="Table", peak_accuracy=0.5, rounds_to_target=5)]))
    rows = {line.split("│")[1].strip(): line for line in printed.splitlines() if line.count("│") == 4}
    assert "91.94%" in rows["peak accuracy"]
    assert "50.00%" in rows["peak accuracy"]
    assert "not reached" in rows["rounds to target"]
    assert "5" in rows["rounds to target"].split("│")[3]
    assert "2,353.8" in rows["simulated seconds in all"]
    assert "7,850" in rows["parameters"]


def test_a_paper_without_a_figure_leaves_the_cell_empty(capsys):
    printed = text(result_table(SUMMARY, [PaperRow(source="Table", peak_accuracy=0.4944)]))
    rows = {line.split("│")[1].strip(): line.split("│") for line in printed.splitlines() if line.count("│") == 4}
    assert rows["rounds to target"][3].strip() == "not reached"
    assert rows["simulated seconds to target"][3].strip() == ""


def test_traffic_is_told_apart_and_in_megabytes():
    sent = {"total_wire_megabytes": 0.59, "bytes_down": 1_570_000, "bytes_scoring": 14_132_000, "bytes_calibration": 0}
    printed = text(result_table(SUMMARY | sent, []))
    rows = {line.split("│")[1].strip(): line.split("│")[2].strip() for line in printed.splitlines() if "│" in line}
    assert rows["MB up in all (real bytes)"] == "0.59"
    assert (rows["MB down in all (models to train)"], rows["MB in all for scoring (both ways)"]) == ("1.57", "14.13")
    assert not any("calibration" in row for row in rows), "there was nothing to calibrate"


def test_formats():
    assert shown("peak_accuracy", 0.5) == "50.00%"
    assert shown("rounds_to_target", None) == "not reached"
    assert shown("client_accuracy_mean", None) == "—"
    assert shown("parameters", 2781514) == "2,781,514"
    assert shown("total_megabytes", 0.6079) == "0.61"
    assert shown("total_seconds", 2367.34) == "2,367.3"


def test_a_sparkline_rises_with_its_values():
    assert sparkline([]) == ""
    assert sparkline([0.3]) == "▁"
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert len(sparkline(list(range(1000)), width=40)) == 40
    assert sparkline(list(range(1000)), width=40)[-1] == "█"
