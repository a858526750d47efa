"""The draws that selectors are made of: their laws, and the weights that undo them."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.parts.select.draws import gumbel_top, tally, weighted

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
DRAWS = 10_000


def noise(values):
    """A generator whose Gumbel noise is known."""
    return SimpleNamespace(gumbel=lambda size: np.asarray(values, float)[:size])


def frequencies(one) -> dict[tuple[int, ...], float]:
    rng, found = default_rng(7), {}
    for _ in range(DRAWS):
        places = tuple(one(rng).places.tolist())
        found[places] = found.get(places, 0) + 1 / DRAWS
    return found


def within_four_standard_errors(found: float, probability: float) -> bool:
    return abs(found - probability) <= 4 * math.sqrt(probability * (1 - probability) / DRAWS)


def test_draws_have_the_law_of_successive_sampling():
    p = np.array([0.1, 0.2, 0.3, 0.4])
    found = frequencies(lambda rng: gumbel_top(np.log(p) + 5, 2, rng))
    for first, second in itertools.permutations(range(4), 2):
        # after the first, what is left is drawn in proportion
        assert within_four_standard_errors(found.pop((first, second)), p[first] * p[second] / (1 - p[first]))
    assert not found


def test_inclusion_weights_by_hand():
    # φ = ln ¼ for all, so the perturbed values are the noise − ln 4 and the first left out is 0.5 − ln 4
    drawn = gumbel_top(np.zeros(4), 2, noise([2.0, 0.5, 1.0, 0.0]))
    assert drawn.places.tolist() == [0, 2]
    assert_allclose(drawn.inclusion, 1 - math.exp(-math.exp(-0.5)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array), st.data())
@RANDOM
def test_a_draw_follows_a_relabelling(logits, data):
    size = data.draw(st.integers(1, len(logits)))
    order = np.array(data.draw(st.permutations(range(len(logits)))))
    gumbel = default_rng(len(logits)).gumbel(size=len(logits))
    drawn = gumbel_top(logits, size, noise(gumbel))
    relabelled = gumbel_top(logits[order], size, noise(gumbel[order]))
    assert order[relabelled.places].tolist() == drawn.places.tolist()
    assert_allclose(relabelled.inclusion, drawn.inclusion)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_is_rejected(bad):
    with pytest.raises(ValueError, match="not finite"):
        gumbel_top(np.array([0.1, bad, 0.3]), 1, default_rng(0))


def test_weights_are_probabilities_of_the_first_draw_and_of_the_second():
    # the first is 2 with ½; then of (¼, ¼) each with ½
    rng, first, second = default_rng(5), np.zeros(4), np.zeros(4)
    for _ in range(DRAWS):
        places = weighted(np.array([1.0, 1.0, 2.0, 0.0]), 2, rng).places
        first[places[0]] += 1 / DRAWS
        second[places[1]] += 1 / DRAWS
    # P(2 second) = 2·¼·(2/3); P(0 second) = ½·½ + ¼·⅓
    for found, expected in ((first, [1 / 4, 1 / 4, 1 / 2, 0]), (second, [1 / 3, 1 / 3, 1 / 3, 0])):
        expected = np.array(expected)
        assert (abs(found - expected) <= 4 * np.sqrt(expected * (1 - expected) / DRAWS)).all()


@given(st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.5, 3.0]), min_size=1, max_size=9).map(np.array), st.data())
@RANDOM
def test_who_has_no_weight_comes_last(weights, data):
    size = data.draw(st.integers(1, len(weights)))
    drawn = weighted(weights, size, default_rng(data.draw(st.integers(0, 99))))
    heavy = int((weights > 0).sum())
    assert len(set(drawn.places.tolist())) == size
    assert (weights[drawn.places[: min(size, heavy)]] > 0).all()
    assert ((drawn.inclusion > 0) & (drawn.inclusion <= 1)).all()
    if size > heavy:
        assert_allclose(drawn.inclusion[heavy:], (size - heavy) / (len(weights) - heavy))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
def test_a_weight_that_is_none_is_rejected(bad):
    with pytest.raises(ValueError, match="not finite"):
        weighted(np.array([1.0, bad]), 1, default_rng(0))


def test_more_than_all_cannot_be_drawn():
    with pytest.raises(ValueError, match="larger"):
        weighted(np.array([1.0, 0.0]), 3, default_rng(0))
    with pytest.raises(ValueError, match="cannot be drawn"):
        gumbel_top(np.zeros(2), 3, default_rng(0))


def test_draws_with_replacement_count():
    drawn = tally(np.array([3, 1, 3, 3]), np.array([9, 0.1, 9, 0.2]), np.array([9, 0.5, 9, 0.7]))
    assert drawn.places.tolist() == [1, 3]
    assert_allclose(drawn.share, [0.1, 0.6])
    assert drawn.inclusion.tolist() == [0.5, 0.7]
