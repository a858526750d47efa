"""The simulator: answers in order, one model a worker, torch's threads given back."""

import numpy as np
import pytest
import torch
from torch import nn

from heteroselect import methods
from heteroselect.client import Client, Task
from heteroselect.data.examples import Examples
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import accuracy
from heteroselect.flat import FlatModel
from heteroselect.messages import Order, Question
from heteroselect.simulate.engine import EVALUATION_BATCH, Simulator
from heteroselect.streams import Streams


def simulator(threads=2, test=None, clients=5):
    rng = np.random.default_rng(0)

    def examples(count):
        return Examples(torch.from_numpy(rng.normal(size=(count, 3)).astype(np.float32)), torch.arange(count) % 2)

    module = nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.fill_(0.5)
        module.bias.copy_(torch.tensor([0.0, 1.0]))
    people = [Client(k, examples(10 + k), Streams(1)) for k in range(clients)]
    task = Task(nn.functional.cross_entropy, None)
    return Simulator(module, people, test or examples(20), task, methods.get("heteroselect"), accuracy, threads=threads)


def test_answers_come_in_the_order_of_the_questions():
    with simulator() as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        questions = [Question(k, 1, 8, 32) for k in (4, 0, 2)]
        answers = engine.losses(weights, questions)
        singly = [engine.losses(weights, [question])[0] for question in questions]
    assert answers == singly
    assert len(set(answers)) == 3


def test_every_task_starts_from_the_weights_it_was_sent():
    with simulator(threads=1) as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        before = weights.sha256()
        orders = [Order(k, 1, rate=0.1, density=1.0, beta=1.0, steps=50) for k in (0, 1)]
        together = engine.train(weights, orders, {})
        assert not engine.kept, "nothing is kept before it is known what arrived"
        alone = engine.train(weights, orders[1:], {})
    assert together[1].payload == alone[0].payload
    assert weights.sha256() == before


@pytest.mark.parametrize("count", [1, EVALUATION_BATCH, 2 * EVALUATION_BATCH + 3])
def test_an_evaluation_covers_every_example_once(count):
    test = Examples(torch.zeros(count, 3), torch.ones(count, dtype=torch.long))
    test.y[: count // 2] = 0
    with simulator(test=test) as engine:
        weights = FlatModel(nn.Linear(3, 2)).weights()
        weights.vector.copy_(torch.tensor([0.0] * 6 + [0.0, 1.0]))  # always says class 1
        assert engine.outputs(weights).shape == (count, 2)
        assert engine.evaluate(weights) == pytest.approx((count - count // 2) / count)


def test_torchs_threads_are_given_back_even_after_an_error():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    inside = []

    def fail():
        with simulator():
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

    with simulator() as engine:
        task, people, test = engine.task, engine.clients, engine.test
    with Simulator(Counting(3, 2), people, test, task, methods.get("heteroselect"), accuracy, threads=2) as engine:
        engine.losses(FlatModel(Counting(3, 2)).weights(), [Question(k, 1, 8, 32) for k in range(5)])
    assert len(Counting.seen) >= 5
    assert set(Counting.seen) == {1}


def test_a_metric_without_a_value_is_refused():
    with simulator() as engine:
        engine.metric = lambda outputs, targets: float("nan")
        with pytest.raises(HeteroSelectError, match="metric: it gave nan"):
            engine.evaluate(FlatModel(nn.Linear(3, 2)).weights())
