"""Memories by hand: β^j is left of what waits j times (eq. 9); EF21; DGC's pair."""

import numpy as np
import pytest

from heteroselect.core.update import Update, Values
from heteroselect.parts.compress.memory import EF21, ErrorMemory, MomentumMemory, NoMemory
from heteroselect.parts.compress.topk import top_positions

V = np.array([4, -3, 2, -1], np.float32)


def largest(v: Values, kept: int = 1) -> Update:
    return Update.keep(v, top_positions(np.abs(v), kept))


@pytest.mark.parametrize(("theta", "beta"), [(1.0, 0.85), (0.28, 0.9364), (0.2, 0.946), (0.12, 0.9556), (0.0, 0.97)])
def test_beta_follows_the_budget(theta: float, beta: float) -> None:
    assert ErrorMemory().beta(theta) == pytest.approx(beta, abs=1e-12)


def test_beta_of_other_settings() -> None:
    assert ErrorMemory(minimum=0.5, maximum=0.9).beta(0.25) == pytest.approx(0.8)
    assert ErrorMemory("static", static=0.7).beta(0.12) == ErrorMemory("static", static=0.7).beta(1.0) == 0.7


def test_what_is_added_and_what_stays_by_hand() -> None:
    part, kept = ErrorMemory(), {"residual": np.array([1, 1, 0, 0], np.float32)}
    assert part.offer(V, kept)[0].tolist() == [5, -2, 2, -1]
    v, offered = part.offer(V, {})
    assert v.tolist() == V.tolist()
    rounded = Update(4, np.array([0]), np.array([3.5], np.float32))
    for sent, beta, rest in (
        (largest(V, 2), 0.5, [0, 0, 1, -0.5]),
        (None, 0.5, V.tolist()),  # what did not arrive stays whole
        (rounded, 1.0, [0.5, -3, 2, -1]),  # and so does what the values lost on the way
    ):
        assert part.update_state(offered, sent, beta)["residual"].tolist() == rest
    assert V.tolist() == [4, -3, 2, -1], "the vector that went into the compressor is left alone"


def test_a_waiting_coordinate_leaks_to_beta_to_the_j() -> None:
    part, beta, kept = ErrorMemory(), 0.94, {}
    for participation in range(1, 6):
        # the first coordinate is always larger, so the second never goes
        delta = np.array([100, 1 if participation == 1 else 0], np.float32)
        v, offered = part.offer(delta, kept)
        kept = part.update_state(offered, largest(v), beta)
        assert kept["residual"][1] == pytest.approx(beta**participation, rel=1e-6)
    assert kept["residual"][0] == 0
    assert kept["residual"][1] == pytest.approx(0.734, abs=1e-3)


def test_no_memory_keeps_nothing() -> None:
    v, offered = NoMemory().offer(V, {"residual": V})
    assert v is V
    assert NoMemory().update_state(offered, largest(V), 1.0) == NoMemory().update_state(offered, None, 1.0) == {}


# EF21: both sides hold the same estimate.


def test_ef21_sends_the_change_and_both_sides_add_it() -> None:
    part = EF21()
    v, offered = part.offer(V, {})
    assert v.tolist() == V.tolist(), "at first the estimate is zero"
    kept = part.update_state(offered, largest(v), 1.0)
    assert kept["reference"].tolist() == [4, 0, 0, 0]
    v, offered = part.offer(V, kept)
    assert v.tolist() == [0, -3, 2, -1]
    assert part.update_state(offered, None, 1.0)["reference"].tolist() == [4, 0, 0, 0], (
        "the server did not get it either"
    )
    assert part.update_state(offered, largest(v), 1.0)["reference"].tolist() == [4, -3, 0, 0]


def test_ef21_of_something_constant_shrinks_by_the_contraction() -> None:
    """‖g − Δ‖² falls by at least 1 − κ/N a time."""
    delta = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    part, kept, gap = EF21(), {}, float(delta @ delta)
    for _ in range(6):
        v, offered = part.offer(delta, kept)
        kept = part.update_state(offered, largest(v, 4), 1.0)
        left = float(((kept["reference"] - delta) ** 2).sum())
        assert left <= (1 - 4 / 40) * gap + 1e-6
        gap = left


# Deep gradient compression's pair.


def test_dgc_by_hand() -> None:
    """m = .9, g = (1, .1) twice, κ = 1: the momentum of what was sent is masked."""
    part, g = MomentumMemory(0.9), np.array([1, 0.1], np.float32)
    v, offered = part.offer(g, {})
    kept = part.update_state(offered, largest(v), 1.0)
    assert kept["velocity"] == pytest.approx([0, 0.1])
    assert kept["residual"] == pytest.approx([0, 0.1])
    v, offered = part.offer(g, kept)
    assert offered["velocity"] == pytest.approx([1, 0.19])
    assert v == pytest.approx([1, 0.29])
    sent = largest(v)
    assert (sent.positions.tolist(), sent.values.tolist()) == ([0], [1])
    lost = part.update_state(offered, None, 1.0)
    assert lost["residual"] == pytest.approx([1, 0.29])
    assert lost["velocity"] == pytest.approx([1, 0.19])


def test_dgc_without_momentum_is_an_error_memory() -> None:
    rng = np.random.default_rng(5)
    pair, plain, kept, other = MomentumMemory(0.0), ErrorMemory(), {}, {}
    for _ in range(5):
        delta = rng.standard_normal(30).astype(np.float32)
        v, offered = pair.offer(delta, kept)
        w, also = plain.offer(delta, other)
        assert v.tolist() == w.tolist()
        kept, other = pair.update_state(offered, largest(v, 3), 1.0), plain.update_state(also, largest(w, 3), 1.0)
    assert kept["residual"].tolist() == other["residual"].tolist()
