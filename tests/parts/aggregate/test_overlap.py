"""OPWA: averages over those who sent a coordinate."""

import numpy as np
from numpy.testing import assert_allclose

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Mean, Overlap


def sparse(size, **values):
    positions = np.array([int(name[1:]) for name in values])
    return Update(size, positions, np.array(list(values.values()), np.float32))


UPDATES = [sparse(4, p0=2.0, p1=4.0), sparse(4, p0=6.0, p2=8.0)]
WEIGHTS = np.array([0.25, 0.75])


def test_two_clients_by_hand():
    # both sent the first; the second was sent by a quarter of all weight and the third by three quarters
    assert_allclose(Mean().aggregate(UPDATES, WEIGHTS, 4), [5, 1, 6, 0])
    assert_allclose(Overlap(0.0).aggregate(UPDATES, WEIGHTS, 4), [5, 4, 8, 0])
    assert_allclose(Overlap(0.5).aggregate(UPDATES, WEIGHTS, 4), [5, 2, 8, 0])


def test_divided_by_all_of_them_it_is_the_mean():
    assert Overlap(1.0).aggregate(UPDATES, WEIGHTS, 4).tobytes() == Mean().aggregate(UPDATES, WEIGHTS, 4).tobytes()
    whole = [Update.whole(np.arange(4, dtype=np.float32)), Update.whole(np.ones(4, np.float32))]
    assert Overlap(0.0).aggregate(whole, WEIGHTS, 4).tobytes() == Mean().aggregate(whole, WEIGHTS, 4).tobytes()


def test_only_the_ratios_of_the_weights_say_who_sent_it():
    assert_allclose(Overlap(0.0).aggregate(UPDATES, 2 * WEIGHTS, 4), [10, 8, 16, 0])
    assert Overlap(0.0).aggregate(UPDATES, np.zeros(2), 4).tolist() == [0] * 4
    # a client without weight has sent nothing
    assert Overlap(0.0).aggregate(UPDATES, np.array([1.0, 0.0]), 4).tolist() == [2, 4, 0, 0]
