"""Claims of clients: what is far beyond the others' is cut and noted, what is merely high is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heteroselect.core.messages import Upload
from heteroselect.round.claims import bounded, bounded_examples, bounded_losses, bounded_reports, bounded_speeds
from heteroselect.world import Event


def upload(client: int, **report: float) -> Upload:
    return Upload(client, b"", 10, report)


def test_a_claim_beyond_ten_medians_is_cut_to_them_and_noted() -> None:
    asked, losses = np.array([3, 5, 8, 9]), np.array([2.0, 1.0, 1e29, 3.0])
    found, events = bounded_losses(asked, losses, 10)
    assert found.tolist() == [2.0, 1.0, 20.0, 3.0]  # the lower one of the two in the middle, 2, times ten
    assert [(event.client, event.kind) for event in events] == [(8, "claim")]
    assert events[0].detail == "its loss of 1e+29 was taken as 20"


@pytest.mark.parametrize(("claimed", "taken"), [(np.nan, 2.0), (np.inf, 20.0), (-np.inf, -20.0), (-1e9, -20.0)])
def test_what_is_no_measurement_is_replaced(claimed: float, taken: float) -> None:
    found, places = bounded(np.array([1.0, 2.0, 3.0, claimed]), 10)
    assert found.tolist() == [1.0, 2.0, 3.0, taken]
    assert places.tolist() == [3]


def test_two_have_no_majority_zeros_are_no_measure_and_zero_cuts_nothing() -> None:
    for values, bound in (([1.0, 1e9], 10), ([0.0, 0.0, 0.0, 5.0], 10), ([1.0, 1.0, 1e9], 0)):
        found, places = bounded(np.array(values), bound)
        assert found.tolist() == values
        assert places.size == 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("others", "bound", "taken"), [([], 10, 0.0), ([4.0], 10, 4.0), ([0.0, -4.0], 10, 4.0), ([1.0, 2.0, 3.0], 0, 2.0)]
)
def test_what_is_no_number_is_replaced_and_noted_of_few_and_without_a_bound(
    wrong: float, others: list[float], bound: float, taken: float
) -> None:
    found, places = bounded(np.array([*others, wrong]), bound)
    assert found.tolist() == [*others, taken]
    assert places.tolist() == [len(others)]
    uploads = {k: upload(k, norm=norm) for k, norm in enumerate([*others, wrong])}
    reports, events = bounded_reports(uploads, bound)
    assert [one.report["norm"] for one in reports.values()] == [*others, taken]
    assert [(event.client, event.kind) for event in events] == [(len(others), "claim")]


@given(
    st.lists(st.floats(0.5, 2.0), min_size=5, max_size=20),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4),
)
def test_a_minority_moves_no_claim_beyond_the_bound_of_the_honest(honest: list[float], lies: list[float]) -> None:
    found, _ = bounded(np.array(honest + lies), 10)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 10 * 2.0 + 1e-9
    assert found[: len(honest)].tolist() == honest


def test_examples_are_whole_numbers_cut_to_ten_medians() -> None:
    sizes, events = bounded_examples(np.array([7, 5, 10**12, 6, 50]), 10)
    assert sizes.tolist() == [7, 5, 70, 6, 50]
    assert sizes.dtype == np.int64
    assert events == [Event(2, "claim", "its number of examples of 1e+12 was taken as 70")]
    assert bounded_examples(np.array([7, 5, 10**12]), 0)[0].tolist() == [7, 5, 10**12]


@pytest.mark.parametrize(("claimed", "taken"), [(1.0, 3e5), (0.0, 3e5), (1e300, 3e7), (4e6, 4e6), (3.1e5, 3.1e5)])
def test_a_link_is_neither_far_slower_nor_far_faster_than_the_others(claimed: float, taken: float) -> None:
    known = {0: 1e6, 1: 3e6, 2: 3e6, 5: 4e6, 4: 9e9}  # client 4 has another measurement now
    found, events = bounded_speeds({4: claimed}, known, 10)
    assert found == {4: pytest.approx(taken)}
    assert [(event.client, event.kind) for event in events] == ([] if claimed == taken else [(4, "claim")])


def test_what_no_link_carries_is_cut_without_others_to_go_by() -> None:
    found, events = bounded_speeds({0: 1.0, 1: 1e300}, {}, 10)
    assert found == {0: 1e3, 1: 1e12}
    assert [event.detail for event in events] == [
        "its uplink of 1 was taken as 1000",
        "its uplink of 1e+300 was taken as 1e+12",
    ]
    assert bounded_speeds({0: 1.0, 1: 1e300, 2: 5e6}, {}, 0)[0] == {0: 1e3, 1: 1e12, 2: 5e6}


def test_reports_are_bounded_by_name_and_invented_names_are_dropped() -> None:
    uploads = {k: upload(k, loss=1.0 + k, norm=0.5) for k in range(4)}
    uploads[4] = upload(4, loss=1e30, norm=0.5, **{f"invented {number}": 1.0 for number in range(1000)})
    found, events = bounded_reports(uploads, 10)
    assert found[4].report == {"loss": 30.0, "norm": 0.5}  # the median of 1, 2, 3, 4 and 1e30 is 3
    assert all(found[k].report == uploads[k].report for k in range(4))
    assert [(event.client, event.kind) for event in events] == [(4, "claim"), (4, "claim")]


def test_shares_of_labels_are_each_clients_own_and_have_to_be_shares():
    told = [{"label0": 1.0}, {"label1": 0.9, "label2": 0.1}, {"label2": 7.0, "label2000": 1.0, "labels": 1.0}]
    uploads = {k: Upload(k, b"", 5, report) for k, report in enumerate(told)}
    found, events = bounded_reports(uploads, 10, labels=True)
    assert [one.report for one in found.values()] == [*told[:2], {"label2": 1.0}]
    assert [event.client for event in events] == [2, 2]
    assert [one.report for one in bounded_reports(uploads, 10)[0].values()] == [{}, {"label2": 0.1}, {"label2": 7.0}]
