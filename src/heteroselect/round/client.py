"""What a client does with each message. It has its own data, what it kept, the model, and nothing else.

Both engines call these methods; only who carries the messages, and where a client's memory lies, differs.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from heteroselect.core.draws import Draws, drawing_from
from heteroselect.core.flat import FlatModel, Loss
from heteroselect.core.messages import Calibrate, Order, Question, Upload
from heteroselect.core.part import FieldError
from heteroselect.core.state import PartState, State, by_role
from heteroselect.core.streams import Streams
from heteroselect.core.traits import traits_of
from heteroselect.core.update import Values, answered, dot, norm
from heteroselect.data.batches import Batches, to_inputs
from heteroselect.data.examples import Examples, Pixels
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.compress import CompressContext, Update
from heteroselect.parts.compress.wire import encode
from heteroselect.parts.train import Job, Remembering, Trained
from heteroselect.round.method import Method, naming


@dataclass(frozen=True)
class Task:
    """What every client is told once: the loss, how to read the inputs, and how the model draws random numbers."""

    loss: Loss
    pixels: Pixels | None
    draws: Draws = Draws()


@dataclass(frozen=True)
class Pending:
    """An upload on its way: what the client keeps is decided once it is known whether the upload was used."""

    order: Order
    sent: Update
    offered: PartState
    """What the memory is to settle."""
    compress: PartState
    """What the compressor keeps, whatever becomes of the upload."""
    state: State
    shared: PartState

    def commit(self, method: Method, used: bool) -> State:
        """What the client keeps from here on: the rest of what it sent, or all of it where nothing was used."""
        kept = {
            "error_feedback": method.error_feedback.update_state(
                self.offered, self.sent if used else None, self.order.beta
            )
        }
        if used and isinstance(method.solver, Remembering):
            before = self.state.get("solver", {})
            kept["solver"] = method.solver.update_state(before, self.shared, self.sent, self.order)
        state = {**self.state, "compress": self.compress, **kept}
        return {role: arrays for role, arrays in state.items() if arrays}


@dataclass(frozen=True)
class Learnt:
    """What a client learnt in a round: sent at once, or held until it is asked for."""

    order: Order
    delta: Values
    report: dict[str, float]
    shared: PartState


@dataclass
class Client:
    id: int
    examples: Examples
    streams: Streams
    _asked: tuple[int, Examples] | None = None

    def loss(self, question: Question, model: FlatModel, task: Task) -> float:
        """The mean loss of the model on a part of the client's data."""
        model.module.eval()
        with torch.no_grad(), self.randomness(question.round, model, task, "scoring dropout"):
            if question.augmented:
                batches = self.batches("scoring", question.round, question.size, model, task)
                count = min(question.batches, -(-len(self.examples) // question.size))
                return float(torch.stack([_loss(model, task, *batches()) for _ in range(count)]).mean())
            examples = self.subset(question.batches * question.size)
            x = to_inputs(examples.x, task.pixels, model.device)
            return float(_loss(model, task, x, examples.y.to(model.device)))

    def labels(self) -> dict[str, float]:
        """Which share of the client's examples has which label: label0, label1, …"""
        y = self.examples.y
        if y.is_floating_point() or (y < 0).any():
            raise HeteroSelectError('method: a part needs "labels"; allowed is data whose y are class numbers.')
        found, counts = torch.unique(y, return_counts=True)
        return {f"label{int(label)}": int(count) / y.numel() for label, count in zip(found, counts, strict=True)}

    def calibrate(self, request: Calibrate, model: FlatModel, task: Task) -> dict[str, Tensor]:
        """Batch-norm statistics after a few batches of this client, going on from those received."""
        model.module.train()
        batches = self.batches("calibration", request.round, request.size, model, task)
        with torch.no_grad(), self.randomness(request.round, model, task, "calibration dropout"):
            for _ in range(request.batches):
                model.module(batches()[0])
        return model.buffers()

    def batches(self, purpose: str, round: int, size: int, model: FlatModel, task: Task) -> Batches:
        rng = self.streams.numpy(purpose, round=round, client=self.id)
        return Batches(self.examples, size, rng, task.pixels, model.device)

    def subset(self, count: int) -> Examples:
        """The examples the score is read from: the same ones all run long, so they are picked out once."""
        if self._asked is None or self._asked[0] != count:
            order = self.streams.numpy("scoring subset", client=self.id).permutation(len(self.examples))
            self._asked = count, self.examples.take(torch.from_numpy(np.sort(order[:count])))
        return self._asked[1]

    def randomness(
        self, round: int, model: FlatModel, task: Task, purpose: str = "dropout"
    ) -> AbstractContextManager[object]:
        generator = self.streams.torch(purpose, round=round, client=self.id, device=model.device)
        return drawing_from(generator, task.draws)


@dataclass(frozen=True)
class Worker:
    """A client at work for a method. Its `model` holds the global model first, and then what was trained."""

    client: Client
    model: FlatModel
    task: Task
    method: Method

    def train(self, order: Order, state: State, shared: PartState | None = None) -> tuple[Upload, Pending | Learnt]:
        """Train from the global model, and compress what was learnt and what was kept."""
        start, batches = self.model.vector.clone(), self.batches(order)
        job = self.job([order], batches, [state], shared or {}, labels=self.client.examples.y)
        with self.client.randomness(order.round, self.model, self.task):
            with naming("solver"):
                trained = self.method.solver.run(self.model, job)
                if not isinstance(trained, Trained):
                    raise FieldError("", f"allowed is a Trained as the answer of run, not {type(trained).__name__}")
            return self.answer(self.learnt(order, start, trained.report(), job.shared), batches, state)

    def job(
        self,
        orders: Sequence[Order],
        batches: Callable[[], tuple[Tensor, Tensor]],
        states: Sequence[State],
        shared: PartState,
        labels: Tensor | None = None,
    ) -> Job:
        """What the solver is told of one client, or of several that train as rows."""
        needs, own = self.method.needs, [state.get("solver", {}) for state in states]
        rates, steps = [order.rate for order in orders], orders[0].steps
        by_example, noisy = "examples" in needs, "variance" in needs
        return Job(self.task.loss, batches, rates, steps, own, shared, by_example, labels, noisy)

    def learnt(self, order: Order, start: Tensor, report: dict[str, float], shared: PartState) -> Learnt:
        """How far the trained model is from where it started."""
        delta: Values = (self.model.vector - start).cpu().numpy()
        if not np.isfinite(delta).all():
            raise HeteroSelectError(
                f"method.lr.start: training diverged at client {self.client.id} in round {order.round}; "
                f"allowed is a rate below {order.rate:.4g} (or a smaller method.solver.clip)."
            )
        length = norm(delta)
        if "variance" in report:  # relative so far: a gradient is an update by what the steps made of their mean
            report = {**report, "variance": report["variance"] * length * length}
        return Learnt(order, delta, {**report, "norm": length}, shared)

    def answer(self, learnt: Learnt, batches: Batches, state: State) -> tuple[Upload, Pending | Learnt]:
        """The update as bytes; or, where the order says so, only its length for now."""
        if "labels" in self.method.needs:
            learnt = replace(learnt, report={**learnt.report, **self.client.labels()})
        if learnt.order.hold:
            return Upload(self.client.id, b"", len(self.client.examples), learnt.report), learnt
        return self.send(learnt, batches, state)

    def give(self, held: Learnt, state: State) -> tuple[Upload, Pending]:
        """Send what was held; the model is again the global one."""
        order, model = held.order, self.model
        model.vector.add_(torch.from_numpy(held.delta).to(model.device))
        batches = self.batches(order)
        batches.take(order.steps)
        model.module.train()
        with self.client.randomness(order.round, model, self.task, "probe dropout"):
            return self.send(held, batches, state)

    def batches(self, order: Order) -> Batches:
        """What the client trains on this round."""
        return self.client.batches("batches", order.round, self.method.solver.batch, self.model, self.task)

    def send(self, learnt: Learnt, batches: Batches, state: State) -> tuple[Upload, Pending]:
        """Make the payload of what was learnt; the model is the trained one."""
        order, client, model, method = learnt.order, self.client, self.model, self.method
        streams, place = client.streams, {"round": order.round, "client": client.id}
        with naming("privacy"):
            delta = method.privacy.protect(learnt.delta, streams.numpy("privacy", **place))
        v, offered = method.error_feedback.offer(delta, state.get("error_feedback", {}))
        context = CompressContext(
            model=model,
            loss=lambda: _loss(model, self.task, *batches()),
            proximal=getattr(method.solver, "proximal", 0.0),
            state=state.get("compress", {}),
            told=by_role(learnt.shared).get("compress", {}),
            warmup=order.warmup,
            rng=streams.numpy("layers", **place),
            generator=streams.torch("probe", **place, device=model.device),
        )
        with naming("compress"):
            chosen, kept = answered(method.compress.compress(v, order.density, context), v.size)
        update = method.quantize.apply(chosen, model.layout.layer_ends, streams.numpy("rounding", **place))
        payload = encode(update, model.layout.layer_ends)
        report = {} if traits_of(method.privacy).hides else {**learnt.report, "memory": _left(v, update)}
        upload = Upload(client.id, payload, len(client.examples), report)
        return upload, Pending(order, update, offered, kept, state, learnt.shared)


def _loss(model: FlatModel, task: Task, x: Tensor, y: Tensor) -> Tensor:
    return task.loss(model.module(x), y)


def _left(v: Values, sent: Update) -> float:
    """‖v − sent‖, without forming the difference where nothing was sent."""
    there = v[sent.positions]
    gap = there - sent.values
    return math.sqrt(max(0.0, dot(v, v) - dot(there, there) + dot(gap, gap)))
