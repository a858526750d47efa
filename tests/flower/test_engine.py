"""The engine over a post of this process: the same bits as the simulator, whatever the post does with the messages."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord, Message, RecordDict

import heteroselect
from heteroselect import methods
from heteroselect.cli.flower import _config
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate, Order, Question
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
from heteroselect.engines.flower.reply import reply
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.app import _experiment, cut
from heteroselect.flower.plan import Plan
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.folder import RunFolder
from heteroselect.runs.loop import play
from heteroselect.runs.progress import find_latest
from heteroselect.settings.config import parse_changes, to_toml
from heteroselect.world import MeasuredLinks

pytestmark = pytest.mark.slow  # whole runs


@pytest.fixture(autouse=True)
def as_a_matrix(monkeypatch):
    """Clients train as a matrix from the first round on, which a short run would not find worthwhile."""
    monkeypatch.setattr("heteroselect.engines.simulate.engine.WORTHWHILE", 0)


SMALL = {"clients": 6, "selected": 3, "rounds": 4}


@pytest.mark.parametrize("places", [6, 2])
def test_a_run_is_the_simulators_to_the_bit_however_many_nodes_carry_it(tmp_path, places, nodes_of, small, opening_on):
    experiment = small()
    mine = play(experiment, None, threads=1, engine=opening_on(experiment, nodes_of(experiment, tmp_path, places)))
    theirs = play(experiment, None, threads=1)
    assert mine.rounds == theirs.rounds
    assert mine.summary["model_sha256"] == theirs.summary["model_sha256"]


@pytest.mark.parametrize("name", list(methods.REGISTRY))
def test_every_method_runs_unchanged_to_the_simulators_bits(tmp_path, name, nodes_of, small, opening_on):
    """Also those that keep state at the client, send more than the model down, or select after training."""
    experiment = small(method=name, rounds=3)
    mine = play(experiment, None, threads=1, engine=opening_on(experiment, nodes_of(experiment, tmp_path)))
    theirs = play(experiment, None, threads=1)
    assert mine.rounds == theirs.rounds
    assert mine.summary["model_sha256"] == theirs.summary["model_sha256"]


OWN = """
from dataclasses import dataclass

import numpy as np

from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.compress import Update


@dataclass(frozen=True)
class Seldom:
    luck: float = setting(0.5, "how much chance there is in it", ge=0)

    def select(self, scores, context):
        last = context.state.get("last", np.zeros(len(context.population)))
        worth = context.population.counts + last + self.luck * context.rng.random(len(context.ids))
        return context.cohort(np.argsort(worth)[: context.size], state={"last": last + 1})


@dataclass(frozen=True)
class Alternating:
    traits = Traits(uses_density=False)

    def compress(self, v, density, context):
        turn = int(context.state.get("turn", np.zeros(1))[0])
        return Update.keep(v, np.arange(turn % 2, v.size, 2)), {"turn": np.array([turn + 1.0])}
"""


@pytest.mark.parametrize("role", ["select", "compress"])
def test_a_part_from_a_users_file_runs_to_the_simulators_bits(tmp_path, role, nodes_of, small, opening_on):
    """Also one that keeps state, at the server or at the client, and where server and nodes read text and plan."""
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    named = {"method.select.kind": f"{file}:Seldom", "method.compress.kind": f"{file}:Alternating"}
    changes = [f"{key}={value}" for key, value in {**SMALL, "method.solver.steps": 4}.items()]
    changes.append(f"method.{role}.kind={named[f'method.{role}.kind']}")
    changes += ["method.select.luck=0.25"] if role == "select" else ["method.allocate.kind=all"]
    config, own = _config("mnist", None, changes, None)
    experiment = _experiment(to_toml(config), Plan("simulate", "a", 6, **own).text)
    assert type(getattr(experiment.method, role)).__name__ in OWN
    mine = play(experiment, None, threads=1, engine=opening_on(experiment, nodes_of(experiment, tmp_path)))
    theirs = heteroselect.run(config="mnist", settings=parse_changes(changes), threads=1)
    assert mine.rounds == theirs.rounds
    assert mine.summary["model_sha256"] == theirs.summary["model_sha256"]
    file.write_text(OWN + "# changed\n")
    with pytest.raises(HeteroSelectError, match=rf"method.{role}.kind: .* has changed since the run began"):
        Plan("simulate", "a", 6, **own).load(tomllib.loads(to_toml(config)))


def test_some_are_settled_while_others_are_on_their_way(tmp_path, nodes_of, small, gathered):
    experiment, kept = small(), {}
    engine = gathered(experiment, nodes_of(experiment, tmp_path), kept=kept)
    engine.train(experiment.weights, [Order(k, 1, 0.1, 0.5, 0.9, 4) for k in (0, 1, 2)], {})
    engine.acknowledge({0: True, 5: True})
    assert {client: one["settled"].tolist() for client, one in kept.items()} == {0: [[1, 1]]}
    engine.train(experiment.weights, [Order(0, 2, 0.1, 0.5, 0.9, 4)], {})
    engine.acknowledge({0: False, 2: True})
    assert {client: one["settled"].tolist() for client, one in kept.items()} == {0: [[1, 1], [2, 0]], 2: [[1, 1]]}


def test_batch_norm_statistics_come_back_from_the_clients(tmp_path, nodes_of, small, gathered):
    experiment = small(**{"model.name": "resnet9", "clients": 3, "selected": 2, "method.compress.kind": "topk"})
    weights, request = experiment.weights, Calibrate(1, 1, 2, 8)
    nodes = nodes_of(experiment, tmp_path)
    engine = gathered(experiment, nodes)
    mine = engine.calibrate(weights, request)
    nodes.lose = lambda message: True
    assert engine.calibrate(weights, request) == weights.buffers
    with Pool(experiment.module) as pool:
        theirs = Simulator(pool, experiment.clients(), experiment.task, experiment.method).calibrate(weights, request)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert any(not torch.equal(mine[name], weights.buffers[name]) for name in mine)


def test_a_lost_answer_is_a_missing_client_that_keeps_what_it_offered(
    tmp_path, nodes_of, small, opening_of, opening_on
):
    """As in a simulator that loses it: what the client sends later is the same."""
    experiment = small(rounds=4, selected=5)
    nodes, lost = nodes_of(experiment, tmp_path), []

    def lose(message: Message) -> bool:
        header = Header.read(message.content)
        if header.kind == "Order" and message.metadata.group_id == "2" and not lost:
            lost.append(header.client)
            nodes_reply(message)  # it did train; only its answer is lost
            return True
        return False

    def nodes_reply(message: Message) -> None:
        reply(message, nodes.sites[message.metadata.dst_node_id - nodes.first])

    class Losing(Simulator):
        """The simulator, from which the same answer does not come back."""

        def train(self, weights, orders, shared):
            uploads = super().train(weights, orders, shared)
            return [one for one in uploads if orders[0].round != 2 or one.client != lost[0]]

    nodes.lose = lose
    result = play(experiment, None, threads=1, engine=opening_on(experiment, nodes))
    theirs = play(experiment, None, threads=1, engine=opening_of(experiment, Losing))
    assert result.rounds[1]["events"] == [{"client": lost[0], "kind": "missing", "detail": "it did not answer"}]
    assert theirs.rounds[1]["events"] == [{"client": lost[0], "kind": "missing", "detail": ""}]
    for line in (*result.rounds, *theirs.rounds):
        line["kinds"] = [(event["client"], event["kind"]) for event in line.pop("events")]
    assert result.rounds == theirs.rounds
    assert [line["kinds"] for line in (result.rounds[0], *result.rounds[2:])] == [[], [], []]
    assert any(lost[0] in line["selected"] for line in result.rounds[2:]), "or nothing is shown"
    told = [Header.read(m.content) for m in nodes.seen if m.metadata.group_id == "3"]
    fate = next(header.settled for header in told if header.client == lost[0])
    assert list(fate.items())[-1] == (2, False)


def _flip(payload: bytes) -> bytes:
    """In the last value: but for the checksum it could be read."""
    return payload[:-1] + bytes([payload[-1] ^ 1])


@pytest.mark.parametrize("damage", [lambda payload: b"\x00" * 100, lambda payload: payload[:-1], _flip])
@pytest.mark.parametrize("method", [None, "heteroselect2"])
def test_a_corrupt_payload_is_rejected_and_the_run_is_that_of_the_others(
    tmp_path, method, damage, nodes_of, small, opening_on
):
    """Also where it is ternary."""
    experiment = small(method, rounds=2, selected=5)
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).client == 2 and PAYLOAD in message.content:
            message.content[PAYLOAD] = to_array(damage(from_array(message.content, PAYLOAD)))
        return message

    nodes.spoil = spoil
    result = play(experiment, None, threads=1, engine=opening_on(experiment, nodes))
    for line in result.rounds:
        rejected = [event["client"] for event in line["events"] if event["kind"] == "rejected"]
        assert rejected == ([2] if 2 in line["selected"] else [])
    assert any(line["events"] for line in result.rounds)


@pytest.mark.parametrize(
    "record", [{"client": 0}, {"client": 0, "loss": "high"}, {"client": 0, "loss": float("nan")}, None]
)
def test_a_client_that_gives_no_loss_counts_as_the_least_informative(tmp_path, record, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).client == 4 and Header.read(message.content).kind == "Question":
            del message.content[BODY]
            if record is not None:
                message.content[BODY] = ConfigRecord(record)
        return message

    nodes.spoil = spoil
    engine = gathered(experiment, nodes)
    losses = engine.losses(experiment.weights, [Question(k, 1, 1, 32) for k in range(6)])
    assert losses[4] == min(losses[:4] + losses[5:])
    assert all(np.isfinite(losses))


def test_an_answer_in_anothers_name_or_of_another_run_does_not_count(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        if header.client == 1:
            message.content[HEADER] = Header("a", 2, header.kind).to_record()
        if header.client == 3:
            message.content[HEADER] = Header("b", 3, header.kind).to_record()
        return message

    nodes.spoil = spoil
    engine = gathered(experiment, nodes)
    uploads = engine.train(experiment.weights, [Order(k, 1, 0.1, 0.5, 0.9, 4) for k in range(5)], {})
    assert [upload.client for upload in uploads] == [0, 2, 4]


@pytest.mark.parametrize("method", [None, "optimal-client-sampling", "scaffold"])
def test_a_server_that_fell_back_to_a_checkpoint_ends_in_the_same_bits(tmp_path, method, nodes_of, small, opening_on):
    """The server dies in round 4, after its clients have trained (and some have sent what they held); its last
    checkpoint is after round 2."""
    experiment = small(method, **{"simulate.checkpoint_rounds": 2, "rounds": 5, "selected": 5})
    nodes, path = nodes_of(experiment, tmp_path / "memory"), tmp_path / "run"
    last = "Give" if method == "optimal-client-sampling" else "Order"

    class DiedError(Exception):
        pass

    def die(message: Message) -> Message:
        header = Header.read(message.content)
        if header.round == 4 and header.kind == last and not resumed:
            raise DiedError  # the client has written down what it sent
        return message

    nodes.spoil, resumed = die, []
    folder = RunFolder.create(path, to_toml(experiment.config))
    opening = opening_on(experiment, nodes, since=lambda: min(Checkpoints(path).rounds(), default=0))
    with pytest.raises(DiedError):
        play(experiment, folder, threads=1, engine=opening)
    resumed.append(True)
    nodes.first = 5000  # and all SuperNodes have started again
    found = find_latest(experiment, path, pytest.fail)
    assert len(found[0].lines) == 2
    log = path / "flower.jsonl"
    opening = opening_on(experiment, nodes, since=lambda: min(Checkpoints(path).rounds(), default=0), log=log)
    result = play(experiment, RunFolder.reopen(path, 2), threads=1, found=found, engine=opening)
    theirs = play(experiment, None, threads=1)
    assert result.summary["model_sha256"] == theirs.summary["model_sha256"]
    assert result.rounds == theirs.rounds
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["round"] for line in lines] == [3, 4, 5]
    cut(log, 4)
    assert [json.loads(line)["round"] for line in log.read_text().splitlines()] == [3, 4]


def _edit(name: str, value: Any) -> Callable[[RecordDict], None]:
    return lambda content: content[BODY].__setitem__(name, value)


def _drop(content: RecordDict) -> None:
    del content[BODY]


@pytest.mark.parametrize(
    "harm",
    [
        lambda content: content[HEADER].__setitem__("settled", ["x"]),
        lambda content: content[HEADER].__setitem__("settled", [float("inf")]),
        lambda content: content[HEADER].__setitem__("round", 77),
        lambda content: content[HEADER].__setitem__("uplink", float("nan")),
        _edit("report", 3),
        _edit("report.norm", "long"),
        _edit("report.norm", -1.0),
        _edit("report.loss", float("inf")),
        _edit("loss", 1.7e308),
        _edit("loss", [1.0, 2.0]),
        _edit("examples", 1e300),
        _edit("refused", "no"),
        _drop,
    ],
)
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *product(["heteroselect", "oort", "optimal-client-sampling"], ["Order", "Question"]),
        ("heteroselect2", "Order"),  # it asks nothing
    ],
)
def test_no_message_of_one_client_ends_the_run(tmp_path, kind, harm, method, nodes_of, small, opening_on):
    experiment = small(method, rounds=2, selected=5)
    nodes, harmed = nodes_of(experiment, tmp_path), []

    def spoil(message: Message) -> Message:
        header = Header.read(message.content)
        if header.client == 2 and header.kind == kind:
            harm(message.content)
            harmed.append(header.round)
        return message

    nodes.spoil = spoil
    result = play(experiment, None, threads=1, engine=opening_on(experiment, nodes))
    assert len(result.rounds) == 2
    assert np.isfinite(result.summary["final_accuracy"])
    assert all(torch.isfinite(array).all() for array in result.model.values())
    assert harmed or kind != "Order" or not method.startswith("heteroselect"), "or nothing is shown"


@pytest.mark.parametrize("name", ["clients", "examples"])
@pytest.mark.parametrize("value", [[float("inf")], ["x"], [], 3, [-1]])
def test_a_node_that_cannot_say_who_lives_there_has_nobody(tmp_path, name, value, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).kind == "Hello" and message.metadata.src_node_id == nodes.first + 3:
            message.content[BODY][name] = value
        return message

    nodes.spoil = spoil
    with (
        pytest.raises(HeteroSelectError, match=r"1 of 6 clients have no node .* .the first is client 3"),
    ):
        gathered(experiment, nodes, timeout=0.1)


def test_a_client_stays_where_it_lives_until_its_node_falls_silent(tmp_path, nodes_of, small, gathered):
    """A node that claims everybody gets nobody; where the first home does not answer any more, the new one has it."""
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    everybody = replace(nodes.sites[0], clients={k: one for site in nodes.sites for k, one in site.clients.items()})
    question = [Question(4, 1, 1, 32)]
    engine = gathered(experiment, nodes)
    before = dict(engine.homes.at)
    nodes.sites.append(everybody)
    engine.losses(experiment.weights, question)
    assert engine.homes.at == before
    nodes.sites.append(nodes.sites[4])
    nodes.lose = lambda message: message.metadata.dst_node_id == before[4]
    engine.losses(experiment.weights, question)
    assert engine.homes.at == {**before, 4: nodes.first + 7}


def test_a_node_that_has_let_a_whole_timeout_pass_is_not_waited_for_again(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    questions = [Question(4, 1, 1, 32), Question(5, 1, 1, 32)]
    engine = gathered(experiment, nodes)
    first = engine.homes.at[4]
    nodes.lose = lambda message: message.metadata.dst_node_id == first
    engine.losses(experiment.weights, questions)
    nodes.sites.append(nodes.sites[4])
    nodes.seen.clear()
    engine.losses(experiment.weights, questions)
    assert engine.homes.at[4] == nodes.first + 6
    assert first not in {message.metadata.dst_node_id for message in nodes.seen}


def test_a_node_that_answers_for_one_of_its_clients_is_not_silent(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path, places=3)  # clients 1 and 4 share a node
    questions = [Question(1, 1, 1, 32), Question(4, 1, 1, 32)]

    def lose(message: Message) -> bool:
        header = Header.read(message.content)
        return header.kind == "Question" and header.client == 4

    engine = gathered(experiment, nodes)
    before = dict(engine.homes.at)
    nodes.lose = lose
    engine.losses(experiment.weights, questions)
    nodes.sites.append(nodes.sites[1])
    engine.losses(experiment.weights, questions)
    assert engine.homes.at == before


@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_statistics_that_no_batch_can_have_are_left_out(tmp_path, value, nodes_of, small, gathered):
    experiment = small(**{"model.name": "resnet9", "clients": 3, "selected": 2, "method.compress.kind": "topk"})
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if PAYLOAD in message.content:
            buffers = from_bytes(from_array(message.content, PAYLOAD))[0].buffers
            next(one for name, one in buffers.items() if name.endswith("running_var"))[0] = value
            message.content[PAYLOAD] = to_array(to_bytes(Weights(torch.empty(0), buffers)))
        return message

    nodes.spoil = spoil
    engine = gathered(experiment, nodes)
    assert engine.calibrate(experiment.weights, Calibrate(1, 1, 2, 8)) == experiment.weights.buffers


def test_a_client_without_a_node_is_waited_for_and_then_named(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    del nodes.sites[4:]
    with (
        pytest.raises(HeteroSelectError, match=r"2 of 6 clients have no node after 0.1 s .the first is client 4"),
    ):
        gathered(experiment, nodes, timeout=0.1)


@pytest.mark.parametrize("refusing", [{1}, {0, 1, 2}])
def test_one_that_cannot_is_missing_and_where_nobody_can_the_run_ends(tmp_path, refusing, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)
    orders = [Order(k, 1, 1e38 if k in refusing else 0.1, 0.5, 0.9, 4) for k in range(3)]
    engine = gathered(experiment, nodes)
    if len(refusing) == 3:
        with pytest.raises(HeteroSelectError, match="training diverged at client 0"):
            engine.train(experiment.weights, orders, {})
    else:
        assert [upload.client for upload in engine.train(experiment.weights, orders, {})] == [0, 2]


@pytest.mark.parametrize(
    ("method", "kind", "harm"),
    [
        ("heteroselect", "Order", _edit("refused", "no")),
        ("heteroselect", "Question", _edit("refused", "no")),
        ("power-of-choice", "Question", _edit("loss", float("nan"))),
    ],
)
def test_no_message_of_a_client_ends_a_run_of_its_own(tmp_path, method, kind, harm, nodes_of, small, opening_on):
    """There is no majority to say that the settings are to blame."""
    experiment = small(method, rounds=2, clients=1, selected=1)
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).kind == kind:
            harm(message.content)
        return message

    nodes.spoil = spoil
    result = play(experiment, None, threads=1, engine=opening_on(experiment, nodes))
    assert len(result.rounds) == 2
    assert all(torch.isfinite(array).all() for array in result.model.values())


def test_what_a_cohort_says_is_cut_where_it_ends_the_run(tmp_path, nodes_of, small, gathered):
    experiment = small()
    nodes = nodes_of(experiment, tmp_path)

    def spoil(message: Message) -> Message:
        if Header.read(message.content).kind == "Order":
            message.content[BODY]["refused"] = "no" * 1000
        return message

    nodes.spoil = spoil
    engine = gathered(experiment, nodes)
    with pytest.raises(HeteroSelectError, match=f"^{'no' * 100}$"):
        engine.train(experiment.weights, [Order(k, 1, 0.1, 0.5, 0.9, 4) for k in range(3)], {})


@pytest.mark.parametrize(("clients", "asked", "ends"), [(2, 2, True), (6, 2, False), (6, 3, True)])
def test_where_nobody_answers_the_run_ends_unless_few_of_many_were_asked(
    tmp_path, clients, asked, ends, nodes_of, small, gathered
):
    """Whoever is left could not go on without the only clients there are; resumed later, the run can."""
    experiment = small(clients=clients, selected=2)
    nodes = nodes_of(experiment, tmp_path)
    engine = gathered(experiment, nodes)
    nodes.lose = lambda message: True
    questions = [Question(k, 1, 1, 32) for k in range(asked)]
    if ends:
        with pytest.raises(HeteroSelectError, match=rf"none of {asked} clients gave its loss in .* it did not answer"):
            engine.losses(experiment.weights, questions)
    else:
        assert engine.losses(experiment.weights, questions) == [0.0, 0.0]


def test_each_measurement_of_an_uplink_counts_once_and_is_remembered(tmp_path, nodes_of, small, gathered):
    experiment, kept, links = small(), {}, MeasuredLinks(keep=0.5)
    nodes, measured = nodes_of(experiment, tmp_path), {"uplink": 4e6, "measurement": 1}

    def spoil(message: Message) -> Message:
        if Header.read(message.content).client == 2:
            message.content[HEADER] = replace(Header.read(message.content), **measured).to_record()
        return message

    nodes.spoil = spoil
    questions = [Question(k, 1, 1, 32) for k in range(6)]
    engine = gathered(experiment, nodes, kept=kept, links=links)
    for _ in range(3):
        engine.losses(experiment.weights, questions)
    assert links.estimates == {2: 4e6}
    measured |= {"uplink": 2e6, "measurement": 2}
    engine.losses(experiment.weights, questions)
    assert links.estimates == {2: 3e6}
    again = MeasuredLinks()
    gathered(experiment, nodes, kept=kept, links=again)
    assert again.estimates == {2: 3e6}
