"""The model as coded steps over a post of this process: only what a client lacks is sent, to the simulator's bits."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from flwr.app import RecordDict

from heteroselect.core.flat import Weights
from heteroselect.engines.flower.down import STEPS, WAY, Down, LacksModelError, received
from heteroselect.engines.flower.memory import Memory
from heteroselect.engines.flower.records import MODEL, from_array, from_bytes, to_array
from heteroselect.errors import HeteroSelectError
from heteroselect.flower import HeteroSelectStrategy
from heteroselect.parts.compress import CodedSteps, wire
from heteroselect.runs.folder import RunFolder
from heteroselect.runs.identity import fingerprint
from heteroselect.runs.progress import find_latest
from heteroselect.settings.config import to_toml

KIND = {"method.downlink.kind": "steps"}
TERNARY = {"method.downlink.coder": "ternary", "method.downlink.density": 0.5}


@pytest.fixture
def walked():
    """The models after rounds 0 to 3, and the trail to the last one, of two clients."""
    part, state, rng = CodedSteps(), {}, np.random.default_rng(1)
    models = [torch.from_numpy(rng.standard_normal(300).astype(np.float32))]
    for t in range(3):
        step = rng.standard_normal(300).astype(np.float32)
        state, taken = part.code(state, step, [300], np.random.default_rng(t))
        models.append(models[-1] + torch.from_numpy(taken))
    return models, part.trail(state, 3, 2, 300)


def get(down, memory, start=None, client=0, **more):
    return received(RecordDict(down.to(client, **more)), memory, start)


def test_steps_lead_to_the_model_whatever_the_client_has_of_it(tmp_path, walked):
    models, trail = walked
    buffers = {"running_mean": torch.arange(3.0)}
    down = Down(Weights(models[3], buffers, trail), {"control": np.ones(2, np.float32)})
    for has in range(4):
        memory = Memory(tmp_path, f"run {has}", 0)
        if has:
            memory.keep_model(has, models[has].numpy())
        weights, shared = get(down, memory, Weights(models[0], {}))
        assert torch.equal(weights.vector, models[3])
        assert weights.buffers["running_mean"].tolist() == [0, 1, 2]
        assert shared["control"].tolist() == [1, 1]
        kept = memory.model()
        assert kept is not None
        assert (kept[0], kept[1].tobytes()) == (3, models[3].numpy().tobytes())
    content = RecordDict(down.to(0))
    assert len(from_array(content, STEPS)) == trail.bytes()[0]
    assert len(from_bytes(from_array(content, MODEL))[0].vector) == 0


@pytest.mark.parametrize("has", ["nothing", "another model", "a later model", "a smaller model", "a damaged file"])
def test_a_client_that_lacks_the_model_says_so_and_gets_it_whole(tmp_path, walked, has):
    models, trail = walked
    memory, down = Memory(tmp_path, "run", 0), Down(Weights(models[3], {}, trail))
    if has != "nothing":
        vector = models[1][:200] if has == "a smaller model" else models[1]
        memory.keep_model(4 if has == "a later model" else 2, vector.numpy())
    if has == "a damaged file":
        (memory.folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(LacksModelError):
        get(down, memory)
    assert torch.equal(get(down, memory, whole=True)[0].vector, models[3])
    assert torch.equal(
        get(Down(Weights(models[3], {}, replace(trail, has=np.array([3, 3])))), memory)[0].vector, models[3]
    )


def test_a_kept_model_that_leads_nowhere_does_not_hide_the_initial_one(tmp_path, walked):
    models, trail = walked
    memory = Memory(tmp_path, "run", 0)
    memory.keep_model(1, models[1][:200].numpy())  # no step of 300 coordinates can be read for it
    weights, _ = get(Down(Weights(models[3], {}, trail)), memory, Weights(models[0], {}))
    assert torch.equal(weights.vector, models[3])


def last(content):
    """What goes before the last step of a message, and that step."""
    steps, length = from_array(content, STEPS), content[WAY]["lengths"][-1]
    return steps[:-length], steps[-length:]


def flip(content):
    before, step = last(content)
    middle = len(step) // 2
    content[STEPS] = to_array(before + step[:middle] + bytes([step[middle] ^ 1]) + step[middle + 1 :])


def flip_unseen(content):
    """In the last coordinate, with a checksum of the step that fits: only that of all parameters can tell."""
    before, step = last(content)
    magic, version, *fields, _ = wire._HEADER.unpack_from(step)
    body = step[wire._HEADER.size : -1] + bytes([step[-1] ^ 1])
    flipped = wire._HEADER.pack(magic, version, *fields, wire._checksum(tuple(fields), body)) + body
    mine, theirs = (wire.decode(one, fields[0]).dense() for one in (flipped, step))
    assert not np.array_equal(mine, theirs)
    content[STEPS] = to_array(before + flipped)


DAMAGE = {
    "flipped": flip,
    "flipped unseen": flip_unseen,
    "cut": lambda content: content.update({STEPS: to_array(from_array(content, STEPS)[:-1])}),
    "empty": lambda content: content.update({STEPS: to_array(b"")}),
    "one length less": lambda content: content[WAY].update(lengths=content[WAY]["lengths"][:-1]),
    "one length more": lambda content: content[WAY].update(lengths=[*content[WAY]["lengths"], 0]),
    "later round": lambda content: content[WAY].update(round=content[WAY]["round"] + 1),
    "no way": lambda content: content.pop(WAY),
    "no steps": lambda content: content.pop(STEPS),
    "buffers cut": lambda content: content.update({MODEL: to_array(from_array(content, MODEL)[:-1])}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("has", [0, 2])
def test_a_client_whose_steps_were_damaged_lacks_the_model_and_keeps_what_it_had(tmp_path, walked, has, damage):
    models, trail = walked
    memory, start = Memory(tmp_path, "run", 0), Weights(models[0], {})
    if has:
        memory.keep_model(has, models[has].numpy())
    down = Down(Weights(models[3], {"running_mean": torch.arange(3.0)}, trail))
    content = RecordDict(down.to(0))
    damage(content)
    with pytest.raises(LacksModelError):
        received(content, memory, start)
    kept = memory.model()
    assert (kept[0] if kept else 0) == has
    assert torch.equal(get(down, memory, start)[0].vector, models[3]), "the next message helps"


def fetched(nodes):
    """The bytes of parameters that really went down, whole or as steps, and how many messages had them whole."""
    sizes, whole = 0, 0
    for content in [message.content for message in nodes.seen if MODEL in message.content]:
        vector = from_bytes(from_array(content, MODEL))[0].vector
        sizes, whole = sizes + 4 * len(vector), whole + bool(len(vector))
        sizes += len(from_array(content, STEPS)) if STEPS in content else 0
    return sizes, whole


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fedavg", "heteroselect", "optimal-client-sampling", "heteroselect2"])
def test_a_run_is_the_simulators_to_the_bit_and_sends_what_the_ledger_counts(name, carried):
    """Also where clients are scored, where they hold what they learnt, and where both ways are ternary."""
    here = carried(name, **KIND, **(TERNARY if name == "heteroselect2" else {}))
    mine = here.check()
    sizes, whole = fetched(here.nodes)
    assert whole == 0
    # of four bytes: everybody's loss, or the length of what it learnt
    numbers = 0 if name in ("fedavg", "heteroselect2") else 4 * 6
    assert sizes == mine.summary["bytes_down"] + mine.summary["bytes_scoring"] - 4 * numbers


@pytest.mark.slow
def test_nodes_that_lost_their_files_are_sent_the_whole_model(tmp_path, carried):
    here = carried("fedavg", **KIND)

    def forgetful(message):
        for file in tmp_path.rglob("model.safetensors"):
            file.unlink()
        return False

    here.nodes.lose = forgetful
    here.nodes.sites = [replace(site, start=None) for site in here.nodes.sites]
    here.check()
    assert fetched(here.nodes)[1] == 12, "three clients in each of four rounds"


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_steps_that_were_damaged_on_their_way_end_in_the_same_bits(damage, carried):
    """Those of round 3: in round 4 its clients go on from the model that they were then sent whole."""
    here, damaged = carried("heteroselect2", **KIND, **TERNARY), []

    def harm(message):
        content = message.content
        if message.metadata.group_id == "3" and STEPS in content and from_array(content, STEPS):
            damage(content)
            damaged.append(message.metadata.dst_node_id)
        return False

    here.nodes.lose = harm
    here.check()
    seen = here.nodes.seen
    whole = [one.metadata.dst_node_id for one in seen if WAY in one.content and one.content[WAY]["since"] < 0]
    assert whole == damaged
    assert len(damaged) == 3


@pytest.mark.slow
def test_a_server_that_falls_back_ends_in_the_same_bits(tmp_path, carried):
    """Nodes are then ahead of the server: the steps that they are sent do not help them, and they say so."""
    here, path = carried("fedavg", **KIND, **{"simulate.checkpoint_rounds": 2}), tmp_path / "run"
    known = fingerprint(here.experiment, "cpu")

    def broken(line):
        if line["round"] == 3:
            raise RuntimeError("the machine is gone")

    with pytest.raises(RuntimeError, match="gone"):
        here.play(RunFolder.create(path, to_toml(here.experiment.config), known), watch=broken)
    found = find_latest(here.experiment, path, print, known)
    assert len(found[0].lines) == 2
    here.check(here.play(RunFolder.reopen(path, 2, known), found=found))
    assert any(WAY in message.content for message in here.nodes.seen)


def test_a_strategy_refuses_steps():
    with pytest.raises(HeteroSelectError, match=r"method\.downlink\.kind: allowed in a HeteroSelectStrategy is model"):
        HeteroSelectStrategy(torch.nn.Linear(2, 2), method="fedavg", clients=2, selected=1, rounds=1, settings=KIND)
