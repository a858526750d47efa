"""What nodes claim is checked: whose clients they have, how many examples, which statistics. What is refused, and
whatever else goes wrong, is in the events of the round."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from flwr.app import Error, Message

from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate, Order, Question
from heteroselect.engines.flower.homes import PATIENCE
from heteroselect.engines.flower.post import GridPost
from heteroselect.engines.flower.records import (
    BODY,
    HEADER,
    PAYLOAD,
    Header,
    from_array,
    from_bytes,
    to_array,
    to_bytes,
)
from heteroselect.flower.keys import digest_of, make_node_key
from heteroselect.runs.loop import play
from heteroselect.world import Event, measured_links

pytestmark = pytest.mark.slow

SIX = [Question(k, 1, 1, 32) for k in range(6)]


def saying(kind: str, client: int, **fields: object) -> Callable[[Message], Message]:
    """Client `client` (at the node of that place) says something else in its answers of this kind."""

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        who = message.metadata.src_node_id - 1000 if kind == "Hello" else header.client
        if header.kind == kind and who == client:
            message.content[BODY].update(fields)
        return message

    return spoil


def test_examples_are_bounded_by_the_median_of_all(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    nodes.spoil = saying("Hello", 4, examples=[10**11])
    engine = gathered(experiment, nodes)
    honest = experiment.server().population.sizes.tolist()
    median = sorted([*honest[:4], honest[5], 10**11])[2]
    assert engine.sizes(10.0).tolist() == [*honest[:4], 10 * median, honest[5]]
    assert engine.troubles() == [Event(4, "claim", f"its number of examples of 1e+11 was taken as {10 * median:.4g}")]
    upload = engine.train(experiment.weights, [Order(4, 1, 0.1, 0.5, 0.9, 4)], {})[0]
    assert upload.examples == 10 * median


@pytest.mark.parametrize("known", [True, False], ids=["known", "claimed"])
def test_how_many_examples_a_client_has_is_said_once(tmp_path, known, nodes_of, small, gathered):
    """A node that starts again says another number, and so does an upload."""
    experiment = small()
    nodes, sizes = nodes_of(experiment, tmp_path), experiment.server().population.sizes.tolist()
    engine = gathered(experiment, nodes, examples=dict(enumerate(sizes)) if known else {})
    assert engine.troubles() == []
    nodes.sites.append(nodes.sites[2])
    nodes.lose = lambda message: message.metadata.dst_node_id == 1002
    nodes.spoil = saying("Hello", 6, examples=[77])
    engine.losses(experiment.weights, SIX)
    assert engine.homes.at[2] == 1006
    assert engine.homes.examples[2] == sizes[2]
    noted = Event(2, "claim", f"it claims 77 examples, and {sizes[2]} are registered")
    assert noted in engine.troubles()
    nodes.spoil = saying("Order", 2, examples=77)
    assert engine.train(experiment.weights, [Order(2, 1, 0.1, 0.5, 0.9, 4)], {})[0].examples == sizes[2]
    assert engine.troubles() == [noted]


@pytest.mark.parametrize(("claimed", "taken"), [(1.0, 2e5), (1e300, 2e7)])
def test_a_node_that_lies_about_its_link_is_bounded_by_the_others(
    tmp_path, claimed, taken, nodes_of, small, opening_on
):
    """What all six measured is told with the losses of the second round."""
    experiment = small(rounds=2, **{"world.links": "measured"})
    nodes, links = nodes_of(experiment, tmp_path), measured_links(experiment.environment.world)

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        if header.round == 2 and header.kind == "Question":
            speed = claimed if header.client == 4 else 2e6
            message.content[HEADER] = replace(header, uplink=speed, measurement=1).to_record()
        return message

    nodes.spoil = spoil
    lines = play(experiment, None, threads=1, engine=opening_on(experiment, nodes, links=links)).rounds
    assert links.estimates == {k: taken if k == 4 else 2e6 for k in range(6)}
    told = {"client": 4, "kind": "claim", "detail": f"its uplink of {claimed:.4g} was taken as {taken:.4g}"}
    assert [line["events"] for line in lines] == [[], [told]]


@pytest.mark.parametrize(("factor", "taken"), [(0.9e6, True), (1.1e6, False)])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_statistics_out_of_all_proportion_are_left_out(tmp_path, name, factor, taken, nodes_of, small, gathered):
    """Those before are 0 and 1, or 3: growth is measured from 1 at least."""
    experiment = small(**{"model.name": "resnet9", "clients": 3, "selected": 2, "method.compress.kind": "topk"})
    nodes = nodes_of(experiment, tmp_path)
    before = {key: buffer.clone() for key, buffer in experiment.weights.buffers.items()}
    key = next(key for key in before if key.endswith(name))
    before[key][1] = 3.0

    def spoil(message: Message) -> Message:
        if PAYLOAD in message.content:
            buffers = from_bytes(from_array(message.content, PAYLOAD))[0].buffers
            buffers[key][0] = 3 * factor
            message.content[PAYLOAD] = to_array(to_bytes(Weights(torch.empty(0), buffers)))
        return message

    nodes.spoil = spoil
    engine = gathered(experiment, nodes)
    found = engine.calibrate(replace(experiment.weights, buffers=before), Calibrate(1, 1, 1, 8))
    assert (float(found[key][0]) == pytest.approx(3 * factor)) == taken
    why = [Event(1, "trouble", "its statistics are more than 1e+06 times those before")]
    assert engine.troubles() == ([] if taken else why)


def test_a_client_belongs_to_the_key_that_brought_it_first(tmp_path, nodes_of, small, gathered, monkeypatch):
    """Its node falls silent: one with another key does not get it, one with the same key does."""
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    nodes.keys = {place: f"key {place}" for place in range(6)}
    engine = gathered(experiment, nodes)
    nodes.lose = lambda message: message.metadata.dst_node_id == 1004
    engine.losses(experiment.weights, SIX)
    assert engine.troubles() == [Event(4, "trouble", "it did not answer")]
    nodes.sites += [nodes.sites[4]]
    nodes.keys[6] = "another key"
    engine.losses(experiment.weights, SIX)
    assert engine.homes.at[4] == 1004
    assert Event(4, "claim", "a node with another key claims it") in engine.troubles()
    nodes.keys[6] = "key 4"
    monkeypatch.setattr("time.monotonic", lambda now=time.monotonic: now() + 2 * PATIENCE)
    engine.losses(experiment.weights, SIX)
    assert engine.homes.at[4] == 1006
    assert Event(4, "trouble", "it is at another node than before") in engine.troubles()


def test_keys_that_the_command_registered_hold_before_the_first_contact(tmp_path, nodes_of, small, gathered):
    """Also for an engine that is new, as after a new start of the server: a stranger that is faster gets nobody."""
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    everybody = {k: one for site in nodes.sites for k, one in site.clients.items()}
    nodes.sites.append(replace(nodes.sites[0], clients=everybody))  # answers come last to first
    nodes.keys = {place: f"key {place}" for place in range(7)}
    for _ in range(2):
        engine = gathered(experiment, nodes, owners={k: f"key {k}" for k in range(6)})
        assert engine.homes.at == {k: 1000 + k for k in range(6)}
        assert engine.troubles() == [Event(k, "claim", "a node with another key claims it") for k in range(6)]


def test_of_two_that_claim_a_client_at_once_one_has_it_and_the_other_is_noted(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    nodes.sites.append(nodes.sites[3])
    engine = gathered(experiment, nodes)
    assert engine.homes.at[3] == 1006, "its answer came first"
    assert engine.troubles() == [Event(3, "claim", "another node claims it, too")]


def test_a_key_is_known_by_the_digest_of_what_flower_hands_on(tmp_path):
    from flwr.cli.supernode.register import try_load_public_key
    from flwr.proto.node_pb2 import NodeInfo

    _, public = make_node_key(tmp_path, "node")
    nodes = [NodeInfo(node_id=5, public_key=try_load_public_key(public))]
    grid = SimpleNamespace(get_nodes=lambda: nodes, get_node_ids=lambda: [5])
    assert GridPost(grid, keys=True).nodes() == {5: digest_of(public)}
    assert GridPost(grid).nodes() == {5: ""}


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ("error", "out of memory"),
        ("nameless error", "its node failed with code 2"),
        ("header", "it has no header"),
        ("name", "an answer that nobody asked it for"),
    ],
)
def test_why_there_is_no_answer_is_in_the_rounds_events(tmp_path, harm, why, nodes_of, small, opening_on):
    """Clients 1 and 4 share a node; what comes of client 4 is no answer of its own, and client 1 is fine."""
    experiment = small(rounds=1, selected=6)
    nodes, log = nodes_of(experiment, tmp_path, places=3), tmp_path / "flower.jsonl"

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        if (header.kind, header.client) != ("Order", 4):
            return message
        if harm.endswith("error"):
            return Message(Error(2, "out of memory" if harm == "error" else None), reply_to=nodes.seen[-1])
        if harm == "header":
            del message.content[HEADER]
        else:
            message.content[HEADER] = replace(header, client=5).to_record()
        return message

    nodes.spoil = spoil
    lines = play(experiment, None, threads=1, engine=opening_on(experiment, nodes, log=log)).rounds
    assert lines[0]["events"] == [{"client": 4, "kind": "missing", "detail": why}]
    assert json.loads(log.read_text())["troubles"] == [f"client 4: {why} (node 1001)"]


def test_what_flower_says_of_a_node_that_is_gone_is_in_the_log(tmp_path, nodes_of, small, gathered):
    """It speaks under a number of its own; of the client it is known that it did not answer."""
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    engine = gathered(experiment, nodes)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).client != 4:
            return message
        gone = Message(Error(5, "the node is gone"), reply_to=nodes.seen[-1])
        gone.metadata.__dict__["_src_node_id"] = 1
        return gone

    nodes.spoil = spoil
    engine.losses(experiment.weights, SIX)
    assert engine.notes.troubles == ["node 1: the node is gone", "client 4: it did not answer"]
    assert engine.troubles() == [Event(4, "trouble", "it did not answer")]


def test_what_went_wrong_is_in_the_rounds_events_and_the_log_has_decode_times(tmp_path, nodes_of, small, opening_on):
    """Client 2 gives no loss in round 1 and writes a novel instead of an update in round 2."""
    experiment = small(rounds=2, selected=6)
    nodes, log = nodes_of(experiment, tmp_path), tmp_path / "flower.jsonl"

    def lose(message: Message) -> bool:
        header = Header.read(message.content)
        return (header.kind, header.client, header.round) == ("Question", 2, 1)

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        if (header.kind, header.client, header.round) == ("Order", 2, 2):
            message.content[BODY]["refused"] = "no" * 1000
        return message

    nodes.lose, nodes.spoil = lose, spoil
    lines = play(experiment, None, threads=1, engine=opening_on(experiment, nodes, log=log)).rounds
    assert [line["events"] for line in lines] == [
        [{"client": 2, "kind": "trouble", "detail": "it did not answer"}],
        [{"client": 2, "kind": "missing", "detail": "no" * 100 + "…"}],
    ]
    noted = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["round"] for line in noted] == [1, 2]
    assert [line["troubles"][0][:20] for line in noted] == ["client 2: it did not", "client 2: nononononon"[:20]]
    for line, who in zip(noted, ("012345", "01345"), strict=True):
        assert sorted(line["decode_seconds"]) == sorted(line["payloads"]) == list(who)
        assert all(seconds > 0 for seconds in line["decode_seconds"].values())
    assert "decode" not in json.dumps(lines)
