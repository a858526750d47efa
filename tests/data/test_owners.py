"""Natural clients: whose examples go where, by hand and for any owners; own data with owners in every form."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heteroselect.core.streams import Streams
from heteroselect.data.examples import Columns, Examples, Source, hold_out
from heteroselect.data.federation import choose, deal, deal_by_owner, set_aside
from heteroselect.data.own import own_source
from heteroselect.data.sources import load
from heteroselect.errors import HeteroSelectError

STREAMS = Streams(1)
RANDOM = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
NATURAL = Columns(natural=True)


def source(owner: list[int], test: list[int] | None = None) -> Source:
    """Numbered examples of these owners; those of the test part are numbered from 1000."""
    x = torch.arange(len(owner)).view(-1, 1).float()
    train = Examples(x, torch.arange(len(owner)) % 2, torch.tensor(owner))
    mine = list(range(max(owner) + 1)) if test is None else test
    held = Examples(
        1000 + torch.arange(len(mine)).view(-1, 1).float(), torch.zeros(len(mine)).long(), torch.tensor(mine)
    )
    return Source("hand-made", train, held, 2, None, owners=tuple(f"u{k}" for k in range(max(owner) + 1)))


def numbers(examples: Examples | None) -> list[float]:
    return [] if examples is None else sorted(examples.x.flatten().tolist())


def owners_of(examples: Examples) -> list[int]:
    assert examples.owner is not None
    return examples.owner.tolist()


# Who becomes a client


def test_each_owner_is_a_client_with_its_own_examples_in_their_order():
    found = deal_by_owner(source([2, 0, 2, 1, 2, 0]), 3, STREAMS, augment=True, least=1, unseen=0.0)
    assert [part.x.flatten().tolist() for part in found.clients] == [[1, 5], [3], [0, 2, 4]]
    assert found.owners == ("u0", "u1", "u2")
    assert owners_of(found.test) == [0, 1, 2]
    assert all(part.owner is None for part in found.clients)
    assert (found.unseen, found.newcomers) == (None, 0)


def test_small_owners_are_left_out_and_clients_are_numbered_without_them():
    found = deal_by_owner(source([2, 0, 2, 1, 2, 0]), 2, STREAMS, augment=True, least=2, unseen=0.0)
    assert [len(part) for part in found.clients] == [2, 3]
    assert found.owners == ("u0", "u2")
    assert (found.test.x.flatten().tolist(), owners_of(found.test)) == ([1000, 1002], [0, 1])


def test_fewer_clients_than_owners_are_drawn_by_the_seed():
    owners = np.full(40, 5)
    drawn = [choose(owners, 8, Streams(seed), least=1, unseen=0.0)[0].tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] == sorted(set(drawn[0]))
    assert len(drawn[0]) == 8
    assert drawn[0] != drawn[2]


def test_unseen_owners_are_no_clients_and_bring_all_their_examples():
    whole = source([k % 10 for k in range(50)])
    found = deal_by_owner(whole, 8, STREAMS, augment=True, least=1, unseen=0.2)
    kept = {int(name[1:]) for name in found.owners}
    new = set(range(10)) - kept
    assert (len(new), found.newcomers) == (2, 2)
    assert numbers(found.unseen) == sorted([k for k in range(50) if k % 10 in new] + [1000 + k for k in new])
    assert sorted(n for part in found.clients for n in numbers(part)) == [k for k in range(50) if k % 10 in kept]
    assert numbers(found.test) == sorted(1000 + k for k in kept)


@RANDOM
@given(
    sizes=st.lists(st.integers(0, 30), min_size=2, max_size=40).filter(lambda sizes: sum(s > 3 for s in sizes) > 1),
    unseen=st.floats(0, 0.99),
    seed=st.integers(0, 5),
)
def test_clients_and_unseen_are_disjoint_and_large_enough(sizes: list[int], unseen: float, seed: int):
    mine, new = choose(np.array(sizes), None, Streams(seed), least=4, unseen=unseen)
    assert not set(mine) & set(new)
    assert sorted([*mine, *new]) == [k for k, size in enumerate(sizes) if size >= 4]
    assert len(mine) >= 1
    assert bool(len(new)) == bool(unseen)
    fewer, same = choose(np.array(sizes), 1, Streams(seed), least=4, unseen=unseen)
    assert same.tolist() == new.tolist(), "they do not hang on the number of clients"
    assert set(fewer) <= set(mine)


@pytest.mark.parametrize(
    ("clients", "least", "unseen", "sentence"),
    [
        (4, 1, 0.0, "clients: choose at most 3, the owners that have 1 or more examples for training, not 4"),
        (3, 2, 0.0, "clients: choose at most 2, the owners that have 2 or more"),
        (3, 1, 0.3, r"clients: choose at most 2, .* and are not held out \(1 are\), not 3"),
        (1, 4, 0.0, "data.owner_min_examples: no owner has 4 examples for training; choose at most 3"),
        (1, 3, 0.5, "data.unseen_fraction: there is only one owner"),
    ],
)
def test_what_cannot_be_is_said(clients: int, least: int, unseen: float, sentence: str):
    with pytest.raises(HeteroSelectError, match=sentence):
        deal_by_owner(source([2, 0, 2, 1, 2, 0]), clients, STREAMS, augment=True, least=least, unseen=unseen)


def test_data_without_owners_has_no_natural_clients():
    plain = own_source((np.zeros((6, 2)), np.arange(6) % 2), None, 0.2, STREAMS)
    with pytest.raises(HeteroSelectError, match=r"data\.partition: nothing says whose the examples of own are"):
        deal_by_owner(plain, 2, STREAMS, augment=True, least=1, unseen=0.0)


def test_clients_without_any_test_example_are_refused_and_some_without_are_not():
    with pytest.raises(HeteroSelectError, match="none of the clients has a test example"):
        deal_by_owner(source([0, 0, 1, 1, 2], test=[2]), 2, STREAMS, augment=True, least=2, unseen=0.0)
    found = deal_by_owner(source([0, 0, 1, 1], test=[1]), 2, STREAMS, augment=True, least=2, unseen=0.0)
    assert len(found.test) == 1


def test_another_partition_of_the_same_data_forgets_the_owners():
    rule: dict[str, Any] = {"fraction": 0.4, "absent": 0, "alpha": 0.5, "shards_per_client": 2, "authors": False}
    found = deal(source([2, 0, 2, 1, 2, 0]), 2, STREAMS, augment=True, rule="iid", **rule)
    assert found.test.owner is None
    assert all(part.owner is None for part in found.clients)


# What is held out of each


@RANDOM
@given(st.lists(st.integers(0, 5), min_size=2, max_size=60), st.floats(0.01, 0.99), st.integers(0, 3))
def test_each_owner_holds_out_its_share_and_nothing_is_lost(owner: list[int], fraction: float, seed: int):
    whole = Examples(torch.arange(len(owner)), torch.zeros(len(owner)), torch.tensor(owner))
    rest, held = hold_out(whole, fraction, Streams(seed).numpy("test"))
    assert sorted([*rest.x.tolist(), *held.x.tolist()]) == list(range(len(owner)))
    assert [owner[k] for k in rest.x.tolist()] == owners_of(rest)
    assert rest.x.tolist() == sorted(rest.x.tolist())
    for one in set(owner):
        size, out = owner.count(one), owners_of(held).count(one)
        assert out == (0 if size == 1 else min(max(int(np.rint(size * fraction)), 1), size - 1))


def test_validation_examples_are_set_aside_by_each_owner():
    found = set_aside(source([0] * 10 + [1] * 20), 0.2, "validation", STREAMS)
    assert owners_of(found.test) == [0] * 2 + [1] * 4
    assert sorted(numbers(found.train) + numbers(found.test)) == list(range(30))
    with pytest.raises(HeteroSelectError, match="no owner has two examples"):
        set_aside(source([0, 1, 2]), 0.2, "test", STREAMS)


# The digest


def test_the_digest_goes_by_owners_and_is_what_it_was_without():
    one, other = source([0, 1, 0, 1]), source([0, 1, 1, 0])
    assert one.sha256 != other.sha256
    plain = Examples(one.train.x, one.train.y)
    assert plain.sha256 == one.train.plain.sha256 != one.train.sha256
    named = Source("hand-made", one.train, one.test, 2, None, owners=("a", "b"))
    assert named.sha256 != one.sha256


# Own data


def test_a_mapping_has_one_data_set_per_owner():
    data = {name: (np.full((size, 2), size), np.arange(size) % 2) for name, size in {"ann": 5, "bob": 10, 3: 1}.items()}
    found = own_source(data, None, 0.2, STREAMS)
    assert found.owners == ("ann", "bob", "3")
    assert np.bincount(owners_of(found.train)).tolist() == [4, 8, 1]
    assert np.bincount(owners_of(found.test)).tolist() == [1, 2]
    assert found.classes == 2
    assert found.sha256 == own_source(data, None, 0.2, Streams(9)).sha256, "the same for every seed"


def test_a_mapping_may_have_a_test_part_by_owner_or_for_all():
    data = {name: (np.zeros((4, 2)), [0, 1, 0, 1]) for name in "ab"}
    by_name = own_source(data, {"b": (np.ones((1, 2)), [1])}, 0.2, STREAMS)
    assert owners_of(by_name.test) == [1]
    for shared in ((np.ones((3, 2)), [1, 0, 1]), {"x": np.ones((3, 2)), "y": [1, 0, 1]}):
        whole = own_source(data, shared, 0.2, STREAMS)
        assert (whole.test.owner, len(whole.test), len(whole.train)) == (None, 3, 8)


@pytest.mark.parametrize(
    ("data", "test", "sentence"),
    [
        ({}, None, "data: a mapping must have one data set or more"),
        ({"a": (np.zeros((2, 1)), [0, 1]), "b": 3}, None, r"data\['b'\]: hand over"),
        ({"a": (np.zeros((2, 1)), [0, 1]), "b": (np.zeros((2, 3)), [0, 1])}, None, r"data\['b'\]: its x"),
        ({"a": (np.zeros((2, 1)), [0, 1])}, {"c": (np.zeros((2, 1)), [0, 1])}, "test: 'c' has no data to train on"),
        ({"a": (np.zeros((2, 1)), [0, 1])}, {}, "test: a mapping must have one data set or more"),
        ({1: (np.zeros((2, 1)), [0, 1]), "1": (np.zeros((2, 1)), [0, 1])}, None, "two owners have the same name"),
        ({name: (np.zeros((1, 1)), [0]) for name in "ab"}, None, "data: no owner has two examples"),
        ({"x": np.zeros((2, 1)), "y": np.zeros(2)}, None, r"data\['x'\]: hand over"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(data: Any, test: Any, sentence: str):
    with pytest.raises(HeteroSelectError, match=sentence):
        own_source(data, test, 0.2, STREAMS)


def test_arrays_with_owners(tmp_path: Path):
    file = tmp_path / "mine.npz"
    np.savez(file, x=np.arange(12.0).reshape(6, 2), y=[0, 1, 0, 1, 0, 1], owner=[30, 4, 30, 4, 30, 7])
    found = load(str(file), None, columns=NATURAL)
    assert found.owners == ("4", "7", "30")
    assert np.bincount(owners_of(found.train)).tolist() == [1, 1, 2]
    assert load(str(file), None).owners == ()
    assert load(str(file), None).sha256 != found.sha256


def test_arrays_with_owners_in_both_parts(tmp_path: Path):
    file = tmp_path / "mine.npz"
    parts = {"x_train": np.zeros((3, 2)), "y_train": [0, 1, 0], "x_test": np.zeros((2, 2)), "y_test": [1, 1]}
    np.savez(file, **parts, who_train=["b", "a", "b"], who_test=["c", "a"])
    found = load(str(file), None, columns=Columns(owner="who", natural=True))
    assert found.owners == ("a", "b", "c")
    assert (owners_of(found.train), owners_of(found.test)) == ([1, 0, 1], [2, 0])
    np.savez(file, **parts, who_train=["b", "a", "b"])
    assert load(str(file), None, columns=Columns(owner="who", natural=True)).test.owner is None


@pytest.mark.parametrize(
    ("owner", "sentence"),
    [
        ({}, r"data\.owner_column: .*mine\.npz has no array 'owner'"),
        ({"owner": [1, 2]}, r"owner in .* must be one whole number or text an example, 3 of them"),
        ({"owner": [1.5, 2, 3]}, "but it is of type float64"),
        ({"owner": [1, 2, 3]}, "no owner has two examples"),
    ],
)
def test_owners_of_arrays_that_cannot_be_are_refused(owner: dict[str, Any], sentence: str, tmp_path: Path):
    np.savez(tmp_path / "mine.npz", x=np.zeros((3, 2)), y=[0, 1, 0], **owner)
    with pytest.raises(HeteroSelectError, match=sentence):
        load(str(tmp_path / "mine.npz"), None, columns=NATURAL)


TABLE = "owner,height,label,width\nzoe,1.5,cat,2\n\nal,2.5,dog,3\nzoe,3.5,cat,4\nal,4.5,cat,5\n"


def table(tmp_path: Path, text: str) -> str:
    (tmp_path / "mine.csv").write_text(text, encoding="utf-8")
    return str(tmp_path / "mine.csv")


def test_a_table_with_owners(tmp_path: Path):
    found = load(table(tmp_path, TABLE), None, columns=NATURAL, test_fraction=0.5)
    assert (found.owners, found.classes, found.pixels) == (("al", "zoe"), 2, None)
    assert found.whole is not None
    assert found.whole.x.tolist() == [[1.5, 2], [2.5, 3], [3.5, 4], [4.5, 5]]
    assert (found.whole.y.tolist(), owners_of(found.whole)) == ([0, 1, 0, 0], [1, 0, 1, 0])
    assert (len(found.train), len(found.test)) == (2, 2)


def test_the_owner_is_no_input_even_where_nobody_asks_for_it(tmp_path: Path):
    found = load(table(tmp_path, TABLE.replace("zoe", "1").replace("al", "2")), None)
    assert (found.train.x.shape[1], found.owners) == (2, ())
    one = load(table(tmp_path, TABLE), None, columns=Columns(input="width"))
    assert one.whole is not None
    assert one.whole.x.flatten().tolist() == [2, 3, 4, 5]


def test_numbers_are_sorted_as_numbers_and_labels_may_be_any_number(tmp_path: Path):
    text = "owner,x,label\n10,1,0.5\n9,2,1\n10,3,2.5\n9,4,0\n"
    found = load(table(tmp_path, text), None, columns=NATURAL)
    assert (found.owners, found.classes) == (("9", "10"), None)
    whole = load(table(tmp_path, text.replace("0.5", "3").replace("2.5", "1")), None, columns=NATURAL)
    assert whole.classes == 4


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        (
            TABLE,
            Columns(label="kind"),
            r"data\.label_column: .* has no column 'kind'; name one of owner, height, label",
        ),
        (TABLE, Columns(owner="user", natural=True), r"data\.owner_column: .* has no column 'user'"),
        (TABLE, Columns(input="depth"), r"data\.input_column: .* has no column 'depth'"),
        (TABLE.replace("4.5", ""), NATURAL, "column 'height' in .* must hold numbers"),
        (TABLE.replace("4.5", "nan"), NATURAL, "must hold finite numbers"),
        (TABLE + "zoe,1\n", NATURAL, "must have 4 cells in every line, but its example 5 has 2"),
        ("label,x\n", Columns(), "one line or more of examples"),
        ("label,owner\n1,2\n0,2\n", Columns(), "no column for the inputs"),
        ("label,x\n-1,2\n0,2\n", Columns(), "one class number an example, from 0 upwards"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(text: str, columns: Columns, sentence: str, tmp_path: Path):
    with pytest.raises(HeteroSelectError, match=sentence):
        load(table(tmp_path, text), None, columns=columns)
