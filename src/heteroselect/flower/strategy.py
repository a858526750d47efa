"""A Strategy for Flower apps of one's own: every decision of a round is `play_round`'s, as in the simulator.

Flower's loop asks for the messages of a round, sends them, and comes back with the replies; our round asks for the
replies in its middle. So a round runs in a thread that hands its orders over and waits for the replies: there is one
implementation of the round, and it does not notice.
"""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import tomli_w
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from torch import nn

from heteroselect.core.flat import FlatModel, Weights
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.engines.flower.engine import FlowerEngine
from heteroselect.engines.flower.exchange import Exchange
from heteroselect.engines.flower.post import GridPost, Transport
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.own import SETTINGS
from heteroselect.flower.plan import new_token, refuse_steps
from heteroselect.parts.compress import Update, WholeModel
from heteroselect.round.method import Method
from heteroselect.round.round import play_round
from heteroselect.round.server import Record, RoundOutcome, Server
from heteroselect.round.shown import shown
from heteroselect.runs.experiment import environment_of
from heteroselect.settings import Config
from heteroselect.settings.config import load
from heteroselect.world import measured_links


class HeteroSelectStrategy(Strategy):
    """`model` is what is trained (a module, or a function that makes one); its clients call `answer`.

    `method` is a name, FILE.py:NAME or a Method; where parts of it are one's own, clients hand it to `answer` as well.
    `rounds` is the horizon of all schedules, and should be the `num_rounds` that the strategy is started with. At
    least `clients` nodes are waited for; they are numbered by their partition-id, from 0 on without a gap. `settings`
    are single changes with dotted keys; by default links are measured, where the SuperNodes measure them. `keys` says
    that the SuperLink lets in registered keys only: each client then belongs to the first that brings it.
    """

    def __init__(
        self,
        model: nn.Module | Callable[[], nn.Module],
        *,
        method: str | Method = "heteroselect",
        clients: int,
        selected: int,
        rounds: int,
        seed: int = 42,
        timeout: float = 3600.0,
        settings: Mapping[str, Any] | None = None,
        keys: bool = False,
    ) -> None:
        given = {"clients": clients, "selected": selected, "rounds": rounds, "seed": seed, "world.links": "measured"}
        loaded = load({}, method=method, changes={**given, **(settings or {})}, own_model=True)
        self.config, self.method, self.streams = loaded.config, loaded.method, Streams(loaded.config.seed)
        refuse_steps(self.method)
        if not isinstance(self.method.downlink, WholeModel):
            raise HeteroSelectError("method.downlink.kind: allowed in a HeteroSelectStrategy is model alone.")
        self.model = FlatModel(model if isinstance(model, nn.Module) else model())
        self.environment = environment_of(self.config, self.method, self.model.layout.size, self.streams)
        self.timeout, self.keys, self.records = timeout, keys, list[Record]()
        self._session: _Session | None = None
        self._shown: ArrayRecord | None = None  # what was returned last; it may not be what clients go on from

    def summary(self) -> None:
        config = self.config
        print(f"{self.method.name}: {config.selected} of {config.clients} clients per round, {config.rounds} rounds")

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """The orders to all whom the round has selected."""
        weights = self._weights(arrays)
        if self._session is None:
            self._session = self._gathered(grid, weights)
        session = self._session
        server = session.server if arrays is self._shown else replace(session.server, weights=weights)
        moment, selected = Moment(server_round, self.config.rounds), self.config.selected
        session.round = _in_background(
            lambda: play_round(
                moment, server, self.method, session.engine, self.environment, self.streams, selected=selected
            )
        )
        orders = session.handover.orders(session.round)
        session.waits = bool(orders)
        return orders

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The model that is shown after the round: what came back is decoded, screened, weighed and added to it."""
        session = self._session
        assert session is not None
        if session.waits:  # a round that found nobody to order anything has ended already
            session.handover.replies.put(list(replies))
        played = session.round.result()
        record = played.record
        session.engine.acknowledge(played.used)
        session.uploads.update(played.received)
        session.server = played.server
        self.records.append(record)
        self.model.load(shown(self.method, played.server.state, played.server.weights))
        metrics: dict[str, int | float | list[int] | list[float]] = {
            "theta": record.theta,
            "bytes-up": record.bytes.up,
            "selected": record.selected,
            "densities": record.densities,
            "weights": record.weights,
            "decode-seconds": [session.engine.decode_seconds.get(client, 0.0) for client in record.selected],
        }
        metrics |= {"loss": record.loss_mean} if record.loss_mean is not None else {}
        self._shown = ArrayRecord(self.model.state_dict())
        return self._shown, MetricRecord(metrics)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """No messages: the model is evaluated at the server, by the `evaluate_fn` given to `start`."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        return None

    def _gathered(self, grid: Grid, weights: Weights) -> "_Session":
        """Wait for the clients, and find out how many examples each has."""
        handover = _Handover(GridPost(grid, keys=self.keys))
        claims = self.method.outlier_filter.claims
        exchange = Exchange(
            handover,
            self.config.clients,
            run=new_token(),
            kept={},
            claims=claims,
            since=lambda: self._session.server.round if self._session else 0,
            timeout=self.timeout,
            links=measured_links(self.environment.world),
            more={SETTINGS: ConfigRecord({"toml": client_settings(self.config)})},
        )
        engine, uploads = FlowerEngine(exchange, self.model.layout), dict[int, Update]()
        engine.gather()
        population = replace(Population.new(engine.sizes(claims)), uploads=uploads)
        return _Session(handover, engine, Server(weights, population), uploads)

    def _weights(self, arrays: ArrayRecord) -> Weights:
        try:
            self.model.module.load_state_dict(arrays.to_torch_state_dict())
        except RuntimeError as error:
            raise HeteroSelectError(f"model: the arrays are not of the strategy's model ({error}).") from error
        return self.model.weights()


@dataclass
class _Session:
    """What there is once the clients are found; `round` is the present one, which `waits` for replies."""

    handover: "_Handover"
    engine: FlowerEngine
    server: Server
    uploads: dict[int, Update]
    round: "Future[RoundOutcome]" = field(default_factory=Future)
    waits: bool = False


def client_settings(config: Config) -> str:
    """What clients are told of the settings: the method, with all of its settings, and the seed."""
    return tomli_w.dumps(config.model_dump(include={"version", "method", "seed"}, exclude_none=True))


def _in_background(work: Callable[[], RoundOutcome]) -> "Future[RoundOutcome]":
    """A round in a thread of its own (one of a pool would keep the program from ending); what goes wrong in it goes
    wrong where its result is asked for."""
    future: Future[RoundOutcome] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="round").start()
    return future


class _Handover:
    """A post that leaves orders to Flower's loop and carries everything else itself."""

    def __init__(self, post: Transport) -> None:
        self.post = post
        self._orders: queue.Queue[list[Message]] = queue.Queue()
        self.replies: queue.Queue[list[Message]] = queue.Queue()

    def nodes(self) -> Mapping[int, str]:
        return self.post.nodes()

    def exchange(self, messages: Sequence[Message], timeout: float) -> list[Message]:
        if not any(message.metadata.message_type == MessageType.TRAIN for message in messages):
            return self.post.exchange(messages, timeout)
        self._orders.put(list(messages))
        return self.replies.get()

    def orders(self, round: "Future[RoundOutcome]") -> list[Message]:
        """The orders of the round, once it has them; nobody's where it ended before."""
        while True:
            try:
                return self._orders.get(timeout=0.05)
            except queue.Empty:
                if round.done() and self._orders.empty():
                    round.result()
                    return []
