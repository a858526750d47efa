"""What is charged: the paper's count of values, and what scoring really costs."""

import dataclasses

import numpy as np
import pytest

from heteroselect.world.ledger import Bytes, paper_bytes, scoring_bytes


def test_the_papers_bytes_by_hand():
    # ½ and ¼ of 1,000 values of four bytes
    assert paper_bytes(np.array([0.5, 0.25]), 1000) == 3000


def test_everything_from_everybody_is_the_model_times_the_cohort():
    # 10 × AlexNet's 11.13 MB
    assert paper_bytes(np.ones(10), 2_781_514) == 10 * 4 * 2_781_514


@pytest.mark.parametrize(
    ("asked", "selected", "expected"),
    [
        (100, 10, 90 * 5000 + 100 * 4),  # the model to the 90 who were not selected, an answer from all
        (100, 100, 100 * 4),
        (0, 10, 0),
        (3, 10, 3 * 4),
    ],
)
def test_scoring_by_hand(asked, selected, expected):
    assert scoring_bytes(asked, selected, 5000) == expected


def test_scoring_everybody_sends_the_model_to_everybody_once():
    model, clients, selected = 5000, 100, 10
    down = selected * model
    assert down + scoring_bytes(clients, selected, model) == clients * (model + 4)


def test_a_rounds_bytes_cannot_be_changed_afterwards():
    entry = Bytes(up_paper=1.0, up=1, down=2, scoring=3, calibration=4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.up = 0
