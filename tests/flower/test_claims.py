"""What nodes claim is checked: whose clients they have, how many examples, which statistics. What is refused, and
whatever else goes wrong, is in the events of the round."""

import json
import time
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
from heteroselect.world import Event, measured_links

pytestmark = pytest.mark.slow

SIX = [Question(k, 1, 1, 32) for k in range(6)]


def saying(**fields: object):
    return lambda message: message.content[BODY].update(fields)


def test_examples_are_bounded_by_the_median_of_all(carried):
    here = carried()
    here.nodes.harm(saying(examples=[10**11]), "Hello", 4)
    engine = here.engine()
    honest = here.experiment.server().population.sizes.tolist()
    median = sorted([*honest[:4], honest[5], 10**11])[2]
    assert engine.sizes(10.0).tolist() == [*honest[:4], 10 * median, honest[5]]
    assert engine.troubles() == [Event(4, "claim", f"its number of examples of 1e+11 was taken as {10 * median:.4g}")]
    here.nodes.harm(saying(examples=77), "Order", 4)
    upload = engine.train(here.weights, [Order(4, 1, 0.1, 0.5, 0.9, 4)], {})[0]
    assert upload.examples == 10 * median, "what was said first holds"
    assert engine.troubles() == [Event(4, "claim", "it claims 77 examples, and 100000000000 are registered")]


@pytest.mark.parametrize(("claimed", "taken"), [(1.0, 2e5), (1e300, 2e7)])
def test_a_node_that_lies_about_its_link_is_bounded_by_the_others(claimed, taken, carried):
    """What all six measured is told with the losses of the second round."""
    here = carried(rounds=2, **{"world.links": "measured"})
    links = measured_links(here.experiment.environment.world)

    def tell(message: Message) -> None:
        header = Header.read(message.content)
        speed = claimed if header.client == 4 else 2e6
        message.content[HEADER] = replace(header, uplink=speed, measurement=1).to_record()

    here.nodes.harm(tell, "Question", round=2)
    lines = here.play(links=links).rounds
    assert links.estimates == {k: taken if k == 4 else 2e6 for k in range(6)}
    told = {"client": 4, "kind": "claim", "detail": f"its uplink of {claimed:.4g} was taken as {taken:.4g}"}
    assert [line["events"] for line in lines] == [[], [told]]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (2.7e6, None),
        (3.3e6, "its statistics are more than 1e+06 times those before"),
        (float("nan"), "its statistics are not of this model"),
    ],
)
def test_statistics_that_cannot_be_are_left_out(value, why, carried):
    """The largest before was 3."""
    here = carried(**{"model.name": "resnet9", "clients": 3, "selected": 2, "method.compress.kind": "topk"})
    before = {key: buffer.clone() for key, buffer in here.weights.buffers.items()}
    key = next(key for key in before if key.endswith("running_var"))
    before[key][1] = 3.0

    def harm(message: Message) -> None:
        buffers = from_bytes(from_array(message.content, PAYLOAD))[0].buffers
        buffers[key][0] = value
        message.content[PAYLOAD] = to_array(to_bytes(Weights(torch.empty(0), buffers)))

    here.nodes.harm(harm, "Calibrate")
    engine = here.engine()
    found = engine.calibrate(replace(here.weights, buffers=before), Calibrate(1, 1, 1, 8))
    assert (float(found[key][0]) == value) == (why is None)
    assert engine.troubles() == ([] if why is None else [Event(1, "trouble", why)])


def test_a_client_belongs_to_the_key_that_brought_it_first(carried, monkeypatch):
    """Its node falls silent: one with another key does not get it, one with the same key does."""
    here = carried()
    nodes = here.nodes
    nodes.keys = {place: f"key {place}" for place in range(6)}
    engine = here.engine()
    nodes.lose = lambda message: message.metadata.dst_node_id == 1004
    engine.losses(here.weights, SIX)
    assert engine.troubles() == [Event(4, "trouble", "it did not answer")]
    nodes.sites += [nodes.sites[4]]
    nodes.keys[6] = "another key"
    engine.losses(here.weights, SIX)
    assert engine.homes.at[4] == 1004
    assert Event(4, "claim", "a node with another key claims it") in engine.troubles()
    nodes.keys[6] = "key 4"
    monkeypatch.setattr("time.monotonic", lambda now=time.monotonic: now() + 2 * PATIENCE)
    engine.losses(here.weights, SIX)
    assert engine.homes.at[4] == 1006
    assert Event(4, "trouble", "it is at another node than before") in engine.troubles()


def test_keys_that_the_command_registered_hold_before_the_first_contact(carried):
    """Also for an engine that is new, as after a new start of the server: a stranger that is faster gets nobody."""
    here = carried()
    nodes = here.nodes
    everybody = {k: one for site in nodes.sites for k, one in site.clients.items()}
    nodes.sites.append(replace(nodes.sites[0], clients=everybody))  # answers come last to first
    nodes.keys = {place: f"key {place}" for place in range(7)}
    for _ in range(2):
        engine = here.engine(owners={k: f"key {k}" for k in range(6)})
        assert engine.homes.at == {k: 1000 + k for k in range(6)}
        assert engine.troubles() == [Event(k, "claim", "a node with another key claims it") for k in range(6)]


def test_of_two_that_claim_a_client_at_once_one_has_it_and_the_other_is_noted(carried):
    here = carried()
    here.nodes.sites.append(here.nodes.sites[3])
    engine = here.engine()
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
        ("client", "an answer that nobody asked it for"),
        ("run", "an answer that nobody asked it for"),
    ],
)
def test_why_there_is_no_answer_is_in_the_rounds_events(tmp_path, harm, why, carried):
    """Clients 1 and 4 share a node; what comes of client 4 is no answer of its own, and client 1 is fine."""
    here, log = carried(places=3, rounds=1, selected=6), tmp_path / "flower.jsonl"

    def spoil(message: Message) -> Message | None:
        if harm.endswith("error"):
            return Message(Error(2, "out of memory" if harm == "error" else None), reply_to=here.nodes.seen[-1])
        header = Header.read(message.content)
        del message.content[HEADER]
        if harm != "header":
            message.content[HEADER] = replace(header, **{harm: {"client": 5, "run": "b"}[harm]}).to_record()
        return None

    here.nodes.harm(spoil, "Order", 4)
    lines = here.play(log=log).rounds
    assert lines[0]["events"] == [{"client": 4, "kind": "missing", "detail": why}]
    assert json.loads(log.read_text())["troubles"] == [f"client 4: {why} (node 1001)"]


def test_what_flower_says_of_a_node_that_is_gone_is_in_the_log(carried):
    """It speaks under a number of its own; of the client it is known that it did not answer."""
    here = carried()
    engine = here.engine()

    def spoil(_: Message) -> Message:
        gone = Message(Error(5, "the node is gone"), reply_to=here.nodes.seen[-1])
        gone.metadata.__dict__["_src_node_id"] = 1
        return gone

    here.nodes.harm(spoil, client=4)
    engine.losses(here.weights, SIX)
    assert engine.notes.troubles == ["node 1: the node is gone", "client 4: it did not answer"]
    assert engine.troubles() == [Event(4, "trouble", "it did not answer")]


def test_what_went_wrong_is_in_the_rounds_events_and_the_log_has_decode_times(tmp_path, carried):
    """Client 2 gives no loss in round 1 and writes a novel instead of an update in round 2."""
    here, log = carried(rounds=2, selected=6), tmp_path / "flower.jsonl"

    def lose(message: Message) -> bool:
        header = Header.read(message.content)
        return (header.kind, header.client, header.round) == ("Question", 2, 1)

    here.nodes.lose = lose
    here.nodes.harm(saying(refused="no" * 1000), "Order", 2, 2)
    lines = here.play(log=log).rounds
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
