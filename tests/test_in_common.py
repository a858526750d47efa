"""What clients have in common: the products of their updates, and a run that is read where it was stopped."""

import json
from pathlib import Path

import numpy as np
import pytest

import heteroselect
from scripts import script

in_common = script("studies/in_common.py")

SMALL = {"clients": 6, "selected": 2, "rounds": 3, "method.solver.steps": 2, "simulate.checkpoint_rounds": 1}


def test_copies_have_everything_in_common_and_opposites_less_than_nothing():
    one = np.array([3.0, 4.0])
    assert in_common.shares(np.stack([one, one, one])) == {"whole": 25.0, "common": 25.0}
    assert in_common.shares(np.stack([one, -one])) == {"whole": 25.0, "common": -25.0}


@pytest.mark.slow
@pytest.mark.parametrize("stopped", [False, True])
def test_a_run_is_read_where_it_ended_or_was_stopped(tmp_path: Path, stopped: bool) -> None:
    class PowerError(Exception):
        pass

    def watch(line):
        if stopped and line["round"] == 2:
            raise PowerError

    try:
        heteroselect.run("mnist", method="heteroselect2", settings=SMALL, out=tmp_path / "run", watch=watch)
    except PowerError:
        assert stopped
    found = in_common.measured(tmp_path / "run", 4)
    assert found["round"] in ((1, 2) if stopped else (3,))
    assert [one["steps"] for one in found["lengths"]] == [2, 4, 8]
    lengths = [one["whole"] for one in found["lengths"]]
    assert lengths == sorted(lengths)
    assert all(abs(one["common"]) <= one["whole"] for one in found["lengths"])
    assert json.dumps(found)
