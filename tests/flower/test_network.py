"""Real links: network namespaces on this machine, joined by virtual cables of 0.5, 1 and 2 Mb/s (make test-network).

The hosts are the test's own and nothing leaves them; they have addresses of the block for documentation.
"""

import time
from pathlib import Path

import numpy as np
import pytest

from heteroselect.flower.plan import ERROR, Plan
from heteroselect.flower.processes import Flower
from heteroselect.runs.api import settings_of
from heteroselect.runs.folder import RunFolder, finished, read_rounds
from heteroselect.settings.config import to_toml
from scripts import script

pytestmark = [pytest.mark.flower, pytest.mark.slow, pytest.mark.network]

MBPS = [0.5, 1.0, 2.0]
FEATURES = 26_000  # × 10 classes × 4 bytes: 17 s at 0.5 Mb/s
links = script("studies/shaped_links.py")


def test_links_are_measured_and_the_slow_one_is_capped(tmp_path: Path, joined):
    rng = np.random.default_rng(0)
    data = tmp_path / "data.npz"
    np.savez(data, x=rng.normal(size=(90, FEATURES)).astype(np.float32), y=np.arange(90) % 10)
    size = FEATURES * 10 + 10
    changes = {"data.name": str(data), "clients": 3, "selected": 3, "rounds": 4, "data.partition": "iid"}
    changes |= {"method.solver.steps": 2, "method.lr.start": 1e-4, "method.score.batches": 1}
    changes |= {"world.links": "measured", "method.allocate.average": 0.4}
    changes |= {"world.budget_seconds": 3.2}  # eq. 8: 0.5 Mb/s·3.2 s/32N = 0.19, 1 Mb/s: 0.38, 2 Mb/s: 0.77
    config, out, work = settings_of("mnist", changes=changes), tmp_path / "run", tmp_path / "work"
    RunFolder.create(out, to_toml(config)).close()
    work.mkdir()
    hosts = joined(len(MBPS))
    for host, mbps in zip(hosts, MBPS, strict=True):
        links.shape(host, links.Link(mbps * 1e6))
    with Flower(work, listen="0.0.0.0", prefix=links.inside(links.SERVER)) as flower:
        flower.superlink()
        for host in hosts:
            memory = str(tmp_path / f"memory{host.place}")
            settings = {"partition-id": host.place, "num-partitions": 3, "memory": memory}
            flower.supernode(host.name, settings, superlink=host.server, prefix=host.prefix)
        flower.submit(Plan("deploy", "t", 3, timeout=200.0).app(config, out) | {"work": str(work)})
        until = time.monotonic() + 500
        while not finished(out):
            assert not (work / ERROR).exists(), (work / ERROR).read_text()
            assert time.monotonic() < until, "it took too long"
            time.sleep(0.5)
    first, second, *later = read_rounds(out)
    slowest = 8 * first["bytes_up_clients"][first["selected"].index(0)] / (MBPS[0] * 1e6)
    assert slowest >= 15, "payloads too short to tell"
    assert second["bandwidth_mbps"] == [3.0] * 3, "round 2 began before any node could say what it had measured"
    assert len(later) == 2
    for line in later:
        estimates = dict(zip(line["selected"], line["bandwidth_mbps"], strict=True))
        print("round", line["round"], {k: round(estimates[k], 3) for k in sorted(estimates)})
        assert [estimates[place] for place in range(3)] == pytest.approx(MBPS, rel=0.25)
        assert estimates[0] < estimates[1] < estimates[2]
        densities = dict(zip(line["selected"], line["densities"], strict=True))
        print("densities", {k: round(densities[k], 3) for k in sorted(densities)})
        assert densities[0] == pytest.approx(min(estimates[0] * 1e6 * 3.2 / (32 * size), densities[0]))
        assert densities[0] <= 0.19 * 1.25
