"""The engine on one machine: all clients in this process, a pool of threads, one flat model a thread.

Every worker runs its operators on one thread, so the bits of a client's update do not depend on how many
workers there are; two workers do twice the steps of one because torch releases the interpreter's lock.
"""

import math
import queue
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from heteroselect.client import Client, Learnt, Pending, Task
from heteroselect.compress import Kept
from heteroselect.data.batches import Ready, to_inputs
from heteroselect.data.examples import Examples
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import Metric
from heteroselect.flat import FlatModel, Layout, Weights
from heteroselect.messages import Calibrate, Order, Question, Upload
from heteroselect.method import Method
from heteroselect.simulate.allocator import keep_freed_memory
from heteroselect.simulate.scoring import Scoring
from heteroselect.simulate.together import SMALL, Together
from heteroselect.streams import Draws, Streams, drawing_from

A = TypeVar("A")
B = TypeVar("B")
Answer = tuple[Upload, Pending | Learnt]

EVALUATION_BATCH = 500  # fixed: with it, and not with the number of threads, go the bits of an evaluation


class Simulator:
    """Use as a context manager: it takes torch's intra-op threads down to one and gives them back."""

    def __init__(
        self,
        module: nn.Module,
        clients: Sequence[Client],
        test: Examples,
        task: Task,
        method: Method,
        metric: Metric,
        *,
        threads: int = 1,
        device: str = "cpu",
        together: bool = True,
        kept: MutableMapping[int, Kept] | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.streams = streams or clients[0].streams
        self.together = together
        self.threads, self._rows_fit = threads, True
        self._rows: dict[tuple[int, int], Together] = {}
        self.clients, self.test, self.task, self.method, self.metric = clients, test, task, method, metric
        self.kept: MutableMapping[int, Kept] = {} if kept is None else kept
        self._pending: dict[int, Pending] = {}
        self._held: dict[int, Learnt] = {}
        self._scoring, self._ready = Scoring(clients, task), Ready(task.pixels)
        self._models: queue.SimpleQueue[FlatModel] = queue.SimpleQueue()
        for _ in range(threads):
            model = FlatModel(module, device)
            self._models.put(model)
        self._layout = model.layout
        if self._layout.size > SMALL:
            keep_freed_memory()
        self._before = torch.get_num_threads()
        self._pool = ThreadPoolExecutor(threads, "client", initializer=torch.set_num_threads, initargs=(1,))

    def __enter__(self) -> "Simulator":
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(self._before)

    @property
    def layout(self) -> Layout:
        return self._layout

    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]:
        if not (self.together and self._layout.size <= SMALL and self.task.draws == Draws()):
            return self._map(weights, lambda q, model: self.clients[q.client].loss(q, model, self.task), questions)
        parts = self._map(
            weights, lambda part, model: self._scoring.answer(part, model), self._scoring.split(questions)
        )
        return [loss for part in parts for loss in part]

    def train(self, weights: Weights, orders: Sequence[Order], shared: Kept) -> list[Upload]:
        def alone(order: Order, model: FlatModel) -> Answer:
            kept = self.kept.get(order.client, {})
            return self.clients[order.client].train(order, model, self.task, self.method, kept, shared)

        alike = len({order.steps for order in orders}) == 1
        answers = self._train_together(weights, orders, shared) if alike and self._together_may_fit() else None
        if answers is None:
            answers = self._map(weights, alone, orders)
        self._note(answers)
        return [upload for upload, _ in answers]

    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]:
        """What some of those who hold an update send of it; the others let go of theirs."""
        held, self._held = self._held, {}

        def work(client: int, model: FlatModel) -> Answer:
            return self.clients[client].give(held[client], model, self.task, self.method, self.kept.get(client, {}))

        answers = self._map(weights, work, clients)
        self._note(answers)
        return [upload for upload, _ in answers]

    def _note(self, answers: Sequence[Answer]) -> None:
        self._pending = {upload.client: left for upload, left in answers if isinstance(left, Pending)}
        self._held = {upload.client: left for upload, left in answers if isinstance(left, Learnt)}

    def settle(self, used: Collection[int]) -> None:
        """What every client keeps, now that it is known what arrived."""
        pending, self._pending = self._pending, {}

        def work(client: int) -> Kept:
            return pending[client].settle(self.method, client in used)

        for client, kept in zip(pending, self._pool.map(work, pending), strict=True):
            self.kept[client] = kept

    def _together_may_fit(self) -> bool:
        """Small models that neither draw random numbers nor hold statistics, on data that is not augmented."""
        augmented = self.task.pixels is not None and self.task.pixels.augment
        small = self._layout.size <= SMALL and self.task.draws == Draws()
        return self.together and self._rows_fit and small and not augmented

    def _train_together(self, weights: Weights, orders: Sequence[Order], shared: Kept) -> list[Answer] | None:
        """A matrix of clients for each worker; None where that would not give the bits of training one by one."""
        size = -(-len(orders) // self.threads)
        parts = [orders[at : at + size] for at in range(0, len(orders), size)]
        answers = self._map(weights, lambda part, model: self._train_rows(part, model, shared), parts)
        self._rows_fit = all(part is not None for part in answers)
        return [one for part in answers if part is not None for one in part] if self._rows_fit else None

    def _train_rows(self, orders: Sequence[Order], model: FlatModel, shared: Kept) -> list[Answer] | None:
        task, method, start = self.task, self.method, model.vector.clone()
        clients = [self.clients[order.client] for order in orders]
        kept = [self.kept.get(order.client, {}) for order in orders]
        model.module.train()
        streams = [client.batches(order, model, task, method) for client, order in zip(clients, orders, strict=True)]
        parts = [stream.take(orders[0].steps) for stream in streams]
        data = Examples(torch.stack([part.x for part in parts]), torch.stack([part.y for part in parts]))
        rows = self._rows.get((id(model), len(orders)))
        if rows is None:
            rows = Together(model, len(orders), exact="reports" in method.score.needs | method.needs)
            if model.buffers() or not rows.fits(task.loss, *next(self._batches_together(data, model))):
                return None
            self._rows[id(model), len(orders)] = rows
        like = start.cpu().numpy()
        shifts = [method.drift.shift(one, shared, like) for one in kept]
        drifts = [shift for shift in shifts if shift is not None]
        added = torch.from_numpy(np.stack(drifts)).to(model.device) if len(drifts) == len(orders) else None
        batches, rates = self._batches_together(data, model), [order.rate for order in orders]
        rows.vector.copy_(start)
        trained = method.train.run(rows, task.loss, lambda: next(batches), rates, orders[0].steps, added)
        answers: list[Answer] = []
        for row, (client, order) in enumerate(zip(clients, orders, strict=True)):
            model.vector.copy_(rows.vector[row])
            learnt = client.learnt(order, start, model, trained.report(row), shifts[row])
            answers.append(client.answer(learnt, model, streams[row], task, method, kept[row]))
        return answers

    def _batches_together(self, data: Examples, model: FlatModel) -> Iterator[tuple[Tensor, Tensor]]:
        """Batch after batch of all clients at once: (clients, examples, …). Some are made at a time: fewer, larger
        operations, and still small enough for a cache."""
        rows, size, ahead = len(data.y), self.method.train.batch, 8
        x = data.x.view(rows, -1, size, *data.x.shape[2:]).transpose(0, 1)
        y = data.y.view(rows, -1, size, *data.y.shape[2:]).transpose(0, 1).contiguous().to(model.device)
        for at in range(0, len(y), ahead):
            part = x[at : at + ahead].contiguous()
            inputs = to_inputs(part.flatten(0, 2), self.task.pixels, model.device)
            for number, one in enumerate(inputs.view(part.shape)):
                # single training has batches where the allocator puts them, and kernels may go by that
                yield one if one.data_ptr() % 64 == 0 else one.clone(), y[at + number]

    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]:
        client = self.clients[request.client]
        return self._map(weights, lambda r, model: client.calibrate(r, model, self.task), [request])[0]

    def evaluate(self, weights: Weights) -> float:
        value = float(self.metric(self.outputs(weights), self.test.y))
        if not math.isfinite(value):
            raise HeteroSelectError(f"metric: it gave {value} on the test set; allowed is a finite number.")
        return value

    def outputs(self, weights: Weights) -> Tensor:
        """What the model says of every test example."""

        chunks = torch.split(self.test.x, EVALUATION_BATCH)

        def work(number: int, model: FlatModel) -> Tensor:
            generator = self.streams.torch("evaluation", client=number, device=model.device)
            model.module.eval()
            with torch.no_grad(), drawing_from(generator, self.task.draws):
                return self._ready.through(model.module, number, chunks[number], model.device).cpu()

        return torch.cat(self._map(weights, work, range(len(chunks))))

    def _map(self, weights: Weights, work: Callable[[A, FlatModel], B], items: Sequence[A]) -> list[B]:
        """Each item with a model that holds `weights`; results in the order of the items."""

        def one(item: A) -> B:
            with self._borrowed() as model:
                model.load(weights)
                return work(item, model)

        return list(self._pool.map(one, items))

    @contextmanager
    def _borrowed(self) -> Iterator[FlatModel]:
        model = self._models.get()
        try:
            yield model
        finally:
            self._models.put(model)
