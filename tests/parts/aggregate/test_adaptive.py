"""Adaptive server steps: FedAdagrad, FedAdam, FedYogi; and FedAvgM beside them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.parts.aggregate.adaptive import Adaptive

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
RULES = ["adagrad", "adam", "yogi"]
AGGREGATES = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=12)


def vector(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(("rule", "expected"), [("adam", 0.9050), ("yogi", 0.9050)])
def test_the_first_step_from_the_papers_start(rule, expected):
    # m = 0.01; v = 0.99·10⁻⁶ + 0.01·0.01 (Yogi: 10⁻⁶ + 0.01·0.01), so 0.01/(√v + 0.001)
    _, step = Adaptive(rule, rate=1.0).step({}, vector(0.1))
    assert_allclose(step, expected, atol=5e-5)


def test_adagrad_by_hand():
    # m = 0.3 then 0.27 + 0.4; v = 1 + 9 then + 16, both over √v + 1
    server = Adaptive("adagrad", rate=2.0, tau=1.0)
    state, first = server.step({}, vector(3))
    state, second = server.step(state, vector(-4))
    assert_allclose(first, 2 * 0.3 / (10**0.5 + 1), rtol=1e-6)
    assert_allclose(second, 2 * (0.27 - 0.4) / (26**0.5 + 1), rtol=1e-5)
    assert_allclose(state["second"], 26)


def test_yogi_comes_down_slower_than_adam():
    # from v = 1 and Δ² = 0.01: Yogi loses 0.01·0.01, Adam 0.01·0.99
    state = {"first": vector(0), "second": vector(1)}
    assert_allclose(Adaptive("yogi").step(state, vector(0.1))[0]["second"], 0.9999, rtol=1e-6)
    assert_allclose(Adaptive("adam").step(state, vector(0.1))[0]["second"], 0.9901, rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@given(aggregates=AGGREGATES, scale=st.sampled_from([1e-3, 1.0, 1e3]))
@RANDOM
def test_steps_are_finite_single_precision_and_v_never_negative(rule, aggregates, scale):
    server, state = Adaptive(rule, rate=0.1), {}
    for value in aggregates:
        state, step = server.step(state, vector(value * scale, 0))
        assert step.dtype == state["first"].dtype == state["second"].dtype == np.float32
        assert np.isfinite(step).all()
        assert (state["second"] >= 0).all()
        assert step[1] == 0
    # |m| ≤ √v/√(1 − β₂) for all three, so nobody moves further than ten rates
    assert abs(step[0]) <= 0.1 * 10.5
