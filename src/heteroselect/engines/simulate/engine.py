"""Clients on one machine: all of them in this process, in a pool of threads; small models as one matrix."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence

import torch
from torch import Tensor

from heteroselect.core.draws import Draws
from heteroselect.core.flat import FlatModel, Layout, Weights
from heteroselect.core.messages import Calibrate, Order, Question, Upload
from heteroselect.core.state import PartState, State, by_role, flat
from heteroselect.core.traits import traits_of
from heteroselect.data.batches import to_inputs
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate.pool import Pool
from heteroselect.engines.simulate.scoring import Scoring
from heteroselect.engines.simulate.together import SMALL, Together
from heteroselect.round.client import Client, Learnt, Pending, Task, Worker
from heteroselect.round.method import Method

Answer = tuple[Upload, Pending | Learnt]

WORTHWHILE = 1500  # steps of single clients that take as long as making the graph of a matrix of them


class Simulator:
    """Clients in this process. `kept` holds what they keep between rounds, their parts' names joined by dots."""

    def __init__(
        self,
        pool: Pool,
        clients: Sequence[Client],
        task: Task,
        method: Method,
        *,
        kept: MutableMapping[int, PartState] | None = None,
    ) -> None:
        self.pool, self.clients, self.task, self.method = pool, clients, task, method
        self.layout: Layout = pool.layout
        self.kept: MutableMapping[int, PartState] = {} if kept is None else kept
        self._rows_fit, self._steps = True, 0
        self._rows: dict[tuple[int, int], Together] = {}
        self._pending: dict[int, Pending] = {}
        self._held: dict[int, Learnt] = {}
        self._scoring = Scoring(clients, task)

    def losses(self, weights: Weights, questions: Sequence[Question]) -> list[float]:
        if not self._small:
            return self.pool.map(weights, lambda q, model: self.clients[q.client].loss(q, model, self.task), questions)
        parts = self.pool.map(weights, self._scoring.answer, self._scoring.split(questions))
        return [loss for part in parts for loss in part]

    def train(self, weights: Weights, orders: Sequence[Order], shared: PartState) -> list[Upload]:
        def alone(order: Order, model: FlatModel) -> Answer:
            state = self._state(order.client)
            return self._worker(order.client, model).train(order, state, shared)

        alike, long = len({order.steps for order in orders}) == 1, self._steps >= WORTHWHILE
        self._steps += sum(order.steps for order in orders)
        answers = self._train_together(weights, orders, shared) if alike and long and self._together_may_fit() else None
        if answers is None:
            # whoever takes the most steps begins, so that no worker waits long for the last one; no bit depends on it
            first = sorted(range(len(orders)), key=lambda place: -orders[place].steps)
            found = dict(zip(first, self.pool.map(weights, alone, [orders[place] for place in first]), strict=True))
            answers = [found[place] for place in range(len(orders))]
        return self._note(answers)

    def collect(self, weights: Weights, clients: Sequence[int]) -> list[Upload]:
        """What some of those who hold an update send of it; the others drop theirs."""
        held, self._held = self._held, {}

        def work(client: int, model: FlatModel) -> Answer:
            return self._worker(client, model).give(held[client], self._state(client))

        return self._note(self.pool.map(weights, work, clients))

    def acknowledge(self, used: Mapping[int, bool]) -> None:
        """Store what each of these clients keeps, now that it is known whether its upload was used."""
        pending = {client: self._pending.pop(client) for client in used if client in self._pending}

        def work(client: int) -> PartState:
            return flat(pending[client].commit(self.method, used[client]))

        for client, kept in zip(pending, self.pool.each(work, list(pending)), strict=True):
            self.kept[client] = kept

    def calibrate(self, weights: Weights, request: Calibrate) -> dict[str, Tensor]:
        client = self.clients[request.client]
        return self.pool.map(weights, lambda r, model: client.calibrate(r, model, self.task), [request])[0]

    @property
    def _small(self) -> bool:
        """Whether clients may be taken together: a small model that draws no random numbers."""
        return self.layout.size <= SMALL and self.task.draws == Draws()

    def _worker(self, client: int, model: FlatModel) -> Worker:
        return Worker(self.clients[client], model, self.task, self.method)

    def _state(self, client: int) -> State:
        return by_role(self.kept.get(client, {}))

    def _note(self, answers: Sequence[Answer]) -> list[Upload]:
        self._pending |= {upload.client: left for upload, left in answers if isinstance(left, Pending)}
        self._held = {upload.client: left for upload, left in answers if isinstance(left, Learnt)}
        return [upload for upload, _ in answers]

    def _together_may_fit(self) -> bool:
        """A solver that takes rows; small models that hold no statistics; data that is not augmented."""
        augmented = self.task.pixels is not None and self.task.pixels.augment
        return self._small and self._rows_fit and traits_of(self.method.solver).rows and not augmented

    def _train_together(self, weights: Weights, orders: Sequence[Order], shared: PartState) -> list[Answer] | None:
        """A matrix of clients for each worker; None where that would not give the bits of training one by one."""
        size = -(-len(orders) // self.pool.threads)
        parts = [orders[at : at + size] for at in range(0, len(orders), size)]
        answers = self.pool.map(weights, lambda part, model: self._train_rows(part, model, shared), parts)
        self._rows_fit = all(part is not None for part in answers)
        return [one for part in answers if part is not None for one in part] if self._rows_fit else None

    def _train_rows(self, orders: Sequence[Order], model: FlatModel, shared: PartState) -> list[Answer] | None:
        start = model.vector.clone()
        workers = [self._worker(order.client, model) for order in orders]
        states = [self._state(order.client) for order in orders]
        model.module.train()
        streams = [worker.batches(order) for worker, order in zip(workers, orders, strict=True)]
        parts = [stream.take(orders[0].steps) for stream in streams]
        data = Examples(torch.stack([part.x for part in parts]), torch.stack([part.y for part in parts]))
        rows = self._rows.get((id(model), len(orders)))
        if rows is None:
            rows = Together(model, len(orders), exact=not self.method.needs.isdisjoint({"reports", "examples"}))
            if model.buffers() or not rows.fits(self.task.loss, *next(self._batches_together(data, model))):
                return None
            self._rows[id(model), len(orders)] = rows
        batches = self._batches_together(data, model)
        rows.vector.copy_(start)
        job = workers[0].job(orders, lambda: next(batches), states, shared)
        trained = self.method.solver.run(rows, job)
        answers: list[Answer] = []
        for row, (worker, order) in enumerate(zip(workers, orders, strict=True)):
            model.vector.copy_(rows.vector[row])
            learnt = worker.learnt(order, start, trained.report(row), shared)
            answers.append(worker.answer(learnt, streams[row], states[row]))
        return answers

    def _batches_together(self, data: Examples, model: FlatModel) -> Iterator[tuple[Tensor, Tensor]]:
        """Batch after batch of all clients at once: (clients, examples, …). Some are made at a time: fewer, larger
        operations, and still small enough for a cache."""
        rows, size, ahead = len(data.y), self.method.solver.batch, 8
        x = data.x.view(rows, -1, size, *data.x.shape[2:]).transpose(0, 1)
        y = data.y.view(rows, -1, size, *data.y.shape[2:]).transpose(0, 1).contiguous().to(model.device)
        for at in range(0, len(y), ahead):
            part = x[at : at + ahead].contiguous()
            inputs = to_inputs(part.flatten(0, 2), self.task.pixels, model.device)
            for number, one in enumerate(inputs.view(part.shape)):
                # single training has batches where the allocator puts them, and kernels may go by that
                yield one if one.data_ptr() % 64 == 0 else one.clone(), y[at + number]
