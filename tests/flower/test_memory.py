"""What a client keeps on disk: settled as the server says, and back to any state the server may fall back to."""

import numpy as np
import pytest

from heteroselect import methods
from heteroselect.core.messages import Order
from heteroselect.core.state import PartState
from heteroselect.engines.flower.memory import Memory
from heteroselect.parts.compress import Update
from heteroselect.round.client import Learnt, Pending

METHOD, NOW = methods.get("heteroselect"), 9


def pending(round: int, value: float, shared: PartState | None = None) -> Pending:
    """Two of four coordinates of v = (value, …) are sent."""
    v = np.full(4, value, np.float32)
    sent = Update(4, np.array([0, 2]), v[[0, 2]])
    order = Order(3, round, 0.1, 0.5, 0.5, 10)
    return Pending(order, sent, {"residual": v}, {"mask": np.full(1, value, np.float32)}, {}, shared or {})


def residual(memory: Memory, settled: dict[int, bool], since: int = 0, now: int = 9) -> list[float]:
    return memory.acknowledge(settled, since, METHOD, now)["error_feedback"]["residual"].tolist()


def test_a_used_upload_leaves_the_decayed_rest(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    assert memory.acknowledge({}, 0, METHOD, NOW) == {}
    memory.wait(pending(1, 2.0))
    kept = memory.acknowledge({1: True}, 0, METHOD, NOW)
    assert kept["error_feedback"]["residual"].tolist() == [0, 1, 0, 1]
    assert kept["compress"]["mask"].tolist() == [2]
    assert residual(memory, {1: True}) == [0, 1, 0, 1]


def test_an_upload_that_was_not_used_is_kept_whole(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    memory.wait(pending(1, 2.0))
    assert residual(memory, {1: False}) == [2, 2, 2, 2]


def test_rounds_that_the_server_fell_back_behind_have_not_happened(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    memory.wait(pending(1, 2.0))
    memory.acknowledge({1: True}, 0, METHOD, NOW)
    memory.wait(pending(4, 8.0))
    memory.acknowledge({1: True, 4: True}, 2, METHOD, NOW)
    memory.wait(pending(5, 6.0))
    assert residual(memory, {1: True}, since=2) == [0, 1, 0, 1]
    assert memory.acknowledge({}, 0, METHOD, NOW) == {}


def test_what_no_checkpoint_needs_is_removed(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    for round in range(1, 6):
        memory.wait(pending(round, float(round)))
        memory.acknowledge({round: True}, max(0, round - 2), METHOD, NOW)
    assert sorted(path.name for path in memory.folder.iterdir()) == ["000003.kept", "000004.kept", "000005.kept"]


def test_a_kill_between_writing_and_removing_changes_nothing(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    memory.wait(pending(1, 2.0))
    before = (memory.folder / "000001.pending").read_bytes()
    memory.acknowledge({1: True}, 0, METHOD, NOW)
    (memory.folder / "000001.pending").write_bytes(before)
    assert residual(memory, {1: False}) == [0, 1, 0, 1]
    assert not (memory.folder / "000001.pending").exists()


def test_runs_and_clients_do_not_mix_and_names_stay_in_the_folder(tmp_path):
    Memory(tmp_path, "../../a", 1).wait(pending(1, 2.0))
    assert Memory(tmp_path, "b", 1).acknowledge({1: True}, 0, METHOD, NOW) == {}
    assert Memory(tmp_path, "../../a", 2).acknowledge({1: True}, 0, METHOD, NOW) == {}
    assert [path.parent for path in tmp_path.iterdir()] == [tmp_path]


def test_damage_is_said(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    memory.wait(pending(1, 2.0))
    (memory.folder / "000001.pending").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is damaged"):
        memory.acknowledge({1: True}, 0, METHOD, NOW)


def test_what_is_still_on_its_way_stays_while_the_same_round_asks_for_more(tmp_path):
    memory = Memory(tmp_path, "run", 3)
    memory.wait(pending(1, 2.0))
    memory.acknowledge({1: True}, 0, METHOD, 2)
    memory.wait(pending(2, 4.0))
    assert residual(memory, {1: True}, now=2) == [0, 1, 0, 1]
    assert residual(memory, {1: True, 2: True}, now=3) == [0, 2, 0, 2]


def test_what_is_held_waits_for_its_round_and_no_longer(tmp_path):
    memory, order = Memory(tmp_path, "run", 3), Order(3, 2, 0.1, 0.5, 0.5, 10, hold=True)
    held = Learnt(order, np.arange(4, dtype=np.float32), {"norm": 3.5}, {"control": np.ones(4, np.float32)})
    memory.hold(held, b"a model")
    memory.acknowledge({}, 0, METHOD, 2)
    found, model = memory.held(2)
    assert (found.order, found.report, model) == (order, {"norm": 3.5}, b"a model")
    np.testing.assert_array_equal(found.delta, held.delta)
    np.testing.assert_array_equal(found.shared["control"], held.shared["control"])
    memory.acknowledge({2: False}, 0, METHOD, 3)
    assert memory.held(2) is None
    assert memory.acknowledge({2: False}, 0, METHOD, 3) == {}


def test_what_other_parts_kept_stays_when_an_upload_is_settled(tmp_path):
    """A solver's own array was kept in round 1; the upload of round 2, which was lost, does not touch it."""
    memory, method = Memory(tmp_path, "run", 3), methods.get("scaffold")
    memory.wait(pending(1, 2.0, {"control": np.zeros(4, np.float32)}))
    first = memory.acknowledge({1: True}, 0, method, 2)
    memory.wait(pending(2, 4.0, {"control": np.zeros(4, np.float32)}))
    second = memory.acknowledge({1: True, 2: False}, 0, method, 3)
    assert first.keys() == second.keys() >= {"solver"}
    for name, array in first["solver"].items():
        np.testing.assert_array_equal(array, second["solver"][name])
