"""What the server remembers of its clients."""

from dataclasses import replace

import numpy as np

from heteroselect.core.population import Population, remembered
from heteroselect.core.update import Update


def sparse(*values: float) -> Update:
    return Update.keep(np.array(values, np.float32), np.flatnonzero(values))


def three_clients() -> Population:
    return Population.new(np.array([10, 20, 30]))


def test_of_a_new_population_only_the_sizes_are_known():
    population = three_clients()
    assert len(population) == 3
    assert population.sizes.tolist() == [10, 20, 30]
    assert population.counts.tolist() == population.last_round.tolist() == [0, 0, 0]
    assert np.isnan(population.losses).all()
    assert (population.uploads, population.reports) == ({}, {})


def test_selections_are_counted_and_dated_in_a_new_population():
    before = three_clients()
    first = before.selected(np.array([2, 0]), 1)
    second = first.selected(np.array([2]), 4)
    assert second.counts.tolist() == [1, 0, 2]
    assert second.last_round.tolist() == [1, 0, 4]
    assert (first.counts.tolist(), first.last_round.tolist()) == ([1, 0, 1], [1, 0, 1])
    assert before.counts.tolist() == before.last_round.tolist() == [0, 0, 0]


def test_reports_are_kept_by_name_in_a_new_population():
    first = three_clients().reported_by({1: {"loss": 2.0}})
    second = first.reported_by({1: {"loss": 3.0, "norm": 5.0}, 0: {"norm": 4.0}})
    assert np.array_equal(second.reported("loss"), [np.nan, 3, np.nan], equal_nan=True)
    assert np.array_equal(second.reported("norm"), [4, 5, np.nan], equal_nan=True)
    assert np.array_equal(first.reported("loss"), [np.nan, 2, np.nan], equal_nan=True)
    assert list(first.reports) == ["loss"]
    assert np.isnan(second.reported("nothing")).all()


def test_an_upload_is_remembered_in_half_the_space_and_without_its_codes():
    kept = remembered(sparse(0, 2, 0))
    assert kept.positions.dtype == np.int32
    assert kept.dense().tolist() == [0, 2, 0]
    dense = Update.whole(np.ones(3, np.float32))
    assert remembered(dense).positions is dense.positions  # shared by all dense updates
    assert remembered(dense).values is dense.values


def test_some_clients_keep_their_uploads_and_reports_by_place():
    known = three_clients().reported_by({2: {"loss": 1.5}}).selected(np.array([2]), 7)
    some = replace(known, uploads={2: sparse(3, 0)}).only(np.array([1, 2]))
    assert list(some.uploads) == [1]
    assert some.reported("loss").tolist()[1] == 1.5
    assert (some.counts.tolist(), some.last_round.tolist()) == ([0, 1], [0, 7])
    assert some.sizes.tolist() == [20, 30]


def test_all_in_order_is_the_population_itself_and_another_order_is_not():
    known = replace(three_clients(), uploads={0: sparse(1, 0)})
    assert known.only(np.arange(3)) is known
    turned = known.only(np.array([2, 0, 1]))
    assert turned.sizes.tolist() == [30, 10, 20]
    assert list(turned.uploads) == [1]
