"""The picture of seconds against megabytes: which runs are points of it."""

from typing import Any

from scripts import script

script("studies/paper_numbers.py")
script("studies/paper_figures.py")
script("studies/results_page.py")
frontier = script("studies/frontier.py")


def run(row: str, seconds: float | None, sent: float | None, *paper: dict[str, Any]) -> dict[str, Any]:
    by_clock = {"paper": 1.0, "uplink": seconds, "everything": 9.0}
    return {
        "study": "table1",
        "row": row,
        "seconds_to_target_by_clock": by_clock,
        "wire_megabytes_to_target": sent,
        "paper": list(paper),
        "reconstruction": row == "rebuilt",
    }


def test_a_run_is_a_point_by_real_payloads_and_one_that_never_arrived_is_none() -> None:
    found = list(frontier.points([run("here", 300.0, 50.0), run("never", None, None)]))
    assert [(one.name, one.seconds, one.megabytes, one.said) for one in found] == [("here", 300.0, 50.0, False)]


def test_what_a_paper_says_stands_once_and_beside_runs_that_have_not_arrived() -> None:
    said = {"source": "Table I", "seconds_to_target": 2913.0, "megabytes_to_target": 2010.0}
    runs = [run("a", None, None, said), run("b", None, None, said, {"source": "no seconds", "rounds_to_target": 3})]
    found = list(frontier.points(runs))
    assert [(one.name, one.seconds, one.megabytes, one.said) for one in found] == [("Table I", 2913.0, 2010.0, True)]


def test_seeds_of_a_row_are_joined_and_earlier_versions_and_reconstructions_are_told_apart() -> None:
    runs = [
        run("row", 300.0, 50.0),
        run("equal weights", 310.0, 51.0),
        run("row", 400.0, 52.0),
        run("rebuilt", 9.0, 4.0),
    ]
    found = list(frontier.points(runs))
    assert [(one.name, one.group) for one in found] == [
        ("row", "Table I's methods"),
        ("equal weights", "Table I's methods, earlier versions"),
        ("row", "Table I's methods"),
        ("rebuilt*", "Table I's methods"),
    ]
    (panel,) = frontier.drawn(found, "70 %").axes
    assert [300.0, 400.0] in [list(line.get_xdata()) for line in panel.lines]


def test_names_of_points_that_lie_together_do_not_cover_each_other() -> None:
    found = list(frontier.points([run(f"row {place}", 2000.0 + 30 * place, 1900.0) for place in range(6)]))
    figure = frontier.drawn(found, "70 %")
    figure.draw_without_rendering()
    boxes = [frontier.Text.get_window_extent(text) for text in figure.axes[0].texts]
    assert len(boxes) == 6
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])


def test_names_stay_inside_the_axes() -> None:
    crowded = [run(f"a name of some length {place}", 300.0 + 3 * place, 45.0) for place in range(3)]
    figure = frontier.drawn(list(frontier.points([*crowded, run("far", 16000.0, 15000.0)])), "70 %")
    figure.draw_without_rendering()
    panel = figure.axes[0]
    boxes = [frontier.Text.get_window_extent(text) for text in panel.texts]
    assert len(boxes) == 4
    assert all(panel.bbox.contains(*corner) for box in boxes for corner in ((box.x0, box.y0), (box.x1, box.y1)))
