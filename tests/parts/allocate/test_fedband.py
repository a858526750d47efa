"""FedBand: who deviates more sends more."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.allocate.fedband import banded, deviations


def test_in_proportion_to_the_deviation_and_the_lowest_defers():
    # .6 − .01 for those with 1 and 3
    assert_allclose(banded(np.array([1.0, 0.5, 3.0]), 0.2, 0.01, 0.4), [0.1475, 0.01, 0.4425])
    assert_allclose(banded(np.array([1.0, 0.5, 3.0]), 0.3, 0.01, 0.0), [0.2, 0.1, 0.6])
    # what one cannot use goes to the others
    assert_allclose(banded(np.array([1.0, 0.1, 100.0]), 0.5, 0.01, 0.4), [0.49, 0.01, 1.0])


def test_equals_are_treated_alike():
    assert_allclose(banded(np.ones(4), 0.2, 0.01, 0.5), 0.2)
    assert_allclose(banded(np.zeros(4), 0.2, 0.01, 0.5), 0.2)
    assert_allclose(banded(np.array([0.0, 0, 1, 1]), 0.2, 0.01, 0.5), [0.01, 0.01, 0.39, 0.39])


def test_deviations_are_distances_from_the_mean_of_the_cohort():
    uploads = {0: Update.whole(np.array([3, 0], np.float32)), 2: Update(2, np.array([1]), np.array([4], np.float32))}
    population = replace(Population.new(np.full(3, 5)), uploads=uploads)
    assert_allclose(deviations(population), 2.5)  # the middle of (3, 0) and (0, 4); who is not known is average
    assert deviations(Population.new(np.full(3, 5))).tolist() == [0, 0, 0]
    alone = replace(population, uploads={1: uploads[0]})
    assert deviations(alone) == pytest.approx(0)
