"""FedBand: who deviates more sends more."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.allocate.fedband import banded, deviations


def test_in_proportion_to_the_deviation_and_the_lowest_defers():
    # one of four defers: .8 − .02 for those with 1, 2 and 3
    assert_allclose(banded(np.array([1.0, 0.5, 3.0, 2.0]), 0.2, 0.02), [0.13, 0.02, 0.39, 0.26])
    # 0.3 of three is nobody
    assert_allclose(banded(np.array([1.0, 0.5, 3.0]), 0.3, 0.01), [0.2, 0.1, 0.6])
    # what one cannot use goes to the others
    assert_allclose(banded(np.array([1.0, 0.1, 100.0, 1.0]), 0.5, 0.02), [0.49, 0.02, 1.0, 0.49])


def test_equals_are_treated_alike():
    assert_allclose(banded(np.ones(4), 0.2, 0.01), 0.2)
    assert_allclose(banded(np.zeros(4), 0.2, 0.01), 0.2)
    assert_allclose(banded(np.array([0.0, 0, 0, 0, 1, 1, 1]), 0.2, 0.005)[4:], (1.4 - 0.02) / 3)


def test_deviations_are_distances_from_the_mean_of_the_cohort():
    uploads = {0: Update.whole(np.array([3, 0], np.float32)), 2: Update(2, np.array([1]), np.array([4], np.float32))}
    population = replace(Population.new(np.full(3, 5)), uploads=uploads)
    assert_allclose(deviations(population), 2.5)  # the middle of (3, 0) and (0, 4); who is not known is average
    assert deviations(Population.new(np.full(3, 5))).tolist() == [0, 0, 0]
    alone = replace(population, uploads={1: uploads[0]})
    assert deviations(alone) == pytest.approx(0)
