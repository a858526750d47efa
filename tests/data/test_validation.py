"""Examples set aside for validation: who tunes on them has not seen the test part."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import heteroselect
from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Source
from heteroselect.data.federation import set_aside
from heteroselect.data.own import set_aside_each
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.result import Result
from heteroselect.settings.config import load

SMALL = {"clients": 6, "selected": 3, "rounds": 2, "method": {"solver": {"steps": 4, "batch": 8}}}
ASIDE = {"data.validation_fraction": 0.25}
TUNE = {**ASIDE, "data.evaluate": "validation"}
NUMBERS = torch.arange(100)
SOURCE = Source("numbered", Examples(NUMBERS, NUMBERS % 4), Examples(NUMBERS + 1000, NUMBERS % 4), 4, None)


def points(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 4
    return rng.normal(size=(count, 6)).astype(np.float32) + 2.5 * np.eye(4, 6, dtype=np.float32)[y], y


TRAIN, TEST = points(240, 1), points(80, 2)
GARBAGE = np.random.default_rng(5).normal(size=TEST[0].shape).astype(np.float32), np.full(80, 77)


def run(data: Any, settings: dict[str, Any], **rest: Any) -> Result:
    return heteroselect.run(SMALL, data=data, settings=settings, threads=1, **rest)


def told(result: Result) -> tuple[Any, ...]:
    """All of a run but the wall time."""
    return result.rounds, {key: value for key, value in result.summary.items() if key != "wall_seconds"}


# Which examples


def test_training_and_validation_share_nothing_and_lose_nothing() -> None:
    found = set_aside(SOURCE, 0.2, "validation", Streams(1))
    assert (len(found.train), len(found.test)) == (80, 20)
    assert sorted([*found.train.x.tolist(), *found.test.x.tolist()]) == list(range(100))
    assert torch.equal(found.train.y, found.train.x % 4)


def test_the_training_part_is_the_same_whatever_is_evaluated_on() -> None:
    tuned, judged = (set_aside(SOURCE, 0.2, what, Streams(1)) for what in ("validation", "test"))
    assert torch.equal(tuned.train.x, judged.train.x)
    assert torch.equal(judged.test.x, SOURCE.test.x)
    other = set_aside(SOURCE, 0.2, "test", Streams(2))
    assert not torch.equal(other.train.x, judged.train.x)
    assert set_aside(SOURCE, 0.0, "test", Streams(1)) is SOURCE


def test_of_a_list_each_client_sets_aside_its_own() -> None:
    parts = [(NUMBERS[:40], NUMBERS[:40]), (NUMBERS[40:60], NUMBERS[40:60]), (NUMBERS[60:61], NUMBERS[60:61])]
    kept, held = set_aside_each(parts, 0.1, Streams(1))
    assert [len(one) for one in kept] == [36, 18, 1]
    assert sum(x < 40 for x in held.x.tolist()) == 4
    assert sorted([*held.x.tolist(), *(x for one in kept for x in one.x.tolist())]) == list(range(61))


# Whole runs


@pytest.mark.parametrize("data", [TRAIN, [points(30 + k, 9 + k) for k in range(6)]], ids=["dealt out", "per client"])
def test_a_test_part_of_garbage_gives_the_same_run(data: Any) -> None:
    first, second = (run(data, TUNE, test=test) for test in (TEST, GARBAGE))
    assert told(first) == told(second)
    assert first.summary["evaluated_on"] == "validation"
    # and the comparison can tell: where the test part is evaluated on, the runs differ
    judged = [run(data, ASIDE, test=test).final_accuracy for test in (TEST, (TEST[0], 3 - TEST[1]))]
    assert judged[0] != judged[1]


def test_so_it_does_in_a_file(tmp_path: Path) -> None:
    runs = []
    for number, (x, y) in enumerate((TEST, GARBAGE)):
        file = tmp_path / str(number) / "mine.npz"
        file.parent.mkdir()
        np.savez(file, x=TRAIN[0], y=TRAIN[1], x_test=x, y_test=y)
        settings = {**TUNE, "data.name": "mine.npz", "data.dir": str(file.parent)}
        runs.append(heteroselect.run(SMALL, settings=settings, threads=1))
    assert told(runs[0]) == told(runs[1])


def test_a_list_that_is_evaluated_on_its_validation_examples_needs_no_test_set() -> None:
    parts = [points(30 + k, 9 + k) for k in range(6)]
    assert told(run(parts, TUNE)) == told(run(parts, TUNE, test=TEST))
    with pytest.raises(HeteroSelectError, match="needs a test set"):
        run(parts, ASIDE)


def test_the_model_of_a_tuned_setting_is_the_same_when_it_is_tested() -> None:
    """Only the evaluation differs: the clients have trained on the same examples."""
    tuned, judged = (run((*TRAIN, *TEST), settings) for settings in (TUNE, ASIDE))
    assert tuned.model_sha256 == judged.model_sha256
    assert tuned.final_accuracy != judged.final_accuracy
    assert run((*TRAIN, *TEST), {}).model_sha256 != judged.model_sha256


# What is wrong


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"data.evaluate": "validation"}, "validation_fraction is more than 0"),
        ({"data.validation_fraction": 1.0}, "data.validation_fraction: allowed is a number ≥ 0 and < 1"),
        ({"data.evaluate": "training"}, "data.evaluate: allowed is test or validation"),
    ],
)
def test_what_cannot_be_is_said(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(HeteroSelectError, match=sentence):
        load("mnist", changes=settings)


def test_one_example_cannot_be_set_aside_and_trained_on() -> None:
    one = Examples(torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64))
    with pytest.raises(HeteroSelectError, match="of one example none can be set aside"):
        set_aside(Source("one", one, one, 1, None), 0.5, "test", Streams(1))
    with pytest.raises(HeteroSelectError, match="no client has two examples"):
        set_aside_each([one, one], 0.5, Streams(1))
