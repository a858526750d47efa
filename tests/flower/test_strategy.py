"""HeteroSelectStrategy in Flower's own loop, over a grid of this process: the simulator's bits again."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, Error, Message, MetricRecord
from torch import nn

import heteroselect
from heteroselect import methods
from heteroselect.core.part import setting
from heteroselect.errors import HeteroSelectError
from heteroselect.flower import HeteroSelectStrategy, answer
from heteroselect.parts.aggregate import ExponentialAverage
from heteroselect.parts.compress import Update

pytestmark = pytest.mark.slow  # whole runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "flower"
CLIENTS, ROUNDS = 5, 3
CHANGES = {"method.solver.steps": 4, "method.lr.start": 0.1, "world.links": "drawn"}


def network() -> nn.Module:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 3))


def data(client: int, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(client)
    x = rng.normal(size=(count, 6)).astype(np.float32)
    return x, (x[:, 0] + 0.3 * client > 0).astype(np.int64) + (x[:, 1] > 0)


@dataclass(frozen=True)
class Half:
    """A compressor of one's own: it sends every other coordinate."""

    first: int = setting(0, "which one it begins with", ge=0)

    def compress(self, v, density, context):
        return Update.keep(v, np.arange(self.first, v.size, 2)), {}


TUNED = replace(methods.get("heteroselect"), name="tuned", weigh=methods.get("fedavg").weigh)
OWN = replace(TUNED, name="own", compress=Half())
AVERAGED = replace(TUNED, name="averaged", model_average=ExponentialAverage())


class Grid:
    """Flower's grid, with the clients' code behind it."""

    def __init__(self, memory: Path, **own) -> None:
        self.memory, self.answers, self.own = memory, {}, own

    def get_node_ids(self):
        return [70 + client for client in reversed(range(CLIENTS))]

    def reply(self, message, client):
        context = SimpleNamespace(node_config={"partition-id": client})
        return answer(message, context, **{"model": network, "data": data(client), "memory": self.memory, **self.own})

    def push_messages(self, messages):
        numbers = [str(len(self.answers) + place) for place in range(len(messages))]
        for number, message in zip(numbers, messages, strict=True):
            message.metadata.__dict__["_message_id"] = number
            self.answers[number] = self.reply(message, message.metadata.dst_node_id - 70)
        return numbers

    def pull_messages(self, message_ids):
        return [self.answers[number] for number in message_ids]

    def send_and_receive(self, messages, *, timeout=None):
        return self.pull_messages(self.push_messages(messages))


def started(grid: Grid, **more):
    strategy = HeteroSelectStrategy(
        network, clients=CLIENTS, selected=2, rounds=ROUNDS, seed=5, settings=CHANGES, timeout=5, **more
    )
    result = strategy.start(grid, ArrayRecord(network().state_dict()), num_rounds=ROUNDS)
    return strategy, result


@pytest.mark.parametrize(
    "method",
    ["heteroselect", "oort", "optimal-client-sampling", "scaffold", TUNED, OWN, AVERAGED],
    ids=lambda method: getattr(method, "name", method),
)
def test_the_same_bits_as_the_simulator(tmp_path, method):
    """Also of a method that selects after training, of one with a half at the server, of one that shows another model
    than clients go on from, and of one's own; only code of one's own has to be handed to the clients as well."""
    own = {"method": method} if method is OWN else {}
    strategy, result = started(Grid(tmp_path, **own), method=method)
    changes = {**CHANGES, "selected": 2, "rounds": ROUNDS, "seed": 5}
    theirs = heteroselect.run(
        {},
        settings=changes,
        method=method,
        model=network(),
        data=[data(client) for client in range(CLIENTS)],
        test=data(9),
    )
    assert [record.selected for record in strategy.records] == [line["selected"] for line in theirs.rounds]
    assert [record.bytes.up_clients for record in strategy.records] == [
        line["bytes_up_clients"] for line in theirs.rounds
    ]
    mine = result.arrays.to_torch_state_dict()
    assert mine.keys() == theirs.model.keys()
    assert all(torch.equal(mine[name], theirs.model[name]) for name in mine)
    assert result.train_metrics_clientapp[1]["bytes-up"] == theirs.rounds[0]["bytes_up"]
    took = result.train_metrics_clientapp[1]["decode-seconds"]
    assert [seconds > 0 for seconds in took] == [sent > 0 for sent in theirs.rounds[0]["bytes_up_clients"]]


def test_a_client_that_does_not_know_the_method_says_so(tmp_path):
    with pytest.raises(HeteroSelectError, match=r"method.compress.kind: own:Half is a part of your own; hand it over"):
        started(Grid(tmp_path), method=OWN)


def test_a_part_from_a_file_is_named_at_the_server_and_at_the_clients(tmp_path):
    source = "from dataclasses import dataclass\nimport numpy as np\nfrom heteroselect.parts.compress import Update\n"
    source += "@dataclass(frozen=True)\nclass Half:\n    first: int = 0\n    def compress(self, v, density, context):\n"
    (tmp_path / "half.py").write_text(source + "        return Update.keep(v, np.arange(self.first, v.size, 2)), {}\n")
    named = {"method.compress.kind": f"{tmp_path}/half.py:Half"}
    settings = {**CHANGES, **named, "method.compress.first": 1}
    more = {"clients": CLIENTS, "selected": 2, "rounds": 1, "settings": settings, "timeout": 5}
    arrays = ArrayRecord(network().state_dict())
    with pytest.raises(HeteroSelectError, match=r"method.compress.kind: .*half.py:Half is code of your own"):
        HeteroSelectStrategy(network, **more).start(Grid(tmp_path), arrays, num_rounds=1)
    strategy = HeteroSelectStrategy(network, **more)
    strategy.start(Grid(tmp_path, settings=named), arrays, num_rounds=1)
    assert strategy.method.compress.first == 1
    assert strategy.records[0].events == []


def test_a_client_that_fails_is_missing_and_the_round_goes_on(tmp_path):
    class Failing(Grid):
        def reply(self, message, client):
            if client == 1 and message.metadata.message_type == "train":
                return Message(Error(0, "out of memory"), reply_to=message)
            return super().reply(message, client)

    strategy, result = started(Failing(tmp_path))
    for record in strategy.records:
        assert [event.client for event in record.events] == ([1] if 1 in record.selected else [])
    assert any(record.events for record in strategy.records)
    assert result.arrays is not None


def test_a_client_belongs_to_its_key_in_an_app_of_ones_own(tmp_path):
    """A node with another key turns up after the first round and claims client 0, whose node has gone."""

    class Hijacked(Grid):
        def get_nodes(self):
            there = [SimpleNamespace(node_id=70 + k, public_key=bytes([k])) for k in range(CLIENTS)]
            if len(strategy.records):
                there[0] = SimpleNamespace(node_id=80, public_key=b"another")
            return there

        def reply(self, message, client):
            return super().reply(message, 0 if client == 10 else client)

    strategy = HeteroSelectStrategy(
        network, clients=CLIENTS, selected=5, rounds=2, settings=CHANGES, timeout=5, keys=True
    )
    strategy.start(Hijacked(tmp_path), ArrayRecord(network().state_dict()), num_rounds=2)
    events = [[(event.client, event.kind, event.detail) for event in record.events] for record in strategy.records]
    assert events == [
        [],
        [(0, "missing", "it has no node"), (0, "claim", "a node with another key claims it")],
    ]


def test_a_round_in_which_nobody_has_a_node_leaves_no_replies_behind(tmp_path):
    """In round 2 the nodes are away; the uploads of round 3 count in round 3."""

    class Away(Grid):
        def get_node_ids(self):
            return [] if len(strategy.records) == 1 else super().get_node_ids()

    settings = {**CHANGES, "method.score.mode": "stale"}
    strategy = HeteroSelectStrategy(network, clients=5, selected=5, rounds=4, settings=settings, timeout=5)
    strategy.start(Away(tmp_path), ArrayRecord(network().state_dict()), num_rounds=4)
    assert [len(record.events) for record in strategy.records] == [0, 5, 0, 0]


def test_what_goes_wrong_in_a_round_comes_out_of_it(tmp_path):
    class Broken(Grid):
        def reply(self, message, client):
            if message.content["header"]["kind"] == "Question":
                raise RuntimeError("the grid is gone")
            return super().reply(message, client)

    with pytest.raises(RuntimeError, match="the grid is gone"):
        started(Broken(tmp_path))
    with pytest.raises(HeteroSelectError, match="not of the strategy's model"):
        HeteroSelectStrategy(network, clients=5, selected=2, rounds=3).configure_train(
            1, ArrayRecord(nn.Linear(2, 2).state_dict()), None, Grid(tmp_path)
        )
    with pytest.raises(HeteroSelectError, match="partition-id"):
        answer(None, SimpleNamespace(node_config={}), model=network, data=data(0))


def test_the_example_learns_and_is_short(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    from two_moons import app

    source = (EXAMPLE / "two_moons" / "app.py").read_text()
    assert len(source.splitlines()) < 100
    accuracies = []

    class Moons(Grid):
        def reply(self, message, client):
            node, run = {"partition-id": client}, {"memory": str(tmp_path)}
            return app.reply(message, SimpleNamespace(node_config=node, run_config=run))

    original = MetricRecord.__init__

    def noting(self, *args, **kwargs):
        original(self, *args, **kwargs)
        accuracies.extend([self["accuracy"]] if "accuracy" in self else [])

    monkeypatch.setattr(MetricRecord, "__init__", noting)
    app.main(Moons(tmp_path), SimpleNamespace(run_config={"clients": 5, "selected": 3, "rounds": 8}))
    assert accuracies[-1] > max(0.8, accuracies[0])
    sys.modules.pop("two_moons.app")
