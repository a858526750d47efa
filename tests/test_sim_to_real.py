"""The study that puts Flower's rounds over real links beside the clock: what it makes of its measurements."""

import ipaddress
import json
import math
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from scripts import ROOT, script

links = script("studies/shaped_links.py")
pytest.importorskip("flwr", reason="Flower is not installed (pip install 'heteroselect[flower]')")
study = script("studies/sim_to_real.py")


def test_the_fixed_cost_is_taken_off_the_client_with_the_slowest_link():
    shaped = [study.Round([11.0, 4.0], 8.0, [1.0, 2.0]), study.Round([6.0, 7.0], 5.0, [2.0, 2.0])]
    found = study.judged([1.0, 3.0, 3.0, 1.0], shaped)
    assert (found["fixed_seconds"], found["fixed_deviation"]) == (2.0, 1.0)
    assert [one["left"] for one in found["rounds"]] == [9.0, 4.5]
    assert [one["error"] for one in found["rounds"]] == [-1.0, 0.5]
    assert found["left_per_predicted"] == pytest.approx(13.5 / 13)
    assert study.judged_again({"case": {}, **found}) == {"case": {}, **found}


@pytest.mark.parametrize("mbps", [[1.0, 1.0], [1.0, 1.1], [1.0, 4.0]])
def test_a_clock_that_is_right_has_no_error_on_average_however_noisy_the_fixed_cost(mbps):
    """The longer of two noisy rounds of 2 ± 1 s would be 0.56 s too long where the links are the same."""
    rng, count = np.random.default_rng(5), 20_000
    costs, fixed = rng.normal(2.0, 1.0, (count, 2)), rng.normal(2.0, 1.0, count)
    shaped = [study.Round([8 / rate + cost for rate, cost in zip(mbps, two, strict=True)], 8.0, mbps) for two in costs]
    found = study.judged(fixed.tolist(), shaped)
    assert abs(fmean(one["error"] for one in found["rounds"])) < 0.05  # five deviations of this mean


def test_the_log_of_a_node_says_when_it_received_and_sent(tmp_path: Path):
    """Questions do not count, and neither does what is between receiving and sending."""
    log = tmp_path / "node.log"
    logs = study.Logs([tmp_path / "absent", log])
    for now, line in (
        (1.0, "INFO : [RUN 7, ROUND 0]\nINFO : Receiving: query message (ID: a)\n"),
        (2.0, "INFO : Received successfully\n"),
        (3.0, "INFO : [RUN 7, ROUND 2]\nINFO : Receiving: train message (ID: b)\n"),
        (4.5, "INFO : Received successfully\n"),
        (9.0, "INFO : [RUN 7, ROUND 2]\nINFO : Sending: train message (ID: c)\nINFO : Sent succ"),
        (13.0, "essfully\n"),
    ):
        with log.open("a") as file:
            file.write(line)
        logs.look(now)
    assert logs.seconds == {(1, 2): 5.5}


def test_a_round_with_an_event_is_no_measurement():
    line = {"round": 1, "events": [], "seconds": 4.0, "selected": [3, 1], "bandwidth_mbps": [1.0, 2.0]}
    assert study.rounds_of({(1, 1): 2.0, (3, 1): 5.0}, [line]) == [study.Round([5.0, 2.0], 4.0, [1.0, 2.0])]
    with pytest.raises(SystemExit, match=r"round 1: .*missing"):
        study.rounds_of({}, [{**line, "events": [{"kind": "missing"}]}])


def test_links_are_those_of_the_simulated_clients(tmp_path: Path):
    case = study.CASES[0]
    loaded = study.settings(case, tmp_path, 3)
    found = study.links_of(loaded)
    assert sorted(link.up for link in found) == sorted(1e6 * rate for rate in case.links())
    assert all(link.down == pytest.approx(study.DOWN * link.up) for link in found)


def test_every_host_has_a_net_of_its_own_in_the_block_for_documentation():
    block = ipaddress.ip_network("192.0.2.0/24")
    hosts = [links.Host(place) for place in range(study.CLIENTS)]
    nets = {ipaddress.ip_interface(f"{host.server}/30").network for host in hosts}
    assert len(nets) == len(hosts)
    assert all(
        net.subnet_of(block) and ipaddress.ip_address(host.own) in net
        for net, host in zip(sorted(nets), hosts, strict=True)
    )
    assert math.isinf(links.Link(1e6).down)


def test_what_was_measured_is_what_the_clock_says_of_these_links():
    """The clock's seconds by hand: a model down, and its update with 27 bytes more up, at the slowest link."""
    for case in json.loads((ROOT / "studies" / "sim_to_real.json").read_text())["cases"]:
        model = 4 * 10 * ((case["case"]["features"] or 28 * 28) + 1)
        for one in case["rounds"]:
            slowest = 1e6 * min(one["mbps"])
            seconds = 8 * model / (study.DOWN * slowest) + 8 * (model + 27) / slowest
            assert one["predicted"] == pytest.approx(seconds, rel=1e-3)
        assert study.judged_again(case) == case, "the figure is what its own samples say"


def test_the_pages_are_what_was_measured():
    found = json.loads(study.OUT.read_text())
    assert study.PAGE.read_text() == study.page(found)
    small, large = (f"{case['left_per_predicted']:.2f} times" for case in found["cases"])
    worlds = (ROOT / "docs" / "worlds.md").read_text()
    assert small in worlds
    assert large in worlds
