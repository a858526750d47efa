"""Links from a trace: transfers across changes of rate, and the files they are read from."""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.worlds import digests_of
from heteroselect.settings.world import WorldSettings
from heteroselect.world import (
    DrawnWorld,
    Links,
    LinkTrace,
    Rates,
    TracedLinks,
    read,
    read_devices,
    read_intervals,
    read_link_trace,
    typical,
)

SLOW_THEN_FAST = Rates(np.array([0.0, 4]), np.array([1e6, 3e6]), 8.0)
OUTAGE_AT_BOTH_ENDS = Rates(np.array([0.0, 2, 4]), np.array([0, 1e6, 0]), 10.0)


def no_losses():
    raise AssertionError("an unstressed world has no use for losses")


@pytest.mark.parametrize(
    ("rates", "megabits", "start", "expected"),
    [
        (SLOW_THEN_FAST, 10, 0, 4 + 2),
        (SLOW_THEN_FAST, 10, 2, 2 + 8 / 3),
        (SLOW_THEN_FAST, 3, 1, 3),
        (SLOW_THEN_FAST, 16, 0, 8),  # a whole period, exactly
        (SLOW_THEN_FAST, 17, 0, 9),  # and on from its beginning
        (SLOW_THEN_FAST, 5, 7, 1 + 2),
        (SLOW_THEN_FAST, 5, 8007, 1 + 2),
        (SLOW_THEN_FAST, 3 * 16 + 5, 7, 3 * 8 + 1 + 2),
        (SLOW_THEN_FAST, 0, 5, 0),
        (OUTAGE_AT_BOTH_ENDS, 1, 0, 3),
        (OUTAGE_AT_BOTH_ENDS, 2, 0, 4),  # it is there when the outage begins
        (OUTAGE_AT_BOTH_ENDS, 2.5, 0, 12.5),
        (OUTAGE_AT_BOTH_ENDS, 1, 7, 6),
    ],
)
def test_a_transfer_by_hand(rates, megabits, start, expected):
    assert rates.seconds(megabits * 1e6, start) == pytest.approx(expected)


@pytest.mark.parametrize(("second", "megabits"), [(0, 1), (3.9, 1), (4, 3), (7.9, 3), (8, 1), (20, 3)])
def test_the_rate_of_a_second(second, megabits):
    assert SLOW_THEN_FAST.at(second) == megabits * 1e6


@given(
    st.lists(st.floats(1e3, 1e7), min_size=1, max_size=6),
    st.floats(0, 50),
    st.floats(0, 1e8),
    st.floats(0, 1e8),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_one_transfer_takes_as_long_as_its_two_parts_after_each_other(bits, start, first, second):
    rates = Rates(np.arange(len(bits)) * 2.0, np.array(bits), len(bits) * 2.0)
    before = rates.seconds(first, start)
    both = before + rates.seconds(second, start + before)
    assert rates.seconds(first + second, start) == pytest.approx(both, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("starts", "bits", "period"),
    [([], [], 1), ([1], [1], 2), ([0, 1], [1], 2), ([0, 0], [1, 1], 2), ([0, 2], [1, 1], 2), ([0], [0], 1)]
    + [([0], [bad], 1) for bad in (-1, np.nan, np.inf)],
)
def test_impossible_rates_are_refused(starts, bits, period):
    with pytest.raises(ValueError, match="allowed"):
        Rates(np.array(starts, float), np.array(bits, float), period)


def test_clients_share_the_links_of_a_trace_each_with_its_own_offset():
    other = Rates(np.array([0.0]), np.array([2e6]), 1.0)
    trace = LinkTrace((SLOW_THEN_FAST, other), offset=2.0)
    assert trace.rates(trace.up, 5, 0.0).tolist() == [1e6, 2e6, 3e6, 2e6, 1e6]
    assert trace.up_seconds(2, 4e6, 3.0) == pytest.approx(1 + 1)  # at second 7 of its trace: 3 Mb in 1 s, 1 Mb in 1 s
    assert trace.up_seconds(1, 4e6, 3.0) == 2


def test_a_traced_world_replaces_the_links_and_nothing_else():
    inner, streams = DrawnWorld(), Streams(3)
    plain = inner.conditions(2, 5.0, 4, no_losses, streams)
    traced = TracedLinks(inner, LinkTrace((SLOW_THEN_FAST,))).conditions(2, 5.0, 4, no_losses, streams)
    assert traced.up.tolist() == [3e6] * 4
    assert traced.down.tolist() == plain.down.tolist()
    assert traced.step_seconds.tolist() == plain.step_seconds.tolist()
    ids = np.array([3, 1])
    assert_allclose(traced.up_seconds(ids, np.array([10e6, 9e6]), 5.0), [3 + 1, 3])
    assert_allclose(traced.down_seconds(ids, 9e6, 5.0), 9e6 / plain.down[ids])


def test_a_trace_may_have_downlinks_too():
    world = TracedLinks(DrawnWorld(), LinkTrace((SLOW_THEN_FAST,), (OUTAGE_AT_BOTH_ENDS,)))
    found = world.conditions(1, 5.0, 2, no_losses, Streams(3))
    assert (found.down == 1e3).all()  # an outage, by which a part may still divide
    assert_allclose(found.down_seconds(np.array([1]), 1e6, np.array([5.0])), [8])


def test_what_a_part_is_told_of_some_clients_is_the_present_only():
    world = TracedLinks(DrawnWorld(), LinkTrace((SLOW_THEN_FAST,)))
    some = world.conditions(1, 0.0, 4, no_losses, Streams(3)).only(np.array([2]))
    assert some.transfers is None
    assert some.up.tolist() == [1e6]


def test_the_typical_link_of_a_trace_is_its_mean_over_time():
    world = TracedLinks(DrawnWorld(Links(8, 9)), LinkTrace((SLOW_THEN_FAST, OUTAGE_AT_BOTH_ENDS)))
    link, step = typical(world, 2, Streams(1))
    assert link == pytest.approx((2e6 + 0.2e6) / 2)
    assert step == DrawnWorld().devices.mean


def written(folder, text):
    path = folder / "trace.csv"
    path.write_text(text)
    return path


def test_a_file_of_one_link_for_all(tmp_path):
    trace = read_link_trace(written(tmp_path, "second,up_mbps\n100,1\n104,3\n"), offset=1.0)
    assert trace.down == ()
    assert trace.offset == 1
    assert trace.up[0].starts.tolist() == [0, 4]
    assert trace.up[0].period == 8
    assert trace.up_seconds(0, 10e6, 0.0) == 6


def test_a_file_of_links_by_client_with_downlinks(tmp_path):
    text = "operator,client,second,up_mbps,down_mbps\na,7,0,1,5\nb,2,0,2,0\nb,2,1,4,6\n\na,7,3,1,5\n"
    trace = read_link_trace(written(tmp_path, text))
    assert [rates.bits.tolist() for rates in trace.up] == [[2e6, 4e6], [1e6, 1e6]]
    assert [rates.bits.tolist() for rates in trace.down] == [[0, 6e6], [5e6, 5e6]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: second is missing; allowed are the columns second, up_mbps and perhaps client, down_mbps"),
        ("second,up\n0,1\n", "line 1: up_mbps is missing"),
        ("second,up_mbps\n", "nothing below the header"),
        ("second,up_mbps\n0,1\n1,fast\n", "line 3: up_mbps: allowed is a number of at least 0, not 'fast'"),
        ("second,up_mbps\n0,-1\n", "line 2: up_mbps: allowed is a number of at least 0, not '-1'"),
        ("second,up_mbps\n0,1\n1\n", "line 3: up_mbps: allowed is a number of at least 0, not ''"),
        ("second,up_mbps\n0,1\n0,2\n", "line 3: second: allowed is a number above 0"),
        ("second,up_mbps\n0,0\n1,0\n", "no rate at all"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name_and_line(tmp_path, text, complaint):
    path = written(tmp_path, text)
    with pytest.raises(HeteroSelectError) as found:
        read_link_trace(path)
    assert str(found.value).startswith(str(path))
    assert complaint in str(found.value)


def test_a_file_that_is_absent_is_refused(tmp_path):
    with pytest.raises(HeteroSelectError, match="that can be read"):
        read_link_trace(tmp_path / "none.csv")


def test_what_is_no_file_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for place in (tmp_path / "pipe.csv", Path("/dev/zero")):
        for reading in (read_link_trace, read_intervals, read_devices):
            with pytest.raises(HeteroSelectError, match="it is no file"):
                reading(place)
        with pytest.raises(HeteroSelectError, match=rf"^world\.trace: {place} cannot be read \(it is no file\)"):
            digests_of(WorldSettings(links="trace", trace=str(place)))


def test_a_small_file_that_unpacks_to_far_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "LONGEST", 100_000)
    path = tmp_path / "trace.csv.xz"
    rows = "".join(f"{second},1,{'x' * 10_000}\n" for second in range(100))
    path.write_bytes(lzma.compress(f"second,up_mbps,note\n{rows}".encode(), preset=0))
    assert path.stat().st_size < 10_000
    with pytest.raises(HeteroSelectError, match=r"trace\.csv\.xz: .* \(it has more than 100,000 bytes of text"):
        read_link_trace(path)
    path.write_bytes(lzma.compress(b"second,up_mbps\n0,1\n")[:-20])
    with pytest.raises(HeteroSelectError, match="that can be read"):
        read_link_trace(path)


def test_a_file_that_is_far_too_long_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(10**12)  # without taking room on the disk
    for reading in (read_link_trace, lambda path: digests_of(WorldSettings(links="trace", trace=str(path)))):
        with pytest.raises(HeteroSelectError, match="it has 1,000,000,000,000 bytes, and 64,000,000 are read"):
            reading(tmp_path / "huge.csv")


def test_links_and_offsets_are_dealt_by_seed():
    other = Rates(np.array([0.0]), np.array([2e6]), 1.0)
    trace = LinkTrace((SLOW_THEN_FAST, other), (other, SLOW_THEN_FAST))
    dealt, again, seed = (trace.dealt(5, Streams(one)) for one in (1, 1, 2))
    assert dealt == again
    assert dealt.offsets != seed.offsets
    assert sum(link is other for link in dealt.up) in (2, 3)
    for k in range(5):
        assert dealt.down[k] is (other if dealt.up[k] is SLOW_THEN_FAST else SLOW_THEN_FAST)
        assert 0 <= dealt.offsets[k] < dealt.up[k].period
        assert dealt.up_seconds(k, 7e6, 3.0) == dealt.up[k].seconds(7e6, 3.0 + dealt.offsets[k])
        assert dealt.down_seconds(k, 7e6, 3.0) == dealt.down[k].seconds(7e6, 3.0 + dealt.offsets[k])


def test_links_without_rates_up_are_left_out_and_a_column_may_be_called_trace(tmp_path):
    text = "trace,second,up_mbps,down_mbps\n0,0,1,5\n0,1,2,6\n1,0,,7\n1,1,,8\n2,0,3,9\n"
    trace = read_link_trace(written(tmp_path, text))
    assert [rates.bits.tolist() for rates in trace.up] == [[1e6, 2e6], [3e6]]
    assert [rates.bits.tolist() for rates in trace.down] == [[5e6, 6e6], [9e6]]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("trace,second,up_mbps\n0,0,1\n0,1,\n", "line 3: up_mbps: allowed is a number of at least 0, not ''"),
        ("second,up_mbps,down_mbps\n0,1,5\n1,1,\n", "line 3: down_mbps: allowed is a number of at least 0, not ''"),
        ("second,up_mbps,down_mbps\n0,,5\n", "there is no rate up in it"),
    ],
)
def test_a_gap_in_a_link_is_refused(tmp_path, text, complaint):
    with pytest.raises(HeteroSelectError) as found:
        read_link_trace(written(tmp_path, text))
    assert complaint in str(found.value)


def test_measured_files_are_read_as_they_are(shared):
    """Of 28 links those with rates up, of which the first has 0.923 Mb/s on average; and 100 clients' intervals."""
    traces = shared / "data" / "traces"
    if not traces.is_dir():
        pytest.skip("there are no measured traces")
    links = read_link_trace(traces / "links.csv.xz")
    assert (len(links.up), len(links.down)) == (6, 6)
    assert links.up[0].period == 786
    assert links.up[0].mean / 1e6 == pytest.approx(0.923, abs=5e-4)
    there = read_intervals(traces / "availability.csv.xz")
    assert there.known == 100
    hours = [there.at(3600.0 * hour, 100)[0].mean() for hour in range(0, 168, 6)]
    assert 0.6 < np.mean(hours) < 0.9, "each is online 44 to 97 % of the time"
