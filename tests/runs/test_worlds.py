"""Runs in each world: the seconds they take, stopping and going on, and files that may not change in between."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.core.streams import Streams
from heteroselect.data.examples import Examples
from heteroselect.data.federation import Federation
from heteroselect.data.own import own_federation
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.folder import read_rounds
from heteroselect.runs.worlds import most_frequent
from heteroselect.settings.config import load
from heteroselect.world import read_link_trace
from heteroselect.world.note import who_was_there
from run_folders import PowerError, stop

pytestmark = pytest.mark.slow  # they train, draw or start processes

SMALL = {
    "clients": 8,
    "selected": 3,
    "rounds": 5,
    "method.solver.steps": 2,
    "method.solver.batch": 4,
    "simulate.checkpoint_rounds": 1,
}
TRACE = "client,second,up_mbps,down_mbps\n0,0,0.002,1\n0,1,0.0005,2\n0,4,0.004,1\n0,5,0,3\n1,0,0.001,1\n1,9,0.01,4\n"
INTERVALS = "client,start,end,period\n" + "".join(f"{k},{3 * k},{3 * k + 9},20\n" for k in range(4))
WORLDS = {
    "flops": {"world.devices": "flops", "world.gflops_min": 1e-6, "world.gflops_max": 1e-5},
    "table": {"world.devices": "table", "world.links": "table", "world.table": "devices.csv"},
    "phones": {"world.devices": "table", "world.links": "table"},
    "trace": {"world.links": "trace", "world.trace": "links.csv"},
    "day": {"world.availability.kind": "day", "world.availability.period": 10.0},
    "file": {"world.availability.kind": "file", "world.availability.file": "there.csv"},
    "coupling": {
        "world.coupling.persistence": 0.8,
        "world.coupling.links_by_speed": 0.5,
        "world.coupling.links_by_label": 0.5,
        "world.coupling.speed_by_label": -0.5,
    },
}


def points(classes=3, examples=96):
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, examples)
    return (2 * np.eye(classes, 6)[y] + rng.normal(size=(examples, 6))).astype(np.float32), y


def lay_out(place: Path) -> None:
    """The files that worlds and data are read from."""
    (place / "links.csv").write_text(TRACE)
    (place / "there.csv").write_text(INTERVALS)
    rows = "".join(f"{k}e-6,{k},{k}\n" for k in range(1, 9))
    (place / "devices.csv").write_text("gflops,up_mbps,down_mbps\n" + rows)
    x, y = points()
    np.savez(place / "points.npz", x=x, y=y)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)


def run(out=None, world=(), watch=None, model=None, **settings):
    changes = SMALL | {"world.charge": "everything"} | dict(world) | settings
    return heteroselect.run({}, settings=changes, data=points(), model=model, out=out, watch=watch)


KILLED = """
import json, os, random, signal, threading, time
import heteroselect
import heteroselect.runs.api, heteroselect.runs.experiment  # before the fork: a child needs no seconds for its imports

def kill(after):
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGKILL)

def watch(line):
    if line["round"] == 2:
        threading.Thread(target=kill, args=(random.Random(name).uniform(0, 0.03),)).start()
    if line["round"] == 4:
        kill(0)  # it was faster than that

for name, settings in json.load(open("worlds.json")).items():
    child = os.fork()
    if not child:
        heteroselect.run("mnist", settings=settings, out=name, threads=1, watch=watch)
        os._exit(0)
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
STORED = SMALL | {"data.name": "points.npz", "target": 0.5, "world.charge": "everything"}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folders of a run in each world, whose processes were killed at a random moment after the second round."""
    place = tmp_path_factory.mktemp("killed")
    lay_out(place)
    (place / "worlds.json").write_text(json.dumps({name: STORED | world for name, world in WORLDS.items()}))
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=place, capture_output=True, text=True)
    assert ended.stdout.split() == [word for name in WORLDS for word in (name, str(-signal.SIGKILL))], ended.stderr
    return place


@pytest.mark.parametrize("name", WORLDS)
def test_a_run_whose_process_was_killed_goes_on_to_the_same_bits(killed, name):
    whole = heteroselect.run("mnist", settings=STORED | WORLDS[name], out="whole")
    assert 2 <= len((killed / name / "rounds.jsonl").read_bytes().splitlines()) <= 4
    again = heteroselect.resume(killed / name)
    assert again.model_sha256 == whole.model_sha256
    assert read_rounds(killed / name) == read_rounds(Path("whole"))
    assert again.total_seconds == whole.total_seconds > 0


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
def test_each_world_has_a_clock_of_its_own_and_another_for_another_seed(world):
    seconds = [run(world=world, seed=seed).total_seconds for seed in (42, 43)]
    assert len({*seconds, run().total_seconds}) == 3


@pytest.mark.parametrize(
    ("name", "key", "file"),
    [
        ("table", "world.table", "devices.csv"),
        ("trace", "world.trace", "links.csv"),
        ("file", "world.availability.file", "there.csv"),
    ],
)
def test_a_file_that_was_changed_is_refused_and_one_that_was_moved_is_not(name, key, file):
    with pytest.raises(PowerError):
        run("half", WORLDS[name], watch=stop)
    digest = Fingerprint.read(Path("half")).parts[key]
    text = Path(file).read_text()
    Path(file).write_text(text.replace("3", "4"))
    with pytest.raises(HeteroSelectError, match=rf"another experiment \({key}: {digest[:8]} → "):
        heteroselect.resume("half", data=points())
    Path(file).unlink()
    Path("moved.csv").write_text(text)
    again = heteroselect.resume("half", data=points(), settings={key: "moved.csv"})
    assert again.total_seconds == run(world=WORLDS[name] | {key: "moved.csv"}).total_seconds


def test_an_upload_across_a_change_of_rate_by_hand():
    """One client, two steps of a second each, then an upload that is added up millisecond by millisecond."""
    steady = {"world.step_seconds_min": 1.0, "world.step_seconds_max": 1.0, "world.charge": "uplink"}
    one = {"clients": 1, "selected": 1, "rounds": 1}
    Path("links.csv").write_text("second,up_mbps\n0,0.0002\n1,0.0004\n2,0.0001\n")
    result = run(world=WORLDS["trace"] | steady | one | {"method.name": "fedavg"})
    link = read_link_trace("links.csv").dealt(1, Streams(42))
    (line,) = result.rounds
    assert line["bytes_up"] * 8 > 700, "more than a whole period of the trace"
    second, left, step = 2 + link.offsets[0], line["bytes_up"] * 8.0, 1e-3
    begin = second
    while left > 0:
        left -= link.up[0].at(second) * step
        second += step
    assert line["seconds"] == pytest.approx(2 + second - begin, abs=0.02)
    assert line["world"]["compute"] == [2.0]
    assert line["world"]["up"] == [pytest.approx(second - begin, abs=0.02)]


def test_a_client_that_leaves_in_the_middle_is_missing_in_that_round():
    """Both come at second 0. One leaves at second 1, before its two steps of a second each are done."""
    Path("there.csv").write_text("client,start,end,period\n0,0,1,100\n1,0,100,100\n")
    steady = {"world.step_seconds_min": 1.0, "world.step_seconds_max": 1.0, "clients": 2, "selected": 2, "rounds": 2}
    first, second = run(world=WORLDS["file"] | steady).rounds
    assert first["world"]["available"] == 2
    assert [event["kind"] for event in first["events"]] == ["missing"]
    gone = first["events"][0]["client"]
    assert second["selected"] == [1 - gone], "it is away until second 100"
    assert who_was_there(second["world"], 2).tolist() == [1 - gone]
    assert second["events"] == []


def test_the_clock_follows_the_model():
    """FLOPs of a batch of 4 from 6 to 3: 2·2·72; from 6 to 12 to 3: 2·2·288 and 3·2·144."""
    sizes = {
        2 * 2 * 72: lambda: nn.Linear(6, 3),
        2 * 2 * 288 + 3 * 2 * 144: lambda: nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)),
    }
    for world in (WORLDS["flops"], WORLDS["table"]):
        found = {flops: run(world=world, model=model).rounds[0]["world"] for flops, model in sizes.items()}
        (small, first), (large, second) = found.items()
        ratio = np.array(second["step_seconds"]) / np.array(first["step_seconds"])
        assert ratio == pytest.approx([large / small] * 5, rel=1e-3)
    # the table has 1 to 8 thousand operations per second: the median of 288/1000, …, 288/8000
    assert first["step_seconds"][2] == pytest.approx((288 / 4000 + 288 / 5000) / 2, rel=1e-3)


def test_a_note_adds_up_to_the_seconds_of_the_round():
    for world in ({}, WORLDS["trace"], WORLDS["day"]):
        for line in run(world=world).rounds:
            note = line["world"]
            parts = note["waited"] + note["scoring"] + note["training"] + note["calibration"]
            assert parts == pytest.approx(line["seconds"], rel=1e-3)
            sums = np.array(note["down"]) + note["compute"] + note["up"]
            assert sums == pytest.approx(np.array(note["took"]), rel=1e-3)


def test_a_short_table_is_refused():
    with pytest.raises(
        HeteroSelectError, match=r"world.table: allowed is at least a row for each of the 9 clients, not 8"
    ):
        run(world=WORLDS["table"] | {"clients": 9})
    Path("devices.csv").write_text("gflops\n" + "1\n" * 8)
    with pytest.raises(HeteroSelectError, match=r"world.links=table needs a table that has up_mbps or up_kbps"):
        run(world=WORLDS["table"])


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"world.links": "trace"}, "world: trace must be the path of a CSV file"),
        ({"world.availability.kind": "file"}, "world.availability: file must be the path"),
        ({"world.gflops_min": 2.0}, "world.gflops_min: it has no effect while world.devices is streams"),
        ({"world.availability.share": 0.5}, "has no effect while world.availability.kind is always"),
        ({"world.devices": "flops", "world.gflops_min": 99.0}, "gflops_min must be at most gflops_max"),
        (
            {"world.links": "table", "world.stress": "inverse"},
            "stress must be none unless links are drawn; table gives them as they are",
        ),
        ({"world.links": "table", "world.coupling.persistence": 0.5}, "coupling must be 0 unless links is drawn"),
        ({"world.coupling.links_by_speed": 2.0}, "world.coupling.links_by_speed: allowed is a number ≥ -1 and ≤ 1"),
        ({"world.coupling.links_by_speed": 0.9, "world.coupling.links_by_label": 0.9}, "must be at most 1"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(changes, complaint):
    with pytest.raises(HeteroSelectError) as found:
        load("mnist", changes=changes)
    assert complaint in str(found.value)


def test_the_papers_figures_stand_beside_its_own_world_alone():
    assert load("mnist").config.paper
    for world in WORLDS.values():
        assert not load("mnist", changes=world).config.paper


def test_labels_are_the_most_frequent_class():
    x = np.zeros((4, 2), np.float32)
    federation = own_federation([(x, np.array([1, 1, 0, 2])), (x, np.array([2, 2, 2, 0]))], (x, np.array([0, 1, 2, 0])))
    assert most_frequent(federation).tolist() == [1, 2]
    with pytest.raises(HeteroSelectError, match="targets that are class numbers"):
        most_frequent(replace(federation, classes=None))


@pytest.mark.parametrize(
    ("targets", "excess"),
    [
        ([[0, 0, 1, 1], [1, 1, 0, 0]], "1.00"),  # each client's classes tie, and the order would be that of the clients
        ([[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 1, 2]], "1.00"),  # the same class everywhere: (¾ + ¾ + ½) / 3 of ⅔
        ([[[0, 1], [0, 0]], [[0, 0], [0, 2]]], "1.00"),  # next characters: several targets per example
    ],
)
def test_labels_that_tell_no_clients_apart_are_refused(targets, excess):
    clients = [Examples(torch.zeros(len(y), 2), torch.tensor(y)) for y in targets]
    federation = Federation("", clients, clients[0], classes=3, pixels=None)
    with pytest.raises(HeteroSelectError, match=rf"world.coupling: labels need .*; here it is {excess} times"):
        most_frequent(federation)
    skewed = [Examples(torch.zeros(2, 2), torch.tensor([k, k])) for k in range(3)]
    assert most_frequent(replace(federation, clients=skewed)).tolist() == [0, 1, 2]


def test_availability_goes_with_a_world_of_ones_own():
    from heteroselect.world import DrawnWorld

    result = heteroselect.run({}, settings=SMALL | WORLDS["day"], data=points(), world=DrawnWorld())
    assert min(line["world"]["available"] for line in result.rounds) < 8
