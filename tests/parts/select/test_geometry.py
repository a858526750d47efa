"""Distances and angles between uploads, and the places of those without one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.population import Population, remembered
from heteroselect.core.update import Update
from heteroselect.parts.select import geometry
from heteroselect.parts.select.geometry import angles, distances, gram

RANDOM = settings(max_examples=40, deadline=None, derandomize=True)


def sent(clients, **vectors):
    """A population of which some have sent a vector."""
    uploads = {int(name[1:]): Update.whole(np.array(vector, np.float32)) for name, vector in vectors.items()}
    return replace(Population.new(np.full(clients, 10)), uploads=uploads)


def test_distances_and_angles_by_hand():
    table = gram(sent(3, c0=[3, 0], c1=[0, 4], c2=[-3, 0]))
    assert_allclose(distances(table), [[0, 5, 6], [5, 0, 5], [6, 5, 0]])
    half = math.pi / 2
    assert_allclose(angles(table), [[0, half, 2 * half], [half, 0, half], [2 * half, half, 0]], rtol=1e-6)


def test_a_client_without_an_upload_stands_at_the_mean():
    # the mean of (2, 0) and (0, 0) is (1, 0)
    table = distances(gram(sent(4, c1=[2, 0], c3=[0, 0])))
    assert_allclose(table, [[0, 1, 0, 1], [1, 0, 1, 2], [0, 1, 0, 1], [1, 2, 1, 0]])


def test_or_at_the_origin_with_a_right_angle_to_everybody_but_its_like():
    population = sent(4, c1=[2, 0], c3=[1, 1])
    assert_allclose(distances(gram(population, "zero"))[0], [0, 2, 0, math.sqrt(2)])
    right = math.pi / 2
    assert_allclose(angles(gram(population, "zero"))[0], [0, right, 0, right], rtol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 7, 10**6]))
@RANDOM
def test_sparse_dense_and_blocks_agree_with_the_plain_formula(seed, cells):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((4, 11)).astype(np.float32)
    vectors[1] = vectors[0]
    uploads = {}
    for client, vector in enumerate(vectors):
        kept = np.sort(rng.choice(11, rng.integers(1, 12), replace=False)) if client > 1 else np.arange(11)
        vector[np.setdiff1d(np.arange(11), kept)] = 0
        uploads[client] = remembered(Update.keep(vector, kept))
    population = replace(Population.new(np.full(4, 10)), uploads=uploads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(geometry, "CELLS", cells)
        table = gram(population)
    plain = np.linalg.norm(vectors[:, None].astype(float) - vectors[None], axis=2)
    assert_allclose(distances(table), plain, atol=1e-5)
    assert distances(table)[0, 1] == angles(table)[0, 1] == 0
    cosines = (vectors @ vectors.T) / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors, axis=1)[:, None]
    assert_allclose(np.cos(angles(table)), cosines, atol=1e-5)


@given(st.integers(0, 2**32 - 1))
@RANDOM
def test_tables_are_symmetric_with_an_empty_diagonal(seed):
    rng = np.random.default_rng(seed)
    population = sent(7, **{f"c{k}": rng.standard_normal(5) for k in rng.choice(7, 4, replace=False)})
    for table in (distances(gram(population)), angles(gram(population, "zero"))):
        assert (table == table.T).all()
        assert (np.diag(table) == 0).all()
        assert (table >= 0).all()


@given(st.integers(0, 2**32 - 1))
@RANDOM
def test_clients_alike_are_in_one_place_whatever_rounding_says(seed):
    vector = np.random.default_rng(seed).standard_normal(50)
    population = sent(6, **{f"c{k}": vector for k in (0, 2, 3)})  # the others stand at their mean
    assert (distances(gram(population)) == 0).all()
