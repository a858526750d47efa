"""Worlds beside the paper's on Flower: what is simulated of links, devices and availability is the simulator's."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # whole runs

TRACE = "client,second,up_mbps,down_mbps\n0,0,0.02,1\n0,1,0.005,2\n0,4,0.04,1\n0,5,0,3\n1,0,0.01,1\n1,9,0.1,4\n"
INTERVALS = "client,start,end,period\n" + "".join(f"{k},{k},{k + 4},8\n" for k in range(4))
WORLDS = {
    "phones": {"world.devices": "table", "world.links": "table"},
    "trace": {"world.links": "trace", "world.trace": "links.csv"},
    "who comes and goes": {"world.availability.kind": "file", "world.availability.file": "there.csv"},
    "coupling": {"world.coupling.persistence": 0.8, "world.coupling.links_by_label": 0.5},
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
def test_every_world_gives_the_simulators_rounds(tmp_path, monkeypatch, world, carried):
    monkeypatch.chdir(tmp_path)
    Path("links.csv").write_text(TRACE)
    Path("there.csv").write_text(INTERVALS)
    here = carried(**{"world.charge": "everything", "world.step_seconds_max": 1.0, **world})
    rounds = here.check().rounds
    if "world.availability.kind" in world:
        there = [line["world"]["available"] for line in rounds]
        assert min(there) < here.experiment.config.clients, "the world makes no difference"
        assert any(event["kind"] == "missing" for line in rounds for event in line["events"])
