"""A user's data in every form that is allowed, and a sentence for each that is not."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import Dataset, TensorDataset

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples, Pixels, Source
from heteroselect.data.federation import deal
from heteroselect.data.own import examples, own_federation, own_source
from heteroselect.errors import HeteroSelectError

STREAMS = Streams(0)
X = np.arange(12, dtype=np.float64).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])
PICTURES = np.arange(6 * 12, dtype=np.uint8).reshape(6, 3, 2, 2)
RULE: dict[str, Any] = {
    "rule": "iid",
    "fraction": 0.4,
    "absent": 0,
    "alpha": 0.5,
    "shards_per_client": 2,
    "authors": False,
}


class Squares(Dataset[tuple[Tensor, int]]):
    """A data set of the user's own: (i, i²) and whether i is odd."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, i: int) -> tuple[Tensor, int]:
        return torch.tensor([i, i * i], dtype=torch.float64), i % 2


# One data set


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        (torch.from_numpy(X), torch.from_numpy(Y)),
        (X.tolist(), Y.tolist()),
        {"x": X, "y": Y, "note": "more keys do no harm"},
        TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)),
        list(zip(X, Y, strict=True)),
    ],
    ids=["arrays", "tensors", "lists", "mapping", "TensorDataset", "list of pairs"],
)
def test_every_form_gives_the_same_examples(data: Any) -> None:
    found = examples(data, "data")
    assert found.x.tolist() == X.tolist()
    assert found.y.tolist() == Y.tolist()
    assert (found.x.dtype, found.y.dtype) == (torch.float32, torch.int64)


def test_a_data_set_of_the_users_own() -> None:
    found = examples(Squares(), "data")
    assert found.x.tolist() == [[0, 0], [1, 1], [2, 4], [3, 9], [4, 16]]
    assert found.y.tolist() == [0, 1, 0, 1, 0]
    assert (found.x.dtype, found.y.dtype) == (torch.float32, torch.int64)


def test_examples_are_taken_as_they_are() -> None:
    ready = Examples(torch.zeros(2, 3), torch.zeros(2))
    assert examples(ready, "data") is ready


@pytest.mark.parametrize(
    ("x", "y", "dtypes"),
    [
        (PICTURES, Y.astype(np.uint8), (torch.uint8, torch.int64)),
        (PICTURES[:, 0, 0], Y, (torch.float32, torch.int64)),  # bytes that are no picture
        (X.astype(np.float16), Y / 2, (torch.float32, torch.float32)),
        (X.astype(np.int32), Y > 0, (torch.int64, torch.int64)),  # token numbers stay whole
    ],
    ids=["images", "bytes", "half", "whole numbers"],
)
def test_what_becomes_of_inputs_and_targets(x: np.ndarray, y: np.ndarray, dtypes: tuple[torch.dtype, ...]) -> None:
    found = examples((x, y), "data")
    assert (found.x.dtype, found.y.dtype) == dtypes
    assert found.y.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((X, Y[:5]), "x and y must be of the same length, one or more, not 6 and 5"),
        ((X[:0], Y[:0]), ".*not 0 and 0"),
        *((data, "hand over") for data in (None, 7, [], [X, Y], [1, 2, 3], (X, Y, X), (3, 4), {"x": X, "labels": Y})),
        ((np.array(["a"]), Y[:1]), "hand over"),
    ],
)
def test_a_mistake_is_named(data: Any, words: str) -> None:
    with pytest.raises(HeteroSelectError, match=f"^data: {words}"):
        examples(data, "data")


# Arrays to be dealt out


def test_arrays_with_a_test_part() -> None:
    for data, test in (((X, Y, X[:2], Y[:2]), None), ((X, Y), (X[:2], Y[:2])), ((X, Y, X, Y), (X[:2], Y[:2]))):
        source = own_source(data, test, 0.5, STREAMS)
        assert source.train.x.tolist() == X.tolist()
        assert source.test.x.tolist() == X[:2].tolist()
        assert source.test.y.tolist() == Y[:2].tolist()
        assert source.classes == 3
        assert source.pixels is None


@pytest.mark.parametrize(("fraction", "held"), [(0.2, 20), (0.5, 50), (0.001, 1), (0.999, 99)])
def test_without_a_test_part_some_are_held_out(fraction: float, held: int) -> None:
    x, y = np.arange(100.0).reshape(100, 1), np.arange(100) % 10
    source = own_source((x, y), None, fraction, STREAMS)
    assert (len(source.train), len(source.test)) == (100 - held, held)
    both = torch.cat([source.train.x, source.test.x]).flatten()
    assert sorted(both.tolist()) == x.flatten().tolist(), "each example once"
    assert (torch.cat([source.train.y, source.test.y]) == both % 10).all(), "x and y stay together"


@pytest.mark.parametrize("test", [(X[:, :1], Y), (X.astype(int), Y), (X, Y / 2)], ids=["shape", "inputs", "targets"])
def test_a_test_part_of_another_kind_is_refused(test: Any) -> None:
    with pytest.raises(HeteroSelectError, match=r"^test: its [xy] "):
        own_source((X, Y), test, 0.2, STREAMS)


def test_a_class_may_occur_in_the_test_part_alone() -> None:
    assert own_source((X, Y, X, Y + 4), None, 0.2, STREAMS).classes == 7


@pytest.mark.parametrize("y", [Y / 2, np.stack([Y, Y], 1)], ids=["numbers", "several"])
def test_targets_that_are_no_classes(y: np.ndarray) -> None:
    assert own_source((X, y), None, 0.5, STREAMS).classes is None


def test_a_source_is_taken_as_it_is() -> None:
    source = own_source((X, Y), None, 0.5, STREAMS)
    assert own_source(source, None, 0.1, STREAMS) is source


@pytest.mark.parametrize("data", [X, (X,), (X, Y, X), "mnist", Squares()])
def test_data_of_another_form_is_refused_with_those_allowed(data: Any) -> None:
    with pytest.raises(HeteroSelectError, match=r"data: hand over \(x, y\), \(x, y, x_test, y_test\), a list"):
        own_source(data, None, 0.2, STREAMS)


# One data set a client


def test_a_list_of_data_sets_is_one_a_client() -> None:
    parts = [(X, Y), {"x": X[:2], "y": Y[:2]}, Squares()]
    assert len(own_federation(parts, Squares()).test) == 5
    federation = own_federation(parts, (X[:3], Y[:3] + 4))
    assert federation.name == "own"
    assert [len(part) for part in federation.clients] == [6, 2, 5]
    assert federation.clients[1].x.tolist() == X[:2].tolist()
    assert federation.clients[2].y.tolist() == [0, 1, 0, 1, 0]
    assert federation.test.y.tolist() == [4, 5, 6]
    assert (federation.classes, federation.pixels, federation.shape) == (7, None, (2,))


def test_a_list_of_images_stays_bytes() -> None:
    federation = own_federation([(PICTURES, Y)] * 2, (PICTURES, Y))
    assert all(part.x.dtype == torch.uint8 for part in federation.clients)
    assert federation.pixels == Pixels((0.5,) * 3, (0.5,) * 3, augment=False)
    assert federation.shape == (3, 2, 2)
    source = own_source((PICTURES, Y), None, 0.5, STREAMS)
    assert (source.train.x.dtype, source.pixels) == (torch.uint8, federation.pixels)


@pytest.mark.parametrize(
    ("data", "test", "words"),
    [
        ([], (X, Y), "data: a list of per-client data sets must have one or more"),
        ([(X, Y)], None, "test: a list of per-client data sets needs a test set"),
        ([(X, Y), (X, Y[:2])], (X, Y), r"data\[1\]: x and y must be of the same length"),
        ([(X, Y)], (X, Y[:2]), "test: x and y must be of the same length"),
        ([(X, Y), (X * np.nan, Y)], (X, Y), r"data\[1\]: x holds a value that is not finite"),
        ([(X, Y), (X, Y + np.inf)], (X, Y), r"data\[1\]: y holds a value that is not finite"),
        ([(X, Y), (X[:, :1], Y)], (X, Y), r"data\[1\]: its x"),
        ([(X, Y)], (X[:, :1], Y), "test: its x"),
        ([(PICTURES, Y), (PICTURES / 255, Y)], (PICTURES, Y), r"data\[1\]: its x"),
    ],
)
def test_a_mistake_in_a_list_is_named(data: Any, test: Any, words: str) -> None:
    with pytest.raises(HeteroSelectError, match=f"^{words}"):
        own_federation(data, test)


def test_a_single_example_cannot_be_held_out_and_trained_on() -> None:
    with pytest.raises(HeteroSelectError, match="data: one example cannot be held out"):
        own_source((X[:1], Y[:1]), None, 0.2, STREAMS)


# Dealing out


def source(pixels: Pixels | None) -> Source:
    x = torch.arange(40, dtype=torch.uint8).view(40, 1, 1, 1)
    train = Examples(x, torch.arange(40) % 4)
    return Source("numbers", train, Examples(x[:8], torch.arange(8) % 4), 4, pixels)


def test_deal_gives_every_client_its_share() -> None:
    given = source(None)
    federation = deal(given, 5, STREAMS, augment=True, **RULE)
    assert (federation.name, federation.classes, federation.pixels) == ("numbers", 4, None)
    assert federation.test is given.test
    assert [len(part) for part in federation.clients] == [8] * 5
    values = torch.cat([part.x for part in federation.clients]).flatten()
    assert sorted(values.tolist()) == list(range(40))
    assert torch.equal(torch.cat([part.y for part in federation.clients]), values.long() % 4)
    assert federation.clients[0].x.dtype == torch.uint8


def test_deal_goes_by_the_seed_and_the_rule() -> None:
    def parts(seed: int, **change: Any) -> list[list[int]]:
        dealt = deal(source(None), 4, Streams(seed), augment=True, **(RULE | change))
        return [part.y.tolist() for part in dealt.clients]

    assert parts(1) == parts(1)
    assert parts(1) != parts(2)
    assert all(len(set(labels)) == 1 for labels in parts(1, rule="shards", shards_per_client=1))


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_images_are_cropped_where_both_source_and_settings_allow_it(allowed: bool, asked: bool) -> None:
    federation = deal(source(Pixels((0.5,), (0.5,), augment=allowed)), 2, STREAMS, augment=asked, **RULE)
    assert federation.pixels == Pixels((0.5,), (0.5,), augment=allowed and asked)
