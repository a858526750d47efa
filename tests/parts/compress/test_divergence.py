"""Three clients that pull apart: plain top-1 diverges, and an error memory or EF21 brings it home.

f_i(x) = (a_i·x)² + ¼‖x‖² with a_1 = (−3, 2, 2) and its permutations, from x₀ = (1, 1, 1) in steps of 0.02 (the example
of Beznosikov et al., "On biased compression for distributed learning", 2020).
"""

from typing import Any

import numpy as np
import pytest

from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Running, ServerSGD
from heteroselect.parts.compress import EF21, ErrorMemory, NoMemory
from heteroselect.parts.compress.topk import top_positions

ROWS = np.array([[-3, 2, 2], [2, -3, 2], [2, 2, -3]], np.float64)
STEP = 0.02


def gradients(x: np.ndarray) -> np.ndarray:
    return 2 * (ROWS @ x)[:, None] * ROWS + x / 2


def norm_after(memory: Any, steps: int, server: Any = ServerSGD()) -> float:
    """‖x‖² after so many steps of top-1 from each client."""
    x, kept, state = np.ones(3), [{}, {}, {}], {}
    for _ in range(steps):
        total = np.zeros(3, np.float32)
        for client, gradient in enumerate(gradients(x)):
            v, offered = memory.offer((-STEP * gradient).astype(np.float32), kept[client])
            sent = Update.keep(v, top_positions(np.abs(v), 1))
            kept[client] = memory.update_state(offered, sent, 1.0)
            sent.add_to(total, 1 / 3)
        state, step = server.step(state, total)
        x = x + step
        if not np.isfinite(x).all() or x @ x > 1e12:
            return np.inf
    return float(x @ x)


def test_the_first_step_of_plain_top_1_goes_the_wrong_way():
    first = gradients(np.ones(3))
    picked = np.array([Update.keep(g.astype(np.float32), top_positions(np.abs(g), 1)).dense() for g in first])
    assert first.mean(0) == pytest.approx([7 / 6] * 3)
    assert picked.mean(0) == pytest.approx([-11 / 6] * 3)


def test_plain_top_1_diverges():
    assert norm_after(NoMemory(), 500) == np.inf


@pytest.mark.slow
def test_an_error_memory_converges_and_so_does_ef21_with_a_server_that_holds_the_sum():
    assert norm_after(ErrorMemory(), 3000) < 1e-10
    assert norm_after(EF21(), 3000, Running()) < 1e-10
    assert norm_after(EF21(), 3000) > 1e-3
