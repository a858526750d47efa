"""Who is available when, who leaves, and when anything changes."""

import lzma
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.world import Availability, DrawnWorld, Intervals, day_cycle, gone, read_intervals, typical

# of 100 s: client 0 from 10 to 30 and from 50 to 60, client 1 over the end of the period, client 2 always, 3 never
SOME = Availability.of([[(50, 60), (10, 30)], [(80, 120)], [(0, 40), (40, 100)], []], 100.0)


def no_losses():
    raise AssertionError("an unstressed world has no use for losses")


def conditions(now, clients=4, availability=SOME):
    return Intervals(DrawnWorld(), availability).conditions(1, now, clients, no_losses, Streams(1))


@pytest.mark.parametrize(
    ("now", "available", "leaves", "changes"),
    [
        (0, [False, True, True, False], [0, 20, math.inf, 0], 10),
        (10, [True, True, True, False], [30, 20, math.inf, 10], 20),
        (29.5, [True, False, True, False], [30, 29.5, math.inf, 29.5], 30),
        (30, [False, False, True, False], [30, 30, math.inf, 30], 50),
        (60, [False, False, True, False], [60, 60, math.inf, 60], 80),
        (90, [False, True, True, False], [90, 120, math.inf, 90], 110),
        (1015, [True, True, True, False], [1030, 1020, math.inf, 1015], 1020),
    ],
)
def test_who_is_there_until_when_and_what_comes_next(now, available, leaves, changes):
    found = conditions(now)
    assert found.available.tolist() == available
    assert found.leaves.tolist() == leaves
    assert found.changes == changes


def test_more_clients_than_the_intervals_know_of_begin_again_with_the_first():
    assert conditions(10, clients=6).available.tolist() == [True, True, True, False, True, True]


@pytest.mark.parametrize("always", [[[(0, 100)]], [[(0, 50), (50, 100)]], [[(30, 90), (90, 130)]]])
def test_where_nobody_ever_leaves_nothing_changes(always):
    found = conditions(17, 2, Availability.of(always, 100.0))
    assert found.available.all()
    assert found.changes == math.inf
    assert (found.leaves == math.inf).all()


def test_where_nobody_ever_comes_nothing_changes():
    found = conditions(17, 2, Availability.of([[], [(5, 5)]], 100.0))
    assert not found.available.any()
    assert found.changes == math.inf


def test_an_interval_that_touches_the_next_over_the_end_of_the_period_goes_on():
    found = conditions(95, 1, Availability.of([[(0, 10), (90, 100)]], 100.0))
    assert found.leaves.tolist() == [110]
    assert found.changes == 110


@given(st.integers(1, 10**6), st.floats(0.1, 1e6), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_time_moves_on_from_change_to_change_and_each_one_changes_something(turn, period, one, other):
    first, last = sorted((one * period * 0.99, other * period * 0.99))
    if last - first < 1e-3 * period:
        return
    availability, now = Availability.of([[(first, last)]], period), turn * period
    state, _, now = availability.at(now, 1)
    for _ in range(4):
        after, _, later = availability.at(now, 1)
        assert later > now
        assert after[0] != state[0]
        state, now = after, later


def test_a_client_that_leaves_before_its_answer_is_there_is_gone():
    # at second 15: client 0 stays for 15 s, client 1 for 5 s, client 2 for good
    ids = np.array([2, 0, 1])
    assert gone(np.array([1e6, 15.0, 5.5]), ids, conditions(15), 15.0) == [False, False, True]
    assert gone(np.array([1e6, 15.1, 5.0]), ids, conditions(15), 15.0) == [False, True, False]
    assert gone(np.array([1.0]), np.array([3]), conditions(15), 15.0) == [True]  # it was not there at all


def test_nobody_is_gone_where_everybody_stays():
    steady = DrawnWorld().conditions(1, 0.0, 4, no_losses, Streams(1))
    assert gone(np.full(2, 1e9), np.array([0, 3]), steady, 0.0) == [False, False]


def test_two_worlds_of_intervals_leave_those_who_are_in_both():
    inner = Intervals(DrawnWorld(), Availability.of([[(0, 15)], [(0, 15)]], 100.0))
    found = Intervals(inner, Availability.of([[(0, 90)], [(5, 90)]], 100.0)).conditions(1, 0, 2, no_losses, Streams(1))
    assert found.available.tolist() == [True, False]
    assert found.leaves.tolist() == [15, 0]
    assert found.changes == 5


def test_only_the_availability_is_replaced():
    plain, found = DrawnWorld().conditions(1, 7.0, 4, no_losses, Streams(1)), conditions(7.0)
    for name in ("up", "down", "step_seconds"):
        assert getattr(found, name).tolist() == getattr(plain, name).tolist()
    assert typical(Intervals(DrawnWorld(), SOME), 4, Streams(1)) == typical(DrawnWorld(), 4, Streams(1))


@pytest.mark.parametrize(
    ("intervals", "period"),
    [
        ([], 10),
        ([[]], 0),
        ([[]], math.inf),
        *(([[wrong]], 10) for wrong in [(-1, 2), (3, 2), (10, 11), (1, 12), (0, math.nan)]),
    ],
)
def test_impossible_intervals_are_refused(intervals, period):
    with pytest.raises(ValueError, match="allowed"):
        Availability.of(intervals, period)


def test_a_file_of_intervals(tmp_path):
    path = tmp_path / "intervals.csv"
    path.write_text("client,start,end\n4,50,60\n1,0,20\n4,10,30\n")
    found = conditions(65, 2, read_intervals(path))  # repeated after 60 s
    assert found.available.tolist() == [True, False]
    assert found.leaves.tolist() == [80, 65]
    assert found.changes == 70
    assert conditions(65, 2, read_intervals(path, period=100)).changes == 100


def test_a_packed_file_with_periods_by_client(tmp_path):
    path = tmp_path / "intervals.csv.xz"
    with lzma.open(path, "wt") as file:
        file.write("client,start_s,end_s,period_s,phone\n1,0,5,10,a\n2,0,5,8,b\n")
    assert conditions(9, 2, read_intervals(path)).available.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "start,end\n0,1\n",
            "line 1: client is missing; allowed are the columns client, start, end and perhaps period",
        ),
        ("client,start,end\n0,5,3\n", "line 2: end: allowed is a number of at least 5, the interval's start, not 3.0"),
        ("client,start,end\n0,5,\n", "line 2: end: allowed is a number of at least 0, not ''"),
        ("client,start,end,period\n0,0,1,9\n0,2,3,8\n", "line 3: period: allowed is 9, as in the client's rows before"),
        ("client,start,end,period\n0,0,11,9\n", "not (0, 11)."),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name_and_line(tmp_path, text, complaint):
    path = tmp_path / "intervals.csv"
    path.write_text(text)
    with pytest.raises(HeteroSelectError) as found:
        read_intervals(path)
    assert str(found.value).startswith(str(path))
    assert complaint in str(found.value)


def test_a_day_by_hand():
    """Each is there for 30 of 100 seconds, and comes in the first 80."""
    found = day_cycle(400, Streams(4), share=0.3, period=100.0, spread=0.8)
    assert (found.ends - found.starts).tolist() == pytest.approx([30.0] * 400)
    assert 0 <= found.starts.min() < 2
    assert 78 < found.starts.max() < 80
    shares = [found.at(second, 400)[0].mean() for second in range(100)]
    assert np.mean(shares) == pytest.approx(0.3, abs=0.01)
    # at second 50 who came from 20 to 50 is there, 30 of 80; at second 0 who comes from 70 to 80 on the day before
    assert shares[50] == pytest.approx(30 / 80, abs=0.06)
    assert shares[0] == pytest.approx(10 / 80, abs=0.06)
    assert [found.at(1000 + second, 400)[0].mean() for second in range(100)] == shares


def test_with_no_spread_all_come_and_go_at_once():
    found = day_cycle(3, Streams(4), share=0.25, period=8.0, spread=0.0)
    assert found.at(1.0, 3)[0].tolist() == [True] * 3
    context, _, changes = found.at(2.5, 3)
    assert (context.tolist(), changes) == ([False] * 3, 8.0)


def test_intervals_are_dealt_by_seed_and_everybodys_before_anybodys_twice():
    known = Availability.of([[(0, 1)], [(2, 3), (5, 6)], []], [10.0, 20.0, 10.0])
    dealt = known.dealt(6, Streams(2))
    assert dealt.known == 6
    for k in range(3):
        assert dealt.starts[dealt.owner == k].tolist() == dealt.starts[dealt.owner == k + 3].tolist()
    assert sorted(dealt.starts[dealt.owner < 3].tolist()) == [0, 2, 5]
    assert sorted(dealt.periods[dealt.owner < 3].tolist()) == [10, 20, 20]
    orders = {tuple(known.dealt(3, Streams(seed)).owner.tolist()) for seed in range(20)}
    assert len(orders) > 1
