"""Curves, bands and counts, reckoned by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.curves import Curve
from run_folders import NOTE

LINES = [
    {"round": 1, "accuracy": 0.2, "cumulative_seconds": 5.0, "selected": [0, 1]}
    | {"bytes_up_paper": 1e6, "bytes_up": 2e6},
    {"round": 2, "accuracy": None, "cumulative_seconds": 9.0, "selected": [1, 2]}
    | {"bytes_up_paper": 1e6, "bytes_up": 1e6},
    {"round": 3, "accuracy": 0.6, "cumulative_seconds": 15.0, "selected": [1, 0]}
    | {"bytes_up_paper": 2e6, "bytes_up": 1e6},
]


def curve(x, y):
    return Curve(np.array(x, dtype=float), np.array(y, dtype=float))


@pytest.mark.parametrize(
    ("axis", "x"),
    [("rounds", [1, 3]), ("seconds", [5, 15]), ("megabytes", [1, 4]), ("wire_megabytes", [2, 4])],
)
def test_a_round_without_evaluation_is_no_point_but_its_cost_counts(axis, x):
    found = curves.accuracy(LINES, axis)
    assert found.x.tolist() == x
    assert found.y.tolist() == [0.2, 0.6]


def test_the_band_of_seeds_on_the_same_rounds():
    band = curves.band([curve([1, 2], [0.1, 0.4]), curve([1, 2], [0.3, 0.8])])
    assert band.x.tolist() == [1, 2]
    assert band.mean == pytest.approx([0.2, 0.6])
    assert band.low.tolist() == [0.1, 0.4]
    assert band.high.tolist() == [0.3, 0.8]


def test_seeds_with_other_seconds_are_read_off_straight_lines_where_all_have_a_value():
    band = curves.band([curve([0, 10], [0.0, 1.0]), curve([5, 20], [0.5, 0.5])])
    assert band.x.tolist() == [5, 10]
    assert band.mean == pytest.approx([0.5, 0.75])
    assert band.low == pytest.approx([0.5, 0.5])
    assert band.high == pytest.approx([0.5, 1.0])


def test_many_points_become_a_grid_that_ends_where_the_shortest_seed_does():
    long, short = np.linspace(0, 100, 300), np.linspace(0.05, 60, 300)
    band = curves.band([Curve(long, long), Curve(short, short)], points=50)
    assert len(band.x) == 50
    assert band.x[[0, -1]].tolist() == [0.05, 60]
    assert band.mean == pytest.approx(band.x)


@pytest.mark.parametrize("seeds", [[], [curve([], [])], [curve([1], [1]), curve([2], [1])]])
def test_no_common_stretch_is_an_empty_band(seeds):
    assert len(curves.band(seeds).x) == 0


@given(
    st.lists(
        st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=6, unique_by=lambda p: p[0]),
        min_size=1,
        max_size=4,
    )
)
def test_the_mean_lies_in_the_band_and_nothing_is_extrapolated(seeds):
    found = [curve(*zip(*sorted(points), strict=True)) for points in seeds]
    band = curves.band(found)
    assert np.all(band.low <= band.mean + 1e-12)
    assert np.all(band.mean <= band.high + 1e-12)
    for one in found:
        assert np.all((band.x >= one.x[0]) & (band.x <= one.x[-1]))


def test_score_parts_of_methods_that_score_and_that_do_not():
    lines = [{"round": 1, "score_parts": {"loss": 0.3}}, {"round": 2, "score_parts": None}, {"round": 3}]
    assert curves.score_part(lines, "loss").x.tolist() == [1]
    assert curves.score_part(lines, "loss").y.tolist() == [0.3]
    assert len(curves.score_part(lines, "fairness").x) == 0


def test_how_often_clients_were_selected():
    assert curves.times_selected(LINES, 4).tolist() == [2, 3, 1, 0]
    assert curves.times_selected([{"selected": [1, 1]}], 2).tolist() == [0, 1]  # twice in a round is one round
    assert curves.selection_histogram([LINES], 4).tolist() == [0.25, 0.25, 0.25, 0.25]
    assert curves.selection_histogram([LINES, LINES[:1]], 4).tolist() == [3 / 8, 3 / 8, 1 / 8, 1 / 8]


def test_the_binomial_of_even_chances():
    assert curves.uniform_histogram(3, 10, 1) == pytest.approx([0.729, 0.243, 0.027, 0.001])
    assert curves.uniform_histogram(2, 3, 3).tolist() == [0, 0, 1]
    many = curves.uniform_histogram(3000, 100, 10)
    assert math.isclose(many.sum(), 1)
    assert int(many.argmax()) == 300


def test_a_cell_a_client_and_round_and_the_highest_where_several_share_one():
    lines = [{"selected": [2, 0], "densities": [0.5, None]}, {"selected": [1], "densities": [0.25]}]
    cells = curves.by_client(lines, "densities", 3)
    assert np.array_equal(cells, np.array([[np.nan, np.nan], [np.nan, 0.25], [0.5, np.nan]]), equal_nan=True)
    many = [{"selected": [t % 1000], "weights": [0.5 if t == 321 else 0.1]} for t in range(900)]
    cells = curves.by_client(many, "weights", 1000)
    assert cells.shape == (250, 225)
    assert cells[321 // 4, 321 // 4] == np.float32(0.5)
    assert np.nansum(np.isfinite(cells)) == 225


def test_bytes_by_kind_are_the_mean_over_seeds():
    kinds = {"bytes_down": 1e6, "bytes_scoring": 0, "bytes_calibration": 2e6}
    runs = [[{"bytes_up": 1e6, **kinds}], [{"bytes_up": 2e6, **kinds}, {"bytes_up": 3e6, **kinds}]]
    assert curves.megabytes_by_kind(runs) == {
        **{"wire_megabytes": 3.0, "down_megabytes": 1.5},
        **{"scoring_megabytes": 0.0, "calibration_megabytes": 3.0},
    }


def test_events_are_counted_by_kind():
    events = [{"client": 1, "kind": "late"}, {"client": 2, "kind": "dropped"}]
    assert curves.events_by_kind([[{"events": events}, {}], [{"events": events[:1]}]]) == {"dropped": 1, "late": 2}
    assert curves.events_by_kind([[{}, {"events": None}]]) == {}


LATE = NOTE | {"there": None, "training": 8.0, "took": [16.0, 8.0], "compute": [8.0, 8.0], "up": [7.0, 0.0]}


def line(selected, note):
    return {"selected": selected, "world": note}


def test_the_seconds_of_a_round_by_part():
    found = curves.seconds_by_part([[line([3, 1], NOTE)]])
    assert found == pytest.approx(
        {"compute": 3.5, "up": 3.0, "down": 0.5, "waiting": 3.0, "scoring": 2.0, "calibration": 0.5, "waited": 1.0}
    )
    assert sum(found.values()) == pytest.approx(13.5)


def test_what_happens_after_the_server_stopped_waiting_does_not_count():
    # of 16 seconds of the first client, half are after that: 4 of computing, 3.5 up, 0.5 down
    found = curves.seconds_by_part([[line([3, 1], LATE)]])
    assert [found[part] for part in ("compute", "up", "down", "waiting")] == pytest.approx([6.0, 1.75, 0.25, 0.0])


def test_the_last_of_those_in_time_is_the_one_that_was_waited_for():
    runs = [[line([3, 1], NOTE), line([3, 1], LATE)], [line([3, 0], NOTE), {"selected": [2, 4]}]]
    assert curves.times_waited_for(runs, 5).tolist() == [0, 1, 0, 2, 0]


def test_who_was_there():
    cells = curves.who_was_there_map([line([3, 1], NOTE), line([3, 1], LATE), {"selected": []}], 5)
    assert np.isfinite(cells).tolist() == [
        [True, True, False],
        [False, True, False],
        [True, True, False],
        [True, True, False],
        [False, True, False],
    ]
