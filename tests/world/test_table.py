"""A table of devices: what its columns mean, how clients get theirs, and the table of the extra `phones`."""

import lzma

import numpy as np
import pytest
from numpy.testing import assert_allclose

from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.world import DeviceTable, DrawnWorld, GivenDevices, GivenLinks, read_devices, typical
from heteroselect.world.devices import phones


def test_columns_by_hand(tmp_path):
    path = tmp_path / "devices.csv"
    path.write_text("phone,compute_ms,up_kbps,down_mbps\na,20,500,8\nb,200,1500,16\n")
    found = read_devices(path)
    assert_allclose(found.flops, [0.6e9 / 0.020, 0.6e9 / 0.200])  # 30 and 3 GFLOP/s
    assert_allclose(found.up, [0.5e6, 1.5e6])
    assert_allclose(found.down, [8e6, 16e6])


def test_what_is_not_in_the_table_stays_unknown_and_packed_files_are_read(tmp_path):
    path = tmp_path / "devices.csv.xz"
    path.write_bytes(lzma.compress(b"gflops\n2.5\n"))
    found = read_devices(path)
    assert (found.flops.tolist(), found.up, found.down) == ([2.5e9], None, None)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("phone,model\n1,2\n", "line 1: no column is known; allowed are gflops, compute_ms, up_mbps"),
        ("gflops\n", "nothing below the header"),
        ("gflops\n1\n0\n", "line 3: gflops: allowed is a number above 0"),
        ("gflops\nfast\n", "line 2: gflops: allowed is a number of at least 0, not 'fast'"),
    ],
)
def test_a_table_that_is_wrong_is_refused_by_name_and_line(tmp_path, text, complaint):
    path = tmp_path / "devices.csv"
    path.write_text(text)
    with pytest.raises(HeteroSelectError) as found:
        read_devices(path)
    assert complaint in str(found.value)


def test_rows_are_drawn_by_seed_whole_and_never_twice():
    table = DeviceTable(np.arange(50.0), np.arange(50.0) + 100, np.arange(50.0) + 200)
    first, again, other = (table.drawn(50, Streams(seed)) for seed in (1, 1, 2))
    assert sorted(first.flops.tolist()) == list(range(50))
    assert first.flops.tolist() == again.flops.tolist() != other.flops.tolist()
    assert_allclose(first.up - first.flops, 100)
    assert_allclose(first.down - first.flops, 200)
    assert table.drawn(7, Streams(1)).flops.tolist() == first.flops[:7].tolist()
    with pytest.raises(ValueError, match="at least a row for each of the 51 clients, not 50"):
        table.drawn(51, Streams(1))


def test_the_table_of_its_package():
    table = read_devices(phones())
    assert len(table) == 9242
    # the quantiles that its source has, in Mb/s up and in ms per image
    assert_allclose(np.quantile(table.up, [0.05, 0.5, 0.95]) / 1e6, [0.2109, 18.42, 227.8], rtol=1e-3)
    assert_allclose(np.quantile(0.6e12 / table.flops, [0.05, 0.5, 0.95]), [19, 41, 190])
    assert phones().stat().st_size < 100_000


def test_a_given_world_is_the_same_in_every_round_and_its_middle_is_the_median():
    world = DrawnWorld(GivenLinks(np.array([1e6, 2e6, 9e9])), GivenDevices(np.ones(3)), GivenLinks(np.full(3, 5e6)))
    first, later = (world.conditions(t, 0.0, 3, lambda: np.ones(3), Streams(t)) for t in (1, 9))
    assert first.up.tolist() == later.up.tolist() == [1e6, 2e6, 9e9]
    assert first.down.tolist() == [5e6] * 3
    assert typical(world, 3, Streams(1)) == (2e6, 1.0)
    with pytest.raises(ValueError, match="one number for each of the 2 clients"):
        world.conditions(1, 0.0, 2, lambda: np.ones(2), Streams(1))
