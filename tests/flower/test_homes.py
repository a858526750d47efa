"""Which node each client is at, over a post whose nodes name their clients and do nothing else."""

from collections.abc import Sequence

import pytest
from flwr.app import Message, RecordDict

from heteroselect.engines.flower import homes
from heteroselect.engines.flower.homes import LIFE_SIGN, PATIENCE, NodeDirectory
from heteroselect.engines.flower.notes import Notes
from heteroselect.engines.flower.records import BODY, Present, to_record
from heteroselect.world import Event


class Named:
    """Nodes, each with the examples of its clients; those in `mute` are there and do not answer."""

    def __init__(self, **clients: dict[int, int]) -> None:
        self.clients = {int(name.removeprefix("n")): found for name, found in clients.items()}
        self.mute: set[int] = set()
        self.asked: list[tuple[int, float]] = []  # nodes, and how long they were given

    def nodes(self) -> dict[int, str]:
        return dict.fromkeys(self.clients, "")

    def exchange(self, messages: Sequence[Message], timeout: float) -> list[Message]:
        answers = []
        for message in messages:
            node = message.metadata.dst_node_id
            assert message.metadata.ttl == timeout
            self.asked.append((node, timeout))
            if node not in self.mute:
                found = self.clients[node]
                body = to_record(Present(list(found), list(found.values())))
                answers.append(Message(RecordDict({BODY: body}), reply_to=message))
        return answers


@pytest.fixture
def clock(monkeypatch):
    """Seconds that only pass when a test says so."""
    now = [1000.0]
    monkeypatch.setattr(homes.time, "monotonic", lambda: now[0])
    return now


def of(post: Named, clients: int = 3, **more: object) -> NodeDirectory:
    return NodeDirectory(post, clients, Notes(None), run="a", **more)


def test_a_node_has_no_client_that_there_cannot_be_and_none_without_examples():
    found = of(Named(n7={0: 10, 1: 0, 3: 10, -1: 10}, n8={2: 10**12 + 1, 1: 10**12}))
    found.meet(1.0)
    assert found.at == {0: 7, 1: 8}
    assert found.examples == {0: 10, 1: 10**12}


def test_a_node_without_clients_is_asked_now_and_then_and_not_in_every_round(clock):
    post = Named(n7={0: 1}, n8={})
    found = of(post)
    found.meet(5.0)
    assert post.asked == [(7, 5.0), (8, 5.0)]
    clock[0] += PATIENCE - 1
    found.meet(5.0)
    assert len(post.asked) == 2
    clock[0] += 1
    post.clients[8] = {1: 4}
    found.meet(1000.0)
    assert post.asked[2:] == [(8, PATIENCE)], "nobody is waited for longer"
    assert found.at == {0: 7, 1: 8}


def test_whoever_is_claimed_by_another_node_is_asked_for_a_life_sign(clock):
    post = Named(n7={0: 1})
    found = of(post)
    found.meet(60.0)
    post.clients[8] = {0: 1}
    found.meet(60.0)
    assert post.asked == [(7, 60.0), (8, 60.0), (7, LIFE_SIGN)]
    assert found.at == {0: 7}
    clock[0] += PATIENCE
    post.mute = {7}
    found.meet(5.0)
    assert post.asked[3:] == [(8, 5.0), (7, 5.0)]
    assert found.at == {0: 8}


@pytest.mark.parametrize("known", [{}, {0: 5, 1: 6}], ids=["claimed", "known"])
def test_a_client_whose_node_is_gone_is_nowhere_until_another_brings_it(known):
    post = Named(n7={0: 5}, n8={1: 6})
    found = of(post, examples=dict(known))
    found.meet(1.0)
    assert found.heard(0)
    found.silent = {7}
    assert (found.heard(0), found.heard(1)) == (False, True)
    del post.clients[7]
    found.meet(1.0)
    assert found.at == {1: 8}
    assert not found.heard(0)
    post.clients[9] = {0: 50}
    found.meet(1.0)
    assert found.at == {0: 9, 1: 8}
    assert found.examples[0] == 5, "what it said first holds"
    assert found.notes.events() == [
        Event(0, "claim", "it claims 50 examples, and 5 are registered"),
        Event(0, "trouble", "it is at another node than before"),
    ]


def test_what_counts_for_a_client_is_bounded_and_what_it_claims_is_compared_with_its_first_claim():
    found = of(Named(n7={0: 10, 1: 20, 2: 900}))
    found.meet(1.0)
    assert found.sizes(3.0).tolist() == [10, 20, 60]
    assert found.notes.events() == [Event(2, "claim", "its number of examples of 900 was taken as 60")]
    assert found.registered(2, 900) == 60
    assert found.notes.events() == []
    assert found.registered(2, 60) == 60
    assert found.notes.events() == [Event(2, "claim", "it claims 60 examples, and 900 are registered")]
