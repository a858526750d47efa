"""Bursts from the kernel's counters, and the counters themselves on a real connection."""

import os
import socket
import sys
import threading

import pytest

from heteroselect.engines.flower.uplink import Bursts, Counters, Uplink, counters_to, watch


def play(*looks):
    """Looks at quarters of a second, or from one to another; the bursts that ended."""
    bursts, found = Bursts(), []
    for at, look in looks:
        began, ended = at if isinstance(at, tuple) else (at, at)
        counters = {name: Counters(*counts) for name, counts in look.items()}
        found.append(bursts.look(began / 4, ended / 4, counters))
    return [burst for burst in found if burst]


def test_a_burst_is_its_bytes_over_the_time_some_were_on_their_way():
    looks = [(0, {"a": (500, 0.01)}), (1, {"a": (50_500, 0.26)}), (2, {"a": (100_500, 0.51)})]
    quiet = [(at, {"a": (100_500, 0.51)}) for at in range(3, 10)]
    (burst,) = play(*looks, *quiet)
    assert burst.bits_per_second == pytest.approx(8 * 100_500 / 0.51)
    assert burst.number == 1


def test_polling_is_no_burst_and_connections_side_by_side_share_their_time():
    polls = [(at, {"a": (300 * at, 0.001 * at)}) for at in range(0, 80, 8)]
    assert play(*polls) == []
    both = [(0, {"a": (0, 0.0), "b": (0, 0.0)}), (1, {"a": (40_000, 0.25), "b": (60_000, 0.25)})]
    (burst,) = play(*both, (9, {"a": (40_000, 0.25), "b": (60_000, 0.25)}))
    assert burst.bits_per_second == pytest.approx(8 * 100_000 / 0.25)
    one_by_one = [(0, {"a": (0, 0.0), "b": (0, 0.0)}), (1, {"a": (40_000, 0.1), "b": (60_000, 0.1)})]
    (burst,) = play(*one_by_one, (9, {"a": (40_000, 0.1), "b": (60_000, 0.1)}))
    assert burst.bits_per_second == pytest.approx(8 * 100_000 / 0.2)


def test_counters_that_took_long_to_read_are_of_all_that_time():
    """The thread may have to wait for its turn between the clock and the counters; their time is not cut short."""
    slow = [(0, {"a": (0, 0.0)}), ((1, 5), {"a": (100_000, 1.25)}), ((6, 7), {"a": (120_000, 1.5)})]
    (burst,) = play(*slow, (20, {"a": (120_000, 1.5)}))
    assert burst.bits_per_second == pytest.approx(8 * 120_000 / 1.5)


def test_a_connection_that_closes_ends_its_burst_with_what_was_seen():
    (burst,) = play((0, {}), (1, {"a": (80_000, 0.2)}), (2, {}), (9, {}))
    assert burst.bits_per_second == pytest.approx(8 * 80_000 / 0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="these counters are Linux's")
@pytest.mark.slow
def test_the_kernels_counters_of_a_real_connection(tmp_path):
    """Half a megabyte through a loopback connection is counted to the byte, and written down as a burst."""
    size, path, done = 500_000, tmp_path / "uplink.json", threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as sender, server.accept()[0] as receiver:
            watcher = threading.Thread(target=watch, args=(port, path, done.is_set))
            watcher.start()
            sent = threading.Thread(target=sender.sendall, args=(os.urandom(size),))
            sent.start()
            left = size
            while left:
                left -= len(receiver.recv(65536))
            sent.join()
            (counters,) = counters_to(port).values()
            for _ in range(200):
                if path.exists():
                    break
                done.wait(0.1)
            done.set()
            watcher.join()
    assert counters.acked - 1 <= size <= counters.acked + 65536  # the last acknowledgement may be on its way
    assert counters.busy >= 0
    assert Uplink.read(path).number == 1
    assert Uplink.read(path).bits_per_second > 1e6


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"bits_per_second": "fast", "number": 1}'])
def test_a_file_that_says_nothing_is_no_measurement(tmp_path, text):
    (tmp_path / "uplink.json").write_text(text)
    assert Uplink.read(tmp_path / "uplink.json") is None
    assert Uplink.read(tmp_path / "absent") is None
