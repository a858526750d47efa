"""Which point is shown: three points of one state, and their means over rounds."""

import numpy as np

from scripts import script

shown_points = script("studies/shown_points.py")


def test_w_lies_behind_z_by_the_look_ahead():
    state = {"weights": np.array([3.0, 1.0], np.float32), "state.server.momentum": np.array([1.0, -1.0], np.float32)}
    found = shown_points.points({**state, "state.average.mean": np.array([2.0, 2.0], np.float32)}, 0.5)
    assert {name: list(one) for name, one in found.items()} == {"z": [3, 1], "w": [2.5, 1.5], "average": [2, 2]}


def test_a_row_has_the_mean_of_each_point_over_its_rounds():
    rows = [{"round": t, "z": z, "w": 0.5, "average": 0.5 + t / 100} for t, z in ((3, 0.4), (4, 0.6), (7, 0.4))]
    assert shown_points.table({"a": rows}).splitlines()[-1] == "| a | 3, 4, 7 | 46.7 | 50.0 | 54.7 |"
