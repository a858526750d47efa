"""What is wrong with a model, a loss or a part of one's own is said in one sentence that names it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from heteroselect import HeteroSelectError, Method
from heteroselect.methods import REGISTRY
from heteroselect.parts.compress import Update

RNG = np.random.default_rng(0)
Y = np.arange(60) % 10
X = RNG.normal(size=(60, 4)).astype(np.float32)
SETTINGS = {"clients": 6, "selected": 2, "rounds": 1, "data.partition": "iid", "method.solver.steps": 1}


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.body(x), x


def play(**own: Any) -> heteroselect.Result:
    own = {"data": (X, Y), "model": lambda: nn.Linear(4, 10), **own}
    return heteroselect.run({}, settings=SETTINGS, **own)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"data": (X, Y + 1)}, r"data: class numbers in y are 1 to 10; number them 0 to 9, one for each of the 10"),
        ({"model": lambda: nn.Linear(4, 3)}, r"model: it gives 3 outputs per example; make it 10 or more"),
        ({"model": lambda: nn.Linear(4, 3), "loss": nn.CrossEntropyLoss()}, r"model: it gives 3 outputs"),
        ({"model": lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))}, r"model: it gives shape \(\) of outputs"),
        ({"model": Pair}, r"model: it gives a tuple; make it give one tensor"),
        ({"loss": nn.CrossEntropyLoss(reduction="none")}, r"loss: it gives 2 numbers for two examples"),
        ({"loss": lambda outputs, y: 1.0}, r"loss: it gives a float for two examples"),
    ],
)
@pytest.mark.parametrize("method", ["heteroselect", "fedavg"])
def test_before_the_first_round(method: str, own: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HeteroSelectError, match=sentence):
        play(method=method, **own)


def test_the_accuracy_on_classes_is_noted_where_there_are_classes() -> None:
    result = play(method="fedavg")
    found = [value for value in result.rounds[0]["class_accuracy"] if value is not None]
    assert len(result.rounds[0]["class_accuracy"]) == 10
    assert 0 <= min(found) <= result.final_accuracy <= max(found) <= 1


def test_one_output_is_enough_where_loss_and_metric_are_ones_own() -> None:
    result = play(
        model=lambda: nn.Sequential(nn.Linear(4, 1), nn.Flatten(0)),
        method="fedavg",
        loss=lambda outputs, y: ((outputs - y) ** 2).mean(),
        metric=lambda outputs, y: -float((outputs - y).abs().mean()),
    )
    assert result.rounds_run == 1
    assert result.rounds[0]["class_accuracy"] is None


@dataclass(frozen=True)
class Wrong:
    """A compressor that gives whatever it was told to."""

    answer: Callable[[Any], Any]

    def compress(self, v: Any, density: float, context: Any) -> Any:
        return self.answer(v)


def at(positions: list[int], values: Any = None, size: int | None = None) -> Callable[[Any], Any]:
    def answer(v: Any) -> Any:
        found = np.array(positions, np.int64)
        return Update(size or v.size, found, v[:1].repeat(len(found)) if values is None else values), {}

    return answer


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda v: Update.whole(v), r"\(Update, a dict of what is kept\), not Update"),
        (lambda v: (v, {}), r"\(Update, a dict of what is kept\), not ndarray, dict"),
        (lambda v: None, "not NoneType"),
        (at([3, 1]), "positions of an Update that rise from one to the next, from 0 to 49"),
        (at([1, 1]), "positions of an Update that rise"),
        (at([-1, 2]), "positions of an Update that rise"),
        (at([1, 50]), "positions of an Update that rise"),
        (at([1, 2], np.zeros(3, np.float32)), "of 50 with 3 values at 2 positions"),
        (at([1, 2], np.zeros(2)), "not of int64 and float64"),
        (at([1, 2], size=49), "an Update of 50 coordinates .*, not one of 49"),
    ],
)
def test_a_compressors_answer(answer: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(HeteroSelectError, match=f"method.compress: allowed .*{sentence}"):
        play(method=Method("mine", compress=Wrong(answer)))


def test_a_compressor_may_send_nothing() -> None:
    assert play(method=Method("mine", compress=Wrong(at([], np.zeros(0, np.float32))))).rounds_run == 1


def test_errors_in_python_name_arguments_and_not_options(tmp_path: Any) -> None:
    with pytest.raises(HeteroSelectError, match=r"^threads: choose 1 or more, not 0\.$"):
        heteroselect.run("mnist", threads=0)
    with pytest.raises(HeteroSelectError, match=r"^seeds: give one or more whole numbers"):
        heteroselect.compare("mnist", ["fedavg"], seeds=[])
    (tmp_path / "mine.txt").touch()
    with pytest.raises(HeteroSelectError, match=r"^out: .* holds mine\.txt; name a new or an empty folder"):
        heteroselect.run("mnist", out=tmp_path)


def test_a_method_made_in_python_has_to_be_handed_over_again(tmp_path: Any) -> None:
    mine = replace(REGISTRY["fedavg"].method, name="mine")
    small = {"clients": 20, "selected": 4, "method.solver.steps": 5, "rounds": 2}
    first = heteroselect.run("mnist", method=mine, settings=small, out=tmp_path / "run")
    with pytest.raises(HeteroSelectError, match=r"is of 'mine', a method made in Python; hand it over"):
        heteroselect.resume(tmp_path / "run")
    assert heteroselect.resume(tmp_path / "run", method=mine).model_sha256 == first.model_sha256
