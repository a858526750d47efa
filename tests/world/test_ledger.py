"""What is charged: the paper's count of values, the real bytes, and what scoring and calibration cost."""

import dataclasses

import numpy as np
import pytest

from heteroselect.world.ledger import LOSS_BYTES, Calibrated, Messages


def sent(**changes):
    plain = Messages(
        size=1000,
        model=4000,
        asked=np.arange(0),
        selected=np.array([4, 1]),
        densities=np.array([0.5, 0.25]),
        payloads=[2100, 1050],
    )
    return dataclasses.replace(plain, **changes)


def test_the_papers_bytes_by_hand():
    # ½ and ¼ of 1,000 values of four bytes
    assert sent().bytes().up_paper == 3000


def test_real_bytes_are_the_payloads_each_and_together():
    entry = sent().bytes()
    assert entry.up == 3150
    assert entry.up_clients == [2100, 1050]
    assert entry.down == 2 * 4000


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (range(100), 98 * 4000 + 100 * LOSS_BYTES),  # the model to the 98 who were not selected, an answer from all
        ([4, 1], 2 * LOSS_BYTES),
        ([], 0),
        ([4, 7, 9], 2 * 4000 + 3 * LOSS_BYTES),
    ],
)
def test_scoring_by_hand(asked, expected):
    assert sent(asked=np.array(asked, np.int64)).bytes().scoring == expected


def test_calibration_is_the_model_down_and_the_statistics_back():
    entry = sent(calibrated=[Calibrated(4, 7, 80), Calibrated(1, 6, 80)]).bytes()
    assert entry.calibration == 2 * (4000 + 80)
    assert sent().bytes().calibration == 0
