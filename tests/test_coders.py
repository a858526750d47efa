"""The benchmark of coders: what it measures of a cohort whose mean is known."""

import numpy as np
import pytest

from scripts import script

coders = script("benchmarks/coders.py")

CLIENTS, SIZE = 4, 2 * coders.BLOCK


@pytest.fixture(name="alike")
def _alike():
    """Four clients with the same update: their mean is what each of them has."""
    update = np.random.default_rng(3).normal(size=SIZE).astype(np.float32)
    return coders.Cohort("alike", np.tile(update, (CLIENTS, 1)), [SIZE])


def test_of_clients_in_turn_each_block_comes_from_half_and_the_mean_keeps_its_length(alike):
    arrived = np.stack([coders.sent(alike, coders.IN_TURN, 0.2, client)[0] for client in range(CLIENTS)])
    senders = arrived.reshape(CLIENTS, 2, coders.BLOCK).any(axis=2).sum(axis=0)
    assert senders.tolist() == [2, 2]
    update, mean = alike.updates[0].astype(np.float64), arrived.mean(axis=0, dtype=np.float64)
    assert mean @ update == pytest.approx(update @ update, rel=1e-4)


@pytest.mark.parametrize("name", ["ternary", "ternary, energy", "drive", coders.IN_TURN])
def test_an_unbiased_coder_meets_the_budget_with_a_gain_of_one(alike, name):
    row = coders.measured(alike, name, SIZE * 0.2 / 8)
    assert coders.reaches(row)
    assert row["gain"] == pytest.approx(1, abs=0.05)


def test_what_keeps_everything_of_the_largest_is_biased(alike):
    row = coders.measured(alike, "stc", SIZE * 0.2 / 8)
    assert row["gain"] < 0.5
    assert row["error"] > 0.5
