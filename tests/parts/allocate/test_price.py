"""The least variance for what it costs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from heteroselect.errors import HeteroSelectError
from heteroselect.parts.allocate import Price
from heteroselect.parts.allocate.price import priced
from heteroselect.parts.compress import Drive, Ternary
from heteroselect.round.method import Method
from parts.allocate.situations import allocate, context, links

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
CLIENTS = st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 10), st.floats(0.01, 1)), min_size=2, max_size=8)
PRICES = st.one_of(st.just(0.0), st.floats(0.1, 1000))
MINIMUM = 0.005
variance = Drive().variance


def plan(working, sending, price=1.0, each=0.0, variance=variance, minimum=MINIMUM):
    return priced(variance, np.array(working), np.array(sending), price=price, each=each, minimum=minimum)


def cost(densities, working, sending, price, each, variance=variance):
    seconds = max(working + densities * sending)
    return sum(variance(d) for d in densities) + each * densities.sum() + price * seconds


def test_two_clients_by_hand():
    # both send for x s, θ = x and x/4: the least of π/2·(1/x + 4/x) + λx is at x = √(5π/2/λ), here a tenth of a second
    seconds, densities = plan([3.0, 3.0], [1.0, 4.0], price=250 * math.pi)
    assert seconds == pytest.approx(3.1)
    assert_allclose(densities, [0.1, 0.025], rtol=1e-6)


def test_both_prices_by_hand():
    # bytes hold the fast one at 0.2; the slow one sends for x s, π/2·4/x + e·x/4 + λx least at x² = 2π/(e/4 + λ)
    each = math.pi / 0.08
    price = 2 * math.pi / 0.4**2 - each / 4
    seconds, densities = plan([1.0, 1.0], [1.0, 4.0], price=price, each=each)
    assert seconds == pytest.approx(1.4)
    assert_allclose(densities, [0.2, 0.1], rtol=1e-6)


def test_free_of_charge_all_is_sent_and_at_any_price_the_minimum():
    assert plan([1.0, 2.0], [1.0, 4.0], price=0.0)[1].tolist() == [1.0, 1.0]
    assert_allclose(plan([1.0, 2.0], [1.0, 1.0], price=1e9)[1], [1.0, MINIMUM])  # the first is ready a second before
    assert_allclose(plan([2.0, 2.0], [1.0, 1.0], price=1e9)[1], [MINIMUM, MINIMUM])


# Ternary's variance is convex above 0.0085 only, below which nothing is saved, and goes in steps of rounded bits
@pytest.mark.parametrize(
    ("coder", "minimum", "rounding"), [(Drive(), MINIMUM, 1e-9), (Ternary(), 0.01, 1e-6)], ids=["drive", "ternary"]
)
@given(clients=CLIENTS, price=PRICES, each=PRICES, seed=st.integers(0, 99))
@RANDOM
def test_no_other_plan_costs_less(coder, minimum, rounding, clients, price, each, seed):
    working, sending, scores = np.array(clients).T
    _, found = plan(working, sending, price, each, coder.variance, minimum)
    least, rng = cost(found, working, sending, price, each, coder.variance), np.random.default_rng(seed)
    others = [np.full(len(found), theta) for theta in (minimum, 0.05, 0.2, found.mean(), 1.0)]
    others += [np.clip(scores / scores.mean() * found.mean(), minimum, 1.0)]
    others += [np.clip(found * np.exp(size * rng.standard_normal(len(found))), minimum, 1) for size in (0.01, 0.1, 1)]
    for other in others:
        assert cost(other, working, sending, price, each, coder.variance) >= least * (1 - rounding) - 1e-9


@given(clients=CLIENTS, each=st.floats(2, 1000), seed=st.integers(0, 99))
@RANDOM
def test_of_as_many_bytes_nobody_has_less_variance(clients, each, seed):
    working, sending, scores = np.array(clients).T
    _, found = plan(working, sending, price=0.0, each=each)
    rng = np.random.default_rng(seed)
    for shape in (scores, rng.exponential(size=len(found)) + 0.01, rng.uniform(0.9, 1.1, len(found))):
        other = shape * found.sum() / shape.sum()
        if (other <= 1).all():
            assert sum(map(variance, other)) >= sum(map(variance, found)) * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_general_solver_finds_nothing_better(seed):
    rng = np.random.default_rng(seed)
    working, sending, price, each = rng.uniform(0, 2, 4), rng.uniform(0.5, 3, 4), 40.0, 20.0
    seconds, found = plan(working, sending, price, each)
    ends = {"type": "ineq", "fun": lambda x: x[-1] - working - x[:-1] * sending}
    start = np.append(np.full(4, 0.5), 10.0)
    solved = minimize(
        lambda x: np.sum(np.pi / (2 * x[:-1]) - 1 + each * x[:-1]) + price * x[-1],
        start,
        bounds=[(MINIMUM, 1)] * 4 + [(0, None)],
        constraints=[ends],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    # what its plan costs in the seconds that it really takes: the solver oversteps its constraints a little
    best = cost(solved.x[:-1], working, sending, price, each)
    mine = cost(found, working, sending, price, each)
    assert mine <= best * (1 + 1e-9)
    assert mine == pytest.approx(best, rel=1e-4)
    assert_allclose(found, solved.x[:-1], rtol=1e-2)
    assert seconds == pytest.approx(solved.x[-1], rel=1e-3)


def test_a_price_is_one_of_real_megabytes():
    # 8 million coordinates of a bit are 1 MB; alone a price of π/0.08 per MB holds each at 0.2
    conditions = links([1e9, 4e9], 1.0, size=8 * 10**6, real_bits=32, coder=Drive())
    found = allocate(Price(0.0, math.pi / 0.08), [0, 0], context(conditions))
    assert_allclose(found.densities, [0.2, 0.2], rtol=1e-6)
    assert found.theta == pytest.approx(0.2)


@pytest.mark.parametrize(("size", "real_bits"), [(8 * 10**6, 32), (250_000, None)], ids=["one bit", "32 bits"])
@pytest.mark.parametrize(("seconds", "megabytes"), [(9.28, 0.0), (4.28, 4.0)], ids=["seconds", "both"])
def test_a_price_is_one_of_the_seconds_that_are_ordered(size, real_bits, seconds, megabytes):
    """A whole update is 1 MB either way, and sent in 1 s and 4 s; the first works for 4 times ½ s, the other 1 s."""
    # T = 2 + x is θ = x and (1 + x)/4, and π/2·(1/x + 4/(1 + x)) + λx + μ(x + (1 + x)/4) is least where
    # π/2·(1/x² + 4/(1 + x)²) = λ + 5μ/4: at x = ¼ the left is 9.28π. With μ = 4π bytes alone would allow √⅛ = 0.354
    conditions = links([8e6, 2e6], [0.5, 1.0], size=size, real_bits=real_bits, coder=Drive())
    conditions = replace(conditions, passes=3.0, own_passes=np.array([4.0, 1.0]))
    found = allocate(Price(seconds * math.pi, megabytes * math.pi), [0, 0], context(conditions))
    assert_allclose(found.densities, [0.25, 0.3125], rtol=1e-6)
    assert found.theta == pytest.approx(0.28125)


def test_a_compressor_without_a_variance_is_refused():
    with pytest.raises(
        HeteroSelectError, match=r"method.allocate: price is allowed with .* as method.compress.kind=drive"
    ):
        Method("mine", allocate=Price())
    with pytest.raises(ValueError, match="given none"):
        allocate(Price(), [0, 0], context(links([1e6, 1e6])))
