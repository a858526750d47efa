"""The page's pictures of the world, by hand: where the seconds of two rounds went, and who was waited for."""

import numpy as np
import pytest

from heteroselect.comparison.report import world_plots
from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.page import render
from heteroselect.errors import HeteroSelectError

NOTE = {
    "available": 3,
    "there": "b0",  # clients 0, 2 and 3 of five
    "up_mbps": [1.0, 2.0, 3.0, 4.0, 5.0],
    "down_mbps": [5.0, 6.0, 7.0, 8.0, 9.0],
    "step_seconds": [0.1, 0.2, 0.3, 0.4, 0.5],
    "waited": 1.0,
    "scoring": 2.0,
    "training": 10.0,
    "calibration": 0.5,
    "down": [1.0, 0.0],
    "compute": [5.0, 2.0],
    "up": [4.0, 2.0],
    "took": [10.0, 4.0],
}
LATE = NOTE | {"there": None, "training": 8.0, "took": [16.0, 8.0], "compute": [8.0, 8.0], "up": [7.0, 0.0]}


def line(selected, note):
    return {"selected": selected, "world": note}


def test_the_seconds_of_a_round_by_part():
    found = world_plots.seconds_by_part([[line([3, 1], NOTE)]])
    assert found == pytest.approx(
        {"compute": 3.5, "up": 3.0, "down": 0.5, "waiting": 3.0, "scoring": 2.0, "calibration": 0.5, "waited": 1.0}
    )
    assert sum(found.values()) == pytest.approx(13.5)


def test_what_happens_after_the_server_stopped_waiting_does_not_count():
    # of 16 seconds of the first client, half are after that: 4 of computing, 3.5 up, 0.5 down
    found = world_plots.seconds_by_part([[line([3, 1], LATE)]])
    assert [found[part] for part in ("compute", "up", "down", "waiting")] == pytest.approx([6.0, 1.75, 0.25, 0.0])


def test_the_last_of_those_in_time_is_the_one_that_was_waited_for():
    runs = [[line([3, 1], NOTE), line([3, 1], LATE)], [line([3, 0], NOTE), {"selected": [2, 4]}]]
    assert world_plots.times_waited_for(runs, 5).tolist() == [0, 1, 0, 2, 0]


def test_who_was_there():
    cells = world_plots.who_was_there_map([line([3, 1], NOTE), line([3, 1], LATE), {"selected": []}], 5)
    assert np.isfinite(cells).tolist() == [
        [True, True, False],
        [False, True, False],
        [True, True, False],
        [True, True, False],
        [False, True, False],
    ]


def test_the_page_draws_the_world_of_runs_that_noted_it(make_run):
    folders = [make_run("new", each={"world": NOTE}), make_run("old", method="theirs")]
    comparison = compare(folders)
    found = world_plots.drawn(comparison)
    assert list(found) == ["seconds_spent", "waited_for", "speeds", "available"]
    uplink = found["speeds"].panels[0].rows[0]
    assert [(mark.kind, mark.start, mark.end) for mark in uplink.marks] == [
        ("whisker", 1.0, 5.0),
        ("box", 2.0, 4.0),
        ("middle", 3.0, 3.0),
    ]
    (spent,) = found["seconds_spent"].panels[0].rows
    assert len(spent.marks) == 7
    assert spent.marks[-1].end == pytest.approx(13.5), "end to end"
    (waited,) = found["waited_for"].panels[0].series
    assert waited.y.sum() == pytest.approx(1.0)
    page = render(comparison, "heteroselect report")
    for heading in ("Where the seconds went", "Who was waited for", "Links and devices", "Who was there"):
        assert f"<h2>{heading}</h2>" in page
    assert world_plots.drawn(compare([folders[1]])) == {}
    always = world_plots.drawn(compare([make_run("all", each={"world": NOTE | {"there": None}})]))
    assert "available" not in always


@pytest.mark.parametrize("change", [{"took": [1.0]}, {"there": "xy"}, {"up_mbps": [1.0]}, {"training": "long"}])
def test_a_damaged_note_is_named(make_run, change):
    folder = make_run("bad", each={"world": NOTE | change})
    with pytest.raises(HeteroSelectError, match=r"rounds.jsonl is damaged"):
        compare([folder])
