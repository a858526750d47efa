"""What the server remembers of its clients."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.compress.update import Update
from heteroselect.population import Population


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def sparse(*values: float) -> Update:
    return Update.keep(vector(*values), np.flatnonzero(values))


def three_clients() -> Population:
    return Population.new(np.array([10, 20, 30]))


def test_a_new_population_has_heard_from_nobody():
    population = three_clients()
    assert len(population) == 3
    assert population.sizes.tolist() == [10, 20, 30]
    assert population.counts.tolist() == population.last_round.tolist() == [0, 0, 0]
    assert population.consensus is None
    assert population.uploads == {}


def test_populations_share_nothing():
    first, second = three_clients(), three_clients()
    first.received(0, sparse(1, 2))
    first.selected(np.array([0]), 1)
    assert second.uploads == {}
    assert second.counts.tolist() == second.last_round.tolist() == [0, 0, 0]


def test_selections_are_counted_and_dated():
    population = three_clients()
    population.selected(np.array([2, 0]), 1)
    population.selected(np.array([2]), 4)
    assert population.counts.tolist() == [1, 0, 2]
    assert population.last_round.tolist() == [1, 0, 4]


def test_only_the_last_upload_is_remembered():
    population = three_clients()
    population.received(1, sparse(1, 0))
    population.received(1, sparse(0, 2))
    assert list(population.uploads) == [1]
    assert population.uploads[1].dense().tolist() == [0, 2]


def test_the_consensus_by_hand():
    population = three_clients()
    population.agree(vector(1, 0), 0.9)
    assert population.consensus.tolist() == [1, 0]  # the first is taken as it is
    population.agree(vector(0, 1), 0.9)
    assert_allclose(population.consensus, [0.9, 0.1], rtol=1e-6)
    population.agree(vector(1, 1), 0.9)
    assert_allclose(population.consensus, [0.9 * 0.9 + 0.1, 0.9 * 0.1 + 0.1], rtol=1e-6)
    assert population.consensus.dtype == np.float32


def test_the_consensus_does_not_follow_what_becomes_of_an_aggregate():
    population, aggregate = three_clients(), vector(1, 2)
    population.agree(aggregate, 0.9)
    aggregate[:] = 0
    assert population.consensus.tolist() == [1, 2]


def test_cosines_by_hand():
    population = three_clients()
    population.agree(vector(3, 4, 0), 0.9)
    population.received(0, sparse(6, 8, 0))
    population.received(2, sparse(0, 1, 1))
    # 4/(5·√2): a coordinate that was not sent counts as zero, in the product and in the length
    assert population.cosines() == pytest.approx({0: 1, 2: 4 / (5 * math.sqrt(2))})


@pytest.mark.parametrize(("upload", "cosine"), [((-1, -1), -1), ((1, -1), 0), ((1e-15, 1e-15), 1), ((1e15, 1e15), 1)])
def test_cosines_do_not_depend_on_the_length(upload, cosine):
    population = three_clients()
    population.agree(vector(2, 2), 0.9)
    population.received(0, sparse(*upload))
    assert population.cosines()[0] == pytest.approx(cosine, abs=1e-7)


def test_dense_and_sparse_uploads_have_the_same_cosine():
    population = three_clients()
    population.agree(vector(1, 2, 3), 0.9)
    population.received(0, Update.keep(vector(5, 0, 1), np.arange(3)))
    population.received(1, Update.keep(vector(5, 0, 1), np.array([0, 2])))
    cosines = population.cosines()
    assert cosines[0] == pytest.approx(cosines[1])
    assert cosines[0] == pytest.approx(8 / math.sqrt(26 * 14))


def test_nothing_is_compared_without_a_consensus():
    population = three_clients()
    population.received(0, sparse(1, 2))
    assert population.cosines() == {}


def test_a_zero_vector_has_no_direction():
    population = three_clients()
    population.received(0, sparse(0, 0))
    population.received(1, sparse(1, 0))
    population.agree(vector(1, 1), 0.9)
    assert list(population.cosines()) == [1]
    population.agree(vector(0, 0), 0.0)
    assert population.cosines() == {}
