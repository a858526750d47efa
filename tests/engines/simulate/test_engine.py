"""The simulator: answers in order, one model per worker, torch's threads given back."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from heteroselect import methods
from heteroselect.core.evaluate import accuracy
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order, Question
from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.evaluator import BATCH, Evaluator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import HeteroSelectError
from heteroselect.round.client import Client, Task, Worker

pytestmark = pytest.mark.slow  # they train, draw or start processes


@pytest.fixture(autouse=True)
def as_a_matrix(monkeypatch):
    """Clients train as a matrix from the first round on, which a short run would not find worthwhile."""
    monkeypatch.setattr("heteroselect.engines.simulate.engine.WORTHWHILE", 0)


TASK = Task(nn.functional.cross_entropy, None)
METHOD = methods.get("heteroselect")


def examples(count, seed=0):
    rng = np.random.default_rng(seed)
    return Examples(torch.from_numpy(rng.normal(size=(count, 3)).astype(np.float32)), torch.arange(count) % 2)


def people(clients=5):
    return [Client(k, examples(10 + k, seed=k), Streams(1)) for k in range(clients)]


@contextmanager
def simulator(threads=2, method=METHOD, module=None, **more):
    with Pool(module or nn.Linear(3, 2), threads=threads) as pool:
        yield Simulator(pool, people(), TASK, method, **more)


def orders(*clients, **changes):
    settings = {"rate": 0.1, "density": 1.0, "beta": 1.0, "steps": 50} | changes
    return [Order(k, 1, **settings) for k in clients]


def test_answers_come_in_the_order_of_the_questions():
    with simulator() as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        questions = [Question(k, 1, 8, 32) for k in (4, 0, 2)]
        answers = engine.losses(weights, questions)
        singly = [engine.losses(weights, [question])[0] for question in questions]
    assert answers == singly
    assert len(set(answers)) == 3


@pytest.mark.slow
def test_every_task_starts_from_the_weights_it_was_sent():
    with simulator(threads=1) as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        before = weights.sha256()
        together = engine.train(weights, orders(0, 1), {})
        assert not engine.kept, "nothing is kept before it is known what arrived"
        alone = engine.train(weights, orders(1), {})
    assert together[1].payload == alone[0].payload
    assert weights.sha256() == before


def test_whoever_takes_the_most_steps_begins_and_answers_stay_in_their_order(monkeypatch):
    begun = []
    train = Worker.train

    def noted(self, order, *more):
        begun.append(order.steps)
        return train(self, order, *more)

    monkeypatch.setattr(Worker, "train", noted)
    with simulator(threads=1) as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        wanted = [orders(k, steps=steps)[0] for k, steps in ((3, 2), (0, 9), (4, 5), (1, 9))]
        uploads = engine.train(weights, wanted, {})
        singly = [engine.train(weights, [order], {})[0] for order in wanted]
    assert begun[:4] == [9, 9, 5, 2]
    assert [upload.payload for upload in uploads] == [upload.payload for upload in singly]
    assert [upload.client for upload in uploads] == [3, 0, 4, 1]


def test_what_is_kept_is_that_of_the_last_training():
    """A round that is computed again takes the place of the one before."""
    with simulator() as engine, simulator() as other:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        engine.train(weights, orders(0, 1, steps=3, density=0.5), {})
        for one in (engine, other):
            one.train(weights, orders(0, 1, density=0.5), {})
            one.acknowledge({0: True, 1: False})
    for client in (0, 1):
        assert engine.kept[client].keys() == other.kept[client].keys()
        for name, array in engine.kept[client].items():
            assert array.tobytes() == other.kept[client][name].tobytes()


def test_what_clients_keep_lies_where_it_was_put():
    kept = {}
    with simulator(kept=kept) as engine:
        engine.train(FlatModel(nn.Linear(3, 2)).weights(), orders(3, density=0.5), {})
        engine.acknowledge({3: True})
    assert kept is engine.kept
    assert sorted(kept[3]) == ["compress.mask", "error_feedback.residual"]


def test_held_updates_are_sent_when_asked_and_the_others_dropped():
    method = methods.get("optimal-client-sampling")
    method = replace(method, solver=replace(method.solver, steps=5, batch=4))
    weights = FlatModel(nn.Linear(3, 2)).weights()
    with simulator(method=method) as engine:
        at_once = {upload.client: upload for upload in engine.train(weights, orders(0, 2, 4, steps=5), {})}
        held = engine.train(weights, orders(0, 2, 4, steps=5, hold=True), {})
        assert [upload.payload for upload in held] == [b""] * 3
        assert [upload.report["norm"] for upload in held] == [at_once[k].report["norm"] for k in (0, 2, 4)]
        assert engine.collect(weights, [4, 0]) == [at_once[4], at_once[0]]
        with pytest.raises(KeyError):
            engine.collect(weights, [2])


@pytest.mark.parametrize("count", [1, BATCH, 2 * BATCH + 3])
def test_an_evaluation_covers_every_example_once(count):
    test = Examples(torch.zeros(count, 3), torch.ones(count, dtype=torch.long))
    test.y[: count // 2] = 0
    with Pool(nn.Linear(3, 2), threads=2) as pool:
        evaluator = Evaluator(pool, test, TASK, accuracy, Streams(1))
        weights = FlatModel(nn.Linear(3, 2)).weights()
        weights.vector.copy_(torch.tensor([0.0] * 6 + [0.0, 1.0]))  # always says class 1
        assert evaluator.outputs(weights).shape == (count, 2)
        assert evaluator.evaluate(weights) == pytest.approx((count - count // 2) / count)


def test_an_evaluation_has_the_same_bits_with_any_number_of_threads():
    test, weights, found = examples(3 * BATCH + 1), FlatModel(nn.Linear(3, 2)).weights(), []
    for threads in (1, 3):
        with Pool(nn.Linear(3, 2), threads=threads) as pool:
            found.append(Evaluator(pool, test, TASK, accuracy, Streams(1)).outputs(weights))
    assert torch.equal(*found)


def test_torchs_threads_are_given_back_even_after_an_error():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    inside = []

    def fail():
        with Pool(nn.Linear(3, 2), threads=2):
            inside.append(torch.get_num_threads())
            raise RuntimeError("boom")

    try:
        with pytest.raises(RuntimeError, match="boom"):
            fail()
        assert inside == [1]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_workers_compute_on_one_thread_each():
    class Counting(nn.Linear):
        seen: list[int] = []  # noqa: RUF012

        def forward(self, x):
            Counting.seen.append(torch.get_num_threads())
            return super().forward(x)

    with simulator(module=Counting(3, 2)) as engine:
        engine.losses(FlatModel(Counting(3, 2)).weights(), [Question(k, 1, 8, 32) for k in range(5)])
    assert len(Counting.seen) >= 5
    assert set(Counting.seen) == {1}


def test_a_pool_works_on_items_in_their_order():
    with Pool(nn.Linear(3, 2), threads=3) as pool:
        assert pool.each(lambda item: item**2, [3, 1, 2]) == [9, 1, 4]
        weights = FlatModel(nn.Linear(3, 2)).weights()
        weights.vector.fill_(2.0)

        def work(item, model):
            model.vector.mul_(item)  # the next one gets the weights anew
            return float(model.vector.sum())

        assert pool.map(weights, work, [3, 1, 2, 5]) == [48.0, 16.0, 32.0, 80.0]


def test_a_metric_without_a_value_is_refused():
    with Pool(nn.Linear(3, 2)) as pool:
        evaluator = Evaluator(pool, examples(20), TASK, lambda outputs, targets: float("nan"), Streams(1))
        with pytest.raises(HeteroSelectError, match="metric: it gave nan"):
            evaluator.evaluate(FlatModel(nn.Linear(3, 2)).weights())
