"""What parts keep, by role and with the two names joined: the same both ways."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from heteroselect.core.state import by_role, flat
from heteroselect.round.method import Method

ROLES = [role for role, _ in Method().parts()]
NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=12)  # dots included
ARRAYS = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.uint8]),
    arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3),
)
KEPT = st.dictionaries(NAMES, ARRAYS, min_size=1, max_size=4)


@given(st.dictionaries(st.sampled_from(ROLES), KEPT))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_there_and_back_is_the_same(state):
    joined = flat(state)
    found = by_role(joined)
    assert len(joined) == sum(len(kept) for kept in state.values())
    assert found.keys() == state.keys()
    for role, kept in state.items():
        assert found[role].keys() == kept.keys()
        assert all(found[role][name] is array for name, array in kept.items())
    assert flat(found).keys() == joined.keys()


def test_by_hand():
    one, two, three = np.ones(1), np.ones(2), np.ones(3)
    state = {"error_feedback": {"residual": one}, "solver": {"residual": two, "control": three}}
    joined = flat(state)
    assert list(joined) == ["error_feedback.residual", "solver.residual", "solver.control"]
    assert joined["solver.residual"] is two
    assert by_role(joined) == state


def test_a_role_that_keeps_nothing_leaves_no_trace():
    assert flat({"error_feedback": {}, "solver": {}}) == {}
    assert by_role({}) == {}


@pytest.mark.parametrize("role", ROLES)
def test_no_role_has_a_dot_in_its_name(role):
    """The first dot ends the role; a name may have more of them."""
    assert "." not in role
    assert by_role({f"{role}.layer.0": np.ones(1)})[role].keys() == {"layer.0"}
