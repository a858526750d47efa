"""Error memory: nothing is lost at β = 1, and β^j is left of what waits j times (eq. 9)."""

import numpy as np
import pytest

from heteroselect.compress.memory import ErrorMemory
from heteroselect.compress.topk import top_positions
from heteroselect.compress.update import Update, Values

V = np.array([4, -3, 2, -1], np.float32)


def largest(v: Values, kept: int = 1) -> Update:
    return Update.keep(v, top_positions(np.abs(v), kept))


@pytest.mark.parametrize(("theta", "beta"), [(1.0, 0.85), (0.28, 0.9364), (0.2, 0.946), (0.12, 0.9556), (0.0, 0.97)])
def test_beta_follows_the_budget(theta: float, beta: float) -> None:
    assert ErrorMemory().beta(theta) == pytest.approx(beta, abs=1e-12)


def test_beta_between_other_bounds() -> None:
    assert ErrorMemory(minimum=0.5, maximum=0.9).beta(0.25) == pytest.approx(0.8)


@pytest.mark.parametrize("theta", [0.12, 1.0])
def test_static_beta_ignores_the_budget(theta: float) -> None:
    assert ErrorMemory(decay="static").beta(theta) == 0.9
    assert ErrorMemory(decay="static", static=1.0).beta(theta) == 1.0


def test_without_memory_the_update_goes_in_as_it_is() -> None:
    assert ErrorMemory().add(V, None).tolist() == V.tolist()


def test_memory_is_added_to_the_next_update() -> None:
    assert ErrorMemory().add(V, np.array([1, 1, 0, 0], np.float32)).tolist() == [5, -2, 2, -1]


def test_the_rest_stays_and_the_sent_does_not() -> None:
    memory = ErrorMemory().rest(V, largest(V, 2), beta=0.5, weight=0.3)
    assert memory.tolist() == [0, 0, 1, -0.5]
    assert V.tolist() == [4, -3, 2, -1], "the vector that went into the compressor is left alone"


def test_what_the_values_lost_on_the_way_stays_too() -> None:
    rounded = Update(4, np.array([0]), np.array([3.5], np.float32))
    assert ErrorMemory().rest(V, rounded, beta=1.0, weight=1.0).tolist() == [0.5, -3, 2, -1]


def test_at_beta_one_sent_and_memory_make_the_whole() -> None:
    rng = np.random.default_rng(3)
    part = ErrorMemory()
    memory, sent = None, np.zeros(50)
    deltas = rng.standard_normal((20, 50)).astype(np.float32)
    for delta in deltas:
        v = part.add(delta, memory)
        update = largest(v, 7)
        memory = part.rest(v, update, beta=1.0, weight=1.0)
        assert (update.dense() + memory).tolist() == v.tolist()
        sent += update.dense()
    assert np.allclose(sent + memory, deltas.sum(0, dtype=np.float64), atol=1e-5)


def test_a_waiting_coordinate_leaks_to_beta_to_the_j() -> None:
    part = ErrorMemory()
    beta, memory = 0.94, None
    for participation in range(1, 6):
        # the first coordinate is always larger, so the second never goes
        delta = np.array([100, 1 if participation == 1 else 0], np.float32)
        v = part.add(delta, memory)
        memory = part.rest(v, largest(v), beta, weight=1.0)
        assert memory[1] == pytest.approx(beta**participation, rel=1e-6)
    assert memory is not None
    assert memory[0] == 0
    assert memory[1] == pytest.approx(0.734, abs=1e-3)


@pytest.mark.parametrize(
    ("keep", "weight", "expected"),
    [
        (True, 0.0, [4, -3, 2, -1]),
        (True, 0.1, [0, -1.5, 1, -0.5]),
        (False, 0.0, [0, -1.5, 1, -0.5]),
    ],
)
def test_an_update_of_no_weight_is_kept_for_later_where_asked(keep: bool, weight: float, expected: list[float]) -> None:
    memory = ErrorMemory(keep_unweighted=keep).rest(V, largest(V), beta=0.5, weight=weight)
    assert memory.tolist() == expected
    assert not np.shares_memory(memory, V)
