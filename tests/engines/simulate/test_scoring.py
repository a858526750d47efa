"""Scoring in blocks: the same bits as asking one by one, or it is not done."""

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Question
from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate import engine
from heteroselect.engines.simulate.scoring import BLOCK, Scoring
from heteroselect.round.client import Client, Task

TASK = Task(nn.functional.cross_entropy, None)


@pytest.fixture(autouse=True)
def one_thread():
    """As a pool's workers have: with it go the kernels, and with them the bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def clients(count: int, width: int = 7, sizes: tuple[int, int] = (5, 60)) -> list[Client]:
    rng = np.random.default_rng(0)
    examples = rng.integers(*sizes, count)
    return [
        Client(
            k,
            Examples(torch.from_numpy(rng.normal(size=(n, width)).astype(np.float32)), torch.arange(n) % 3),
            Streams(1),
        )
        for k, n in enumerate(examples)
    ]


def questions(ids, **changes) -> list[Question]:
    return [Question(k, 1, **({"batches": 2, "size": 8} | changes)) for k in ids]


def everyone(scoring: Scoring, asked: list[Question], model: FlatModel) -> list[float]:
    return [loss for part in scoring.split(asked) for loss in scoring.answer(part, model)]


@pytest.mark.parametrize("widths", [(7, 9), (64, 32), (784, 10), (5, 3)])
@pytest.mark.parametrize("examples", [(5, 60), (64, 65)])
def test_blocks_give_the_bits_of_single_answers_or_are_not_used(widths, examples):
    """Whether they do is a matter of the processor's kernels; what may not happen is that they do not and are used."""
    wide, narrow = widths
    people, model = clients(34, wide, examples), FlatModel(nn.Sequential(nn.Linear(wide, narrow), nn.Tanh()))
    scoring, asked = Scoring(people, TASK), questions(range(34))
    assert [len(part) for part in scoring.split(asked)] == [10, 10, 10, 4]
    for _ in range(4):  # checked, and then believed
        assert everyone(scoring, asked, model) == [people[q.client].loss(q, model, TASK) for q in asked]
        model.vector.mul_(1.5)


def test_blocks_are_used_for_mnist():
    """28 × 28 pixels, ten classes, 256 examples a client."""
    people, model = clients(20, 784, (600, 601)), FlatModel(nn.Linear(784, 10))
    scoring, asked = Scoring(people, TASK), questions(range(20), batches=8, size=32)
    assert everyone(scoring, asked, model) == [people[q.client].loss(q, model, TASK) for q in asked]
    assert scoring.fits


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (questions(range(20)), [10, 10]),
        (questions([*range(10), 12, 15]), [10, 1, 1]),
        (questions(range(1, 11)), [1] * 10),
        (questions(range(10), augmented=True), [1] * 10),
        (questions(range(9)) + questions([9], batches=3), [1] * 10),
        ([], []),
    ],
)
def test_only_whole_blocks_of_equal_questions_go_together(asked, sizes):
    assert BLOCK == 10
    assert [len(part) for part in Scoring(clients(20), TASK).split(asked)] == sizes


class Crowded(nn.Module):
    """Another answer for a large batch than for a small one."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 3)

    def forward(self, x):
        return self.linear(x) * (1.0 if len(x) <= 16 else 1.1)


class Narrow(Crowded):
    def forward(self, x):
        if len(x) > 16:
            raise RuntimeError("sixteen at most")
        return self.linear(x)


@pytest.mark.parametrize("module", [Crowded, Narrow])
def test_a_model_that_minds_the_size_of_a_batch_is_asked_one_by_one(module):
    people, model = clients(20), FlatModel(module())
    scoring, asked = Scoring(people, TASK), questions(range(20))
    assert everyone(scoring, asked, model) == [people[q.client].loss(q, model, TASK) for q in asked]
    assert not scoring.fits
    assert [len(part) for part in scoring.split(asked)] == [1] * 20


@pytest.mark.slow
def test_a_run_has_the_same_bits_with_scoring_batched_or_not(monkeypatch):
    settings = {"clients": 23, "selected": 4, "rounds": 3, "method.solver.steps": 3}
    batched = heteroselect.run("mnist", settings=settings)
    monkeypatch.setattr(Scoring, "split", lambda self, asked: [[question] for question in asked])
    singly = heteroselect.run("mnist", settings=settings)
    assert batched.rounds == singly.rounds
    assert batched.model_sha256 == singly.model_sha256
    monkeypatch.setattr(engine, "SMALL", 0)
    assert heteroselect.run("mnist", settings=settings).model_sha256 == singly.model_sha256
