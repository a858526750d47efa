"""Every way of dealing data out keeps what it promises: sizes, classes, no example twice, nobody empty."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from heteroselect.data import partition
from heteroselect.data.partition import Shares
from heteroselect.errors import HeteroSelectError

pytestmark = pytest.mark.slow  # hundreds of partitions

SETTINGS: dict[str, Any] = {
    "classes": 10,
    "fraction": 0.4,
    "absent": 4,
    "alpha": 0.3,
    "shards_per_client": 2,
    "authors": False,
}
DISJOINT = [("dominant", False), ("dominant", True), ("missing", False), ("dirichlet", False)]
DISJOINT += [("iid", False), ("shards", False)]
EVERY = [*DISJOINT, ("missing", True)]
RANDOM = settings(max_examples=60, deadline=None)
COVERING = ("iid", "dirichlet", "shards")


def blocks(classes: int, each: int) -> np.ndarray:
    """Return `each` labels of every class, in an order that is not the classes'."""
    return default_rng(99).permutation(np.repeat(np.arange(classes), each))


def table(shares: Shares, labels: np.ndarray, classes: int) -> np.ndarray:
    """Count the examples of each class (column) at each client (row)."""
    return np.stack([np.bincount(labels[share], minlength=classes) for share in shares])


def sizes(shares: Shares) -> list[int]:
    return [len(share) for share in shares]


def together(shares: Shares) -> list[int]:
    return sorted(np.concatenate(shares).tolist())


@st.composite
def small_worlds(draw: st.DrawFn) -> dict[str, Any]:
    classes = draw(st.integers(1, 6))
    # Few distinct labels among many classes, and classes nobody has, are the cases that break dealing.
    labels = np.array(draw(st.lists(st.integers(0, draw(st.integers(0, classes - 1))), min_size=1, max_size=40)))
    return {
        "labels": labels,
        "clients": draw(st.integers(1, len(labels))),
        "rng": default_rng(draw(st.integers(0, 2**32))),
        "classes": classes,
        "fraction": draw(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))),
        "absent": draw(st.integers(0, classes - 1)),
        "alpha": draw(st.sampled_from([5e-324, 1e-12, 1e-3, 0.1, 1.0, 1e3, 1e300])),
        "shards_per_client": draw(st.integers(1, 4)),
    }


@pytest.mark.parametrize(("rule", "authors"), EVERY)
@RANDOM
@given(world=small_worlds())
def test_nobody_is_empty_and_no_example_goes_to_two_clients(rule: str, authors: bool, world: dict[str, Any]) -> None:
    shares = partition.split(rule=rule, authors=authors, **world)
    assert len(shares) == world["clients"]
    for share in shares:
        assert share.size
        assert share.dtype == np.int64
        assert 0 <= share[0] <= share[-1] < len(world["labels"])
        assert (np.diff(share) > 0).all()  # ascending, and none twice at one client
    everything = together(shares)
    if (rule, authors) in DISJOINT:
        assert len(everything) == len(set(everything))
    if rule in COVERING:
        assert everything == list(range(len(world["labels"])))


@RANDOM
@given(world=small_worlds())
def test_dominant_clients_are_of_equal_size(world: dict[str, Any]) -> None:
    shares = partition.split(rule="dominant", authors=False, **world)
    assert set(sizes(shares)) == {len(world["labels"]) // world["clients"]}


@RANDOM
@given(world=small_worlds())
def test_a_client_misses_the_classes_it_must_and_gets_no_more_than_its_part(world: dict[str, Any]) -> None:
    labels, clients, classes = world["labels"], world["clients"], world["classes"]
    parts = np.maximum(1, np.bincount(labels, minlength=classes) // clients)
    for authors in (False, True):
        counts = table(partition.split(rule="missing", authors=authors, **world), labels, classes)
        assert (counts <= parts).all()
        assert ((counts > 0).sum(axis=1) <= classes - world["absent"]).all()


@pytest.mark.parametrize(("rule", "authors"), EVERY)
def test_the_seed_alone_decides(rule: str, authors: bool) -> None:
    def deal(seed: int) -> list[list[int]]:
        settings = SETTINGS | {"authors": authors}
        shares = partition.split(blocks(10, 40), 8, rule, default_rng(seed), **settings)
        return [share.tolist() for share in shares]

    assert deal(1) == deal(1)
    assert deal(1) != deal(2)


def test_iid_cuts_as_evenly_as_possible() -> None:
    shares = partition.iid(8, 3, default_rng(0))
    assert sizes(shares) == [3, 3, 2]
    assert together(shares) == list(range(8))


def test_one_class_a_client_is_what_a_fraction_of_one_means() -> None:
    labels = np.array([0, 1, 0, 1, 0, 1])
    for seed in range(10):  # whether or not both draw the same class: then one of them is filled with the other
        shares = partition.dominant(labels, 2, 1.0, default_rng(seed), classes=2)
        assert sorted(share.tolist() for share in shares) == [[0, 2, 4], [1, 3, 5]]


def test_the_dominant_share_is_rounded_and_not_cut() -> None:
    labels = blocks(2, 10)
    for seed in range(5):  # 0.78 × 10 = 7.8; with one favourite for both, the fill makes up the other row
        counts = table(partition.dominant(labels, 2, 0.78, default_rng(seed), classes=2), labels, 2)
        assert sorted(counts.tolist()) == [[2, 8], [8, 2]]


def test_a_fraction_of_one_over_classes_favours_no_class() -> None:
    labels = blocks(10, 600)
    shares = partition.dominant(labels, 20, 0.1, default_rng(0), classes=10)
    assert (table(shares, labels, 10) == 30).all()


def test_a_fraction_of_zero_is_iid_and_not_a_missing_class() -> None:
    labels = np.repeat(np.arange(10), 603)  # in order, which must not matter
    counts = table(partition.dominant(labels, 20, 0.0, default_rng(0), classes=10), labels, 10)
    assert (counts.sum(axis=1) == 301).all()
    assert counts.min() > 8  # expected 30, standard deviation 5
    assert 15 < counts.var() < 45  # chance, 27, and not an exactly even hand


@pytest.mark.parametrize(("seed", "overdrawn"), [(0, False), (1, False), (13, True), (24, True)])
def test_dominant_by_hand_for_ten_classes_of_600(seed: int, overdrawn: bool) -> None:
    """20 clients of 300: 120 of the dominant class, 20 of each other, as long as the 600 of a class last."""
    labels = blocks(10, 600)
    counts = table(partition.dominant(labels, 20, 0.4, default_rng(seed), classes=10), labels, 10)
    favourite = default_rng(seed).integers(10, size=20)  # the first thing drawn
    assert (np.bincount(favourite).max() > 5) is np.bool_(overdrawn)
    for c in range(10):
        fans, others = np.sort(counts[favourite == c, c]), counts[favourite != c, c]
        served = min(len(fans), 5)  # 5 × 120 = 600
        assert fans.tolist() == [0] * (len(fans) - served) + [120] * served
        if 120 * len(fans) + 20 * len(others) <= 600:
            assert others.min() >= 20  # more only where another class fell short
        else:
            assert others.sum() == 600 - 120 * served
            assert others.max() - others.min() <= 1


def test_the_remainder_goes_to_random_other_classes_one_each() -> None:
    """1000 clients of 14: 1 dominant, 1 of each of nine others, and one more of four of those nine."""
    labels = blocks(10, 1400)
    counts = table(partition.dominant(labels, 1000, 0.1, default_rng(0), classes=10), labels, 10)
    favourite = default_rng(0).integers(10, size=1000)  # the first thing drawn
    assert (counts[np.arange(1000), favourite] == 1).all()
    # Chance makes a class a few examples short; filling all four at random would leave 46 % as they should be.
    assert (np.sort(counts) == [1] * 6 + [2] * 4).all(axis=1).mean() > 0.9


def test_dominant_classes_are_drawn_uniformly() -> None:
    labels = blocks(4, 1000)
    counts = table(partition.dominant(labels, 400, 0.4, default_rng(3), classes=4), labels, 4)
    drawn = np.bincount(counts.argmax(axis=1), minlength=4)
    assert (np.abs(drawn - 100) < 45).all()  # standard deviation 9, some ties with filled classes


@RANDOM
@given(
    labels=st.lists(st.integers(0, 2), min_size=2, max_size=30),
    favourite=st.lists(st.integers(0, 2), min_size=2, max_size=5),
    seed=st.integers(0, 2**32),
)
def test_the_fill_avoids_the_dominant_class_whenever_that_is_possible(
    labels: list[int], favourite: list[int], seed: int
) -> None:
    size = len(labels) // len(favourite)
    kinds, fans = np.array(labels), np.array(favourite)
    owner = partition._fill(np.full(len(labels), -1), kinds, fans, size, default_rng(seed))
    assert np.bincount(owner[owner >= 0], minlength=len(fans)).tolist() == [size] * len(fans)
    for c in range(3):
        room_elsewhere = len(labels) - size * (fans == c).sum()
        unavoidable = max(0, (kinds == c).sum() - room_elsewhere)
        assert (np.append(fans, -1)[owner][kinds == c] == c).sum() == unavoidable


def test_the_authors_dominant_drawing_by_hand() -> None:
    labels = blocks(2, 6)
    counts = table(partition.dominant_authors(labels, 2, 0.5, default_rng(0), classes=2), labels, 2)
    assert (counts == 3).all()
    # 13 examples, clients of 6, 0.45 × 6 = 2.7: 2 dominant ones and 4 // 2 = 2 of each of two others.
    labels = np.repeat(np.arange(3), [5, 4, 4])
    counts = table(partition.dominant_authors(labels, 2, 0.45, default_rng(0), classes=3), labels, 3)
    assert (counts == 2).all()


def test_the_authors_drawing_starves_late_clients_and_ours_does_not() -> None:
    labels = blocks(10, 600)
    ours, theirs = (
        sizes(draw(labels, 20, 0.4, default_rng(0), classes=10))
        for draw in (partition.dominant, partition.dominant_authors)
    )
    assert ours == [300] * 20
    assert theirs[:3] == [300] * 3
    assert min(theirs[-5:]) < 250
    assert sum(theirs) < 6000


def test_the_authors_draw_the_dominant_class_at_random() -> None:
    labels = blocks(10, 60)
    firsts = [
        table(partition.dominant_authors(labels, 5, 0.4, default_rng(seed), classes=10), labels, 10)[0]
        for seed in range(60)
    ]
    assert {first.max() for first in firsts} == {48}
    assert {int(first.argmax()) for first in firsts} == set(range(10))


def test_the_authors_fraction_of_zero_misses_one_class() -> None:
    labels = blocks(10, 600)
    counts = table(partition.dominant_authors(labels, 20, 0.0, default_rng(0), classes=10), labels, 10)
    assert sorted(counts[0].tolist()) == [0] + [33] * 9


def test_an_empty_client_is_fed_with_something_unused_first() -> None:
    # Nine classes of which only the first has examples, three clients of one example: a client gets its
    # own only if it favours class 0, so most are empty at first, with examples to spare.
    shares = partition.dominant_authors(np.zeros(5, np.int64), 3, 1.0, default_rng(0), classes=9)
    assert sizes(shares) == [1, 1, 1]


def test_an_empty_client_is_fed_by_the_largest_one() -> None:
    # All of the only class goes to one client; the others are given one example each.
    shares = partition.dirichlet(np.zeros(10, np.int64), 4, 1e-12, default_rng(0), classes=1)
    assert sorted(sizes(shares)) == [1, 1, 1, 7]
    assert together(shares) == list(range(10))


def test_missing_by_hand() -> None:
    labels = blocks(3, 5)
    counts = table(partition.missing(labels, 2, 0, default_rng(0), classes=3), labels, 3)
    assert (counts == 2).all()  # 5 // 2 of each class
    counts = table(partition.missing(labels, 2, 2, default_rng(0), classes=3), labels, 3)
    assert np.sort(counts).tolist() == [[0, 0, 2], [0, 0, 2]]  # also where both hold the same class


def test_which_examples_of_a_class_are_dealt_is_random() -> None:
    unused = [
        set(range(5)) - set(together(partition.missing(np.zeros(5, np.int64), 2, 0, default_rng(seed), classes=1)))
        for seed in range(60)
    ]
    assert sorted(map(list, set(map(frozenset, unused)))) == [[0], [1], [2], [3], [4]]


def test_a_class_that_nobody_holds_goes_unused() -> None:
    shares = partition.missing(np.array([0, 1, 0, 1]), 1, 1, default_rng(0), classes=2)
    assert shares[0].tolist() in ([0, 2], [1, 3])


def test_a_class_smaller_than_the_clients_goes_once_each_to_random_holders() -> None:
    labels = np.repeat(np.arange(2), [50, 2])
    rare = sum(
        table(partition.missing(labels, 5, 0, default_rng(seed), classes=2), labels, 2)[:, 1] for seed in range(200)
    )
    assert sum(rare) == 400  # used up
    assert (np.abs(rare - 80) < 35).all()  # standard deviation 7


def test_clients_that_hold_only_classes_without_examples_get_one_example() -> None:
    for seed in range(10):
        shares = partition.missing(np.zeros(3, np.int64), 2, 1, default_rng(seed), classes=2)
        assert sizes(shares) == [1, 1]
        shares = partition.missing_authors(np.zeros(3, np.int64), 2, 1, default_rng(seed), classes=2)
        assert sizes(shares) == [1, 1]


@pytest.mark.parametrize(("draw", "overlap"), [(partition.missing, False), (partition.missing_authors, True)])
def test_cifar100_at_full_size_gives_300_images_a_client(draw: Callable[..., Shares], overlap: bool) -> None:
    labels = blocks(100, 500)
    shares = draw(labels, 100, 40, default_rng(0), classes=100)
    counts = table(shares, labels, 100)
    assert sizes(shares) == [300] * 100
    assert set(counts.ravel().tolist()) == {0, 5}
    assert ((counts > 0).sum(axis=1) == 60).all()
    assert len(np.unique(counts > 0, axis=0)) == 100  # each client misses classes of its own
    distinct = len(np.unique(np.concatenate(shares)))
    # Independent drawing leaves an image out with probability (1 - 0.6 / 100)^100 = 0.548.
    assert distinct == pytest.approx(22_600, rel=0.02) if overlap else distinct == 30_000


def test_dirichlet_proportions_have_the_variance_of_the_distribution() -> None:
    labels = blocks(400, 100)
    for alpha in (0.1, 0.5, 5.0):
        shares = partition.dirichlet(labels, 4, alpha, default_rng(0), classes=400)
        proportions = table(shares, labels, 400) / 100
        # Var p = (1/K)(1 - 1/K) / (K·alpha + 1), mean 1/K
        assert proportions.var() == pytest.approx(0.25 * 0.75 / (4 * alpha + 1), rel=0.1)
        assert proportions.mean(axis=1) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("alpha", [1e-6, 1e-30, 1e-200, 5e-324])
def test_a_tiny_alpha_gives_each_class_to_one_client(alpha: float) -> None:
    labels = blocks(60, 9)
    counts = table(partition.dirichlet(labels, 3, alpha, default_rng(0), classes=60), labels, 60)
    assert (np.sort(counts, axis=0) == [[0], [0], [9]]).all()
    assert counts.sum(axis=1).min() > 60  # and not every class to the same one


def test_a_huge_alpha_is_even_also_where_a_class_has_fewer_examples_than_clients() -> None:
    labels = blocks(4, 100)
    counts = table(partition.dirichlet(labels, 4, 1e9, default_rng(0), classes=4), labels, 4)
    assert (np.abs(counts - 25) <= 1).all()
    small = partition.dirichlet(blocks(50, 3), 10, 1e9, default_rng(0), classes=50)
    assert min(sizes(small)) > 5  # mean 15; rounding in a fixed order gives all to the same few clients


def test_shards_by_hand() -> None:
    labels = blocks(4, 4)
    counts = table(partition.shards(labels, 4, 1, default_rng(0)), labels, 4)
    assert sorted(counts.tolist(), reverse=True) == (4 * np.eye(4, dtype=int)).tolist()
    mixed = set()
    for seed in range(10):
        shares = partition.shards(labels, 4, 2, default_rng(seed))
        counts = table(shares, labels, 4)
        assert sizes(shares) == [4] * 4
        assert set(counts.ravel().tolist()) <= {0, 2, 4}  # two shards of two
        mixed |= set(counts.ravel().tolist())
    assert mixed == {0, 2, 4}
    # 7 examples in 4 shards of 2, 2, 2 and 1
    assert sorted(sizes(partition.shards(np.zeros(7, np.int64), 2, 2, default_rng(0)))) == [3, 4]


def test_shards_are_shuffled_within_a_label() -> None:
    dealt = {partition.shards(np.zeros(6, np.int64), 2, 1, default_rng(seed))[0].tobytes() for seed in range(40)}
    assert len(dealt) > 2  # unshuffled, a client could only get the first or the second half


@pytest.mark.parametrize(("rule", "authors"), EVERY)
def test_split_calls_the_rule_with_its_own_setting(rule: str, authors: bool) -> None:
    labels = blocks(10, 40)
    number = {"dominant": 0.4, "missing": 4, "dirichlet": 0.3}
    if rule == "iid":
        expected = partition.iid(400, 8, default_rng(5))
    elif rule == "shards":
        expected = partition.shards(labels, 8, 2, default_rng(5))
    else:
        draw = getattr(partition, rule + "_authors" * authors)
        expected = draw(labels, 8, number[rule], default_rng(5), classes=10)
    shares = partition.split(labels, 8, rule, default_rng(5), **SETTINGS | {"authors": authors})
    assert all(np.array_equal(a, b) for a, b in zip(shares, expected, strict=True))


@pytest.mark.parametrize(
    ("rule", "wrong", "says"),
    [
        ("missing", {"absent": 10}, r"data\.missing_classes .*0\.\.9.* 10"),
        ("dominant", {"classes": None}, r"data\.partition must be iid.* without a class label"),
        ("shards", {"classes": None}, r"data\.partition must be iid.* without a class label"),
        ("dirichlet", {"classes": 9}, r"labels .*0 to 8.* 0 to 9"),
    ],
)
def test_wrong_settings_are_named(rule: str, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(HeteroSelectError, match=says):
        partition.split(blocks(10, 4), 8, rule, default_rng(0), **SETTINGS | wrong)


@pytest.mark.parametrize(("rule", "authors"), EVERY)
def test_more_clients_than_examples(rule: str, authors: bool) -> None:
    with pytest.raises(HeteroSelectError, match=r"^clients .*1 and the 20 examples.* 21\.$"):
        partition.split(blocks(10, 2), 21, rule, default_rng(0), **SETTINGS | {"authors": authors})


def test_a_setting_of_another_rule_is_not_looked_at() -> None:
    elsewhere = SETTINGS | {"classes": None, "fraction": 7.0, "absent": -1, "alpha": 0.0, "shards_per_client": 0}
    measured = default_rng(1).normal(size=(9, 2))  # targets that are no class numbers
    assert sizes(partition.split(measured, 3, "iid", default_rng(0), **elsewhere)) == [3, 3, 3]
