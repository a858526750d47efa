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
from flwr.app import ConfigRecord, Message

import heteroselect
from heteroselect import methods
from heteroselect.cli.flower import _config
from heteroselect.core.messages import Calibrate, Order, Question
from heteroselect.engines.flower.records import BODY, HEADER, PAYLOAD, Header, from_array, to_array
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.app import _experiment, cut
from heteroselect.flower.plan import Plan
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.folder import RunFolder
from heteroselect.runs.identity import fingerprint
from heteroselect.runs.progress import find_latest
from heteroselect.settings.config import parse_changes, to_toml
from heteroselect.world import MeasuredLinks

pytestmark = pytest.mark.slow  # whole runs

NORMED = {"model.name": "resnet9", "clients": 3, "selected": 2, "method.compress.kind": "topk"}


@pytest.fixture(autouse=True)
def as_a_matrix(monkeypatch):
    """Clients train as a matrix from the first round on, which a short run would not find worthwhile."""
    monkeypatch.setattr("heteroselect.engines.simulate.engine.WORTHWHILE", 0)


def ask(*clients):
    return [Question(k, 1, 1, 32) for k in clients]


def order(*clients, round=1):
    return [Order(k, round, 0.1, 0.5, 0.9, 4) for k in clients]


@pytest.mark.parametrize("places", [6, 2])
def test_a_run_is_the_simulators_to_the_bit_however_many_nodes_carry_it(places, carried):
    carried(places=places).check()


@pytest.mark.parametrize("name", list(methods.REGISTRY))
def test_every_method_runs_unchanged_to_the_simulators_bits(name, carried):
    """Also those that keep state at the client, send more than the model down, or select after training."""
    carried(name, rounds=3).check()


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


@pytest.mark.parametrize(
    ("role", "name", "more"),
    [("select", "Seldom", "method.select.luck=0.25"), ("compress", "Alternating", "method.allocate.kind=all")],
)
def test_a_part_from_a_users_file_runs_to_the_simulators_bits(tmp_path, role, name, more, carried):
    """Also one that keeps state, at the server or at the client, and where server and nodes read text and plan."""
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    changes = ["clients=6", "selected=3", "rounds=4", "method.solver.steps=4", more]
    changes.append(f"method.{role}.kind={file}:{name}")
    config, own = _config("mnist", None, changes, None)
    experiment = _experiment(to_toml(config), Plan("simulate", "a", 6, **own).text)
    assert type(getattr(experiment.method, role)).__name__ == name
    mine = carried(experiment=experiment).play()
    theirs = heteroselect.run(config="mnist", settings=parse_changes(changes), threads=1)
    assert mine.rounds == theirs.rounds
    assert mine.summary["model_sha256"] == theirs.summary["model_sha256"]
    file.write_text(OWN + "# changed\n")
    with pytest.raises(HeteroSelectError, match=rf"method.{role}.kind: .* has changed since the run began"):
        Plan("simulate", "a", 6, **own).load(tomllib.loads(to_toml(config)))


def test_some_are_settled_while_others_are_on_their_way(carried):
    here, kept = carried(), {}
    engine = here.engine(kept=kept)
    engine.train(here.weights, order(0, 1, 2), {})
    engine.acknowledge({0: True, 5: True})
    assert {client: one["settled"].tolist() for client, one in kept.items()} == {0: [[1, 1]]}
    engine.train(here.weights, order(0, round=2), {})
    engine.acknowledge({0: False, 2: True})
    assert {client: one["settled"].tolist() for client, one in kept.items()} == {0: [[1, 1], [2, 0]], 2: [[1, 1]]}


def test_batch_norm_statistics_come_back_from_the_clients(carried):
    here, request = carried(**NORMED), Calibrate(1, 1, 2, 8)
    weights, engine = here.weights, here.engine()
    mine = engine.calibrate(weights, request)
    here.nodes.lose = lambda message: True
    assert engine.calibrate(weights, request) == weights.buffers
    with Pool(here.experiment.module) as pool:
        simulator = Simulator(pool, here.experiment.clients(), here.experiment.task, here.experiment.method)
        theirs = simulator.calibrate(weights, request)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert any(not torch.equal(mine[name], weights.buffers[name]) for name in mine)


def test_a_lost_answer_is_a_missing_client_that_keeps_what_it_offered(carried):
    """As in a simulator that loses it: what the client sends later is the same."""
    here, lost = carried(selected=5), []

    def lose(message: Message) -> bool:
        header = Header.read(message.content)
        if header.kind != "Order" or header.round != 2 or lost:
            return False
        lost.append(header.client)
        here.nodes.reply(message)  # it did train; only its answer is lost
        return True

    class Losing(Simulator):
        """The simulator, from which the same answer does not come back."""

        def train(self, weights, orders, shared):
            uploads = super().train(weights, orders, shared)
            return [one for one in uploads if orders[0].round != 2 or one.client != lost[0]]

    here.nodes.lose = lose
    result, theirs = here.play(), here.simulated(Losing)
    assert result.rounds[1]["events"] == [{"client": lost[0], "kind": "missing", "detail": "it did not answer"}]
    assert theirs.rounds[1]["events"] == [{"client": lost[0], "kind": "missing", "detail": ""}]
    for line in (*result.rounds, *theirs.rounds):
        line["kinds"] = [(event["client"], event["kind"]) for event in line.pop("events")]
    assert result.rounds == theirs.rounds
    assert [line["kinds"] for line in (result.rounds[0], *result.rounds[2:])] == [[], [], []]
    assert any(lost[0] in line["selected"] for line in result.rounds[2:]), "or nothing is shown"
    told = [Header.read(m.content) for m in here.nodes.seen if m.metadata.group_id == "3"]
    fate = next(header.settled for header in told if header.client == lost[0])
    assert list(fate.items())[-1] == (2, False)


def _flip(payload: bytes) -> bytes:
    """In the last value: but for the checksum it could be read."""
    return payload[:-1] + bytes([payload[-1] ^ 1])


@pytest.mark.parametrize("damage", [lambda payload: b"\x00" * 100, lambda payload: payload[:-1], _flip])
@pytest.mark.parametrize("method", [None, "heteroselect2"])
def test_a_corrupt_payload_is_rejected_and_the_run_is_that_of_the_others(method, damage, carried):
    """Also where it is ternary."""
    here = carried(method, rounds=2, selected=5)

    def harm(message: Message) -> None:
        message.content[PAYLOAD] = to_array(damage(from_array(message.content, PAYLOAD)))

    here.nodes.harm(harm, "Order", 2)
    result = here.play()
    for line in result.rounds:
        rejected = [event["client"] for event in line["events"] if event["kind"] == "rejected"]
        assert rejected == ([2] if 2 in line["selected"] else [])
    assert any(line["events"] for line in result.rounds)


@pytest.mark.parametrize(
    "record", [{"client": 0}, {"client": 0, "loss": "high"}, {"client": 0, "loss": float("nan")}, None]
)
def test_a_client_that_gives_no_loss_counts_as_the_least_informative(record, carried):
    here = carried()

    def harm(message: Message) -> None:
        del message.content[BODY]
        if record is not None:
            message.content[BODY] = ConfigRecord(record)

    here.nodes.harm(harm, "Question", 4)
    losses = here.engine().losses(here.weights, ask(*range(6)))
    assert losses[4] == min(losses[:4] + losses[5:])
    assert all(np.isfinite(losses))


@pytest.mark.parametrize("method", [None, "optimal-client-sampling", "scaffold"])
def test_a_server_that_fell_back_to_a_checkpoint_ends_in_the_same_bits(tmp_path, method, carried):
    """The server dies in round 4, after its clients have trained (and some have sent what they held); its last
    checkpoint is after round 2."""
    here = carried(method, **{"simulate.checkpoint_rounds": 2, "rounds": 5, "selected": 5})
    path, log, known = tmp_path / "run", tmp_path / "run" / "flower.jsonl", fingerprint(here.experiment, "cpu")

    class DiedError(Exception):
        pass

    def die(_: Message) -> None:
        raise DiedError  # the client has written down what it sent

    def since() -> int:
        return min(Checkpoints(path).rounds(), default=0)

    here.nodes.harm(die, "Give" if method == "optimal-client-sampling" else "Order", round=4)
    with pytest.raises(DiedError):
        here.play(RunFolder.create(path, to_toml(here.experiment.config), known), since=since)
    here.nodes.spoil = lambda message: message
    here.nodes.first = 5000  # and all SuperNodes have started again
    found = find_latest(here.experiment, path, pytest.fail, known)
    assert len(found[0].lines) == 2
    here.check(here.play(RunFolder.reopen(path, 2, known), found=found, since=since, log=log))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["round"] for line in lines] == [3, 4, 5]
    cut(log, 4)
    assert [json.loads(line)["round"] for line in log.read_text().splitlines()] == [3, 4]


def _edit(name: str, value: Any, record: str = BODY) -> Callable[[Message], None]:
    return lambda message: message.content[record].__setitem__(name, value)


def _drop(message: Message) -> None:
    del message.content[BODY]


@pytest.mark.parametrize(
    "harm",
    [
        _edit("settled", ["x"], HEADER),
        _edit("settled", [float("inf")], HEADER),
        _edit("round", 77, HEADER),
        _edit("uplink", float("nan"), HEADER),
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
def test_no_message_of_one_client_ends_the_run(kind, harm, method, carried):
    here = carried(method, rounds=2, selected=5)
    harmed = here.nodes.harm(harm, kind, 2)
    result = here.play()
    assert len(result.rounds) == 2
    assert np.isfinite(result.summary["final_accuracy"])
    assert all(torch.isfinite(array).all() for array in result.model.values())
    assert harmed or kind != "Order" or not method.startswith("heteroselect"), "or nothing is shown"


@pytest.mark.parametrize("name", ["clients", "examples"])
@pytest.mark.parametrize("value", [[float("inf")], ["x"], [], 3, [-1]])
def test_a_node_that_cannot_say_who_lives_there_has_nobody(name, value, carried):
    here = carried()
    here.nodes.harm(_edit(name, value), "Hello", 3)
    with pytest.raises(HeteroSelectError, match=r"1 of 6 clients have no node .* .the first is client 3"):
        here.engine(timeout=0.1)


def test_a_node_that_has_let_a_whole_timeout_pass_is_not_waited_for_again(carried):
    here = carried()
    nodes, engine = here.nodes, here.engine()
    first = engine.homes.at[4]
    nodes.lose = lambda message: message.metadata.dst_node_id == first
    engine.losses(here.weights, ask(4, 5))
    nodes.sites.append(nodes.sites[4])
    nodes.seen.clear()
    engine.losses(here.weights, ask(4, 5))
    assert engine.homes.at[4] == nodes.first + 6
    assert first not in {message.metadata.dst_node_id for message in nodes.seen}


def test_a_node_that_answers_for_one_of_its_clients_is_not_silent(carried):
    here = carried(places=3)  # clients 1 and 4 share a node
    engine = here.engine()
    before = dict(engine.homes.at)
    here.nodes.lose = lambda message: Header.read(message.content).client == 4
    engine.losses(here.weights, ask(1, 4))
    here.nodes.sites.append(here.nodes.sites[1])
    engine.losses(here.weights, ask(1, 4))
    assert engine.homes.at == before


def test_a_client_without_a_node_is_waited_for_and_then_named(carried):
    here = carried()
    del here.nodes.sites[4:]
    with pytest.raises(HeteroSelectError, match=r"2 of 6 clients have no node after 0.1 s .the first is client 4"):
        here.engine(timeout=0.1)


@pytest.mark.parametrize("refusing", [{1}, {0, 1, 2}])
def test_one_that_cannot_is_missing_and_where_nobody_can_the_run_ends(refusing, carried):
    here = carried()
    orders = [replace(one, rate=1e38) if one.client in refusing else one for one in order(0, 1, 2)]
    engine = here.engine()
    if len(refusing) == 3:
        with pytest.raises(HeteroSelectError, match="training diverged at client 0"):
            engine.train(here.weights, orders, {})
    else:
        assert [upload.client for upload in engine.train(here.weights, orders, {})] == [0, 2]


@pytest.mark.parametrize(
    ("method", "kind", "harm"),
    [
        ("heteroselect", "Order", _edit("refused", "no")),
        ("heteroselect", "Question", _edit("refused", "no")),
        ("power-of-choice", "Question", _edit("loss", float("nan"))),
    ],
)
def test_no_message_of_a_client_ends_a_run_of_its_own(method, kind, harm, carried):
    """There is no majority to say that the settings are to blame."""
    here = carried(method, rounds=2, clients=1, selected=1)
    here.nodes.harm(harm, kind)
    result = here.play()
    assert len(result.rounds) == 2
    assert all(torch.isfinite(array).all() for array in result.model.values())


def test_what_a_cohort_says_is_cut_where_it_ends_the_run(carried):
    here = carried()
    here.nodes.harm(_edit("refused", "no" * 1000), "Order")
    with pytest.raises(HeteroSelectError, match=f"^{'no' * 100}$"):
        here.engine().train(here.weights, order(0, 1, 2), {})


@pytest.mark.parametrize(("clients", "asked", "ends"), [(2, 2, True), (6, 2, False), (6, 3, True)])
def test_where_nobody_answers_the_run_ends_unless_few_of_many_were_asked(clients, asked, ends, carried):
    """Whoever is left could not go on without the only clients there are; resumed later, the run can."""
    here = carried(clients=clients, selected=2)
    engine = here.engine()
    here.nodes.lose = lambda message: True
    if ends:
        with pytest.raises(HeteroSelectError, match=rf"none of {asked} clients gave its loss in .* it did not answer"):
            engine.losses(here.weights, ask(*range(asked)))
    else:
        assert engine.losses(here.weights, ask(*range(asked))) == [0.0, 0.0]


def test_each_measurement_of_an_uplink_counts_once_and_is_remembered(carried):
    here, kept, links = carried(), {}, MeasuredLinks(keep=0.5)
    measured = {"uplink": 4e6, "measurement": 1}

    def harm(message: Message) -> None:
        message.content[HEADER] = replace(Header.read(message.content), **measured).to_record()

    here.nodes.harm(harm, client=2)
    engine = here.engine(kept=kept, links=links)
    for _ in range(3):
        engine.losses(here.weights, ask(*range(6)))
    assert links.estimates == {2: 4e6}
    measured |= {"uplink": 2e6, "measurement": 2}
    engine.losses(here.weights, ask(*range(6)))
    assert links.estimates == {2: 3e6}
    again = MeasuredLinks()
    here.engine(kept=kept, links=again)
    assert again.estimates == {2: 3e6}
