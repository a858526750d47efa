"""The commands' errors are one sentence each, before anything is started."""

import json
import sys
import tomllib

import pytest
from typer.testing import CliRunner

from heteroselect import flower
from heteroselect.cli import app
from heteroselect.cli.flower import _config
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.app import _experiment
from heteroselect.flower.keys import digest_of
from heteroselect.flower.plan import Plan
from heteroselect.runs.api import resume, settings_of
from heteroselect.settings.config import to_toml


def run(*words: str) -> None:
    app(list(words), standalone_mode=False)


def test_a_cohort_larger_than_the_clients_becomes_all_of_them():
    assert _config("mnist", None, None, None, clients=3)[0].selected == 3
    assert _config("mnist", None, None, None, clients=30)[0].selected == 10
    assert _config("mnist", None, ["selected=2"], None, clients=3)[0].selected == 2
    assert _config("mnist", None, None, None, clients=None)[0].clients == 100


def test_method_and_parts_of_ones_own_may_be_in_several_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("from heteroselect.round.method import Method\nmine = Method('mine')\n")
    part = "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Double:\n    factor: float = 2.0\n"
    part += "    def step(self, state, aggregate):\n        return {}, self.factor * aggregate\n"
    (tmp_path / "part.py").write_text(part)
    changes = [
        "method.server_optimizer.kind=part.py:Double",
        "method.server_optimizer.factor=3",
        "method.compress.kind=stc",
    ]
    config, own = _config("mnist", "mine.py:mine", changes, None, clients=3)
    assert own == {
        "method": f"{tmp_path}/mine.py:mine",
        "parts": {"method.server_optimizer.kind": f"{tmp_path}/part.py:Double"},
    }
    plan = Plan("deploy", "a", 3, **own)
    assert Plan.of(plan.text) == plan
    monkeypatch.chdir("/")
    here = _experiment(to_toml(config), plan.text)
    assert here.config.method == config.method
    assert (config.method_name, here.method.name) == ("mine", "mine")
    assert (type(here.method.server_optimizer).__name__, here.method.server_optimizer.factor) == ("Double", 3.0)
    for file, key in (("part.py", "method.server_optimizer.kind"), ("mine.py", "--method")):
        text = (tmp_path / file).read_text()
        (tmp_path / file).write_text(text + "# changed\n")
        with pytest.raises(HeteroSelectError, match=rf"{key}: .*{file} has changed since the run began"):
            plan.load(tomllib.loads(to_toml(config)))
        (tmp_path / file).write_text(text)


def test_more_nodes_than_clients_and_simulated_links_that_are_measured_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeteroSelectError, match="--nodes: allowed is at most one for each of the 2 clients"):
        run("flower", "deploy", "mnist", "--nodes", "3", "--clients", "2")
    with pytest.raises(HeteroSelectError, match=r"world.links: there is nothing to measure"):
        run("flower", "simulate", "mnist", "--set", "world.links=measured")
    with pytest.raises(HeteroSelectError, match=r"world.links: there is nothing to measure"):
        run("run", "mnist", "--set", "world.links=measured", "--quiet", "--out", str(tmp_path / "run"))


@pytest.mark.parametrize("command", ["simulate", "deploy"])
def test_a_server_that_does_not_wait_is_refused(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeteroSelectError, match=r"method\.async_mode\.kind: buffer is for the simulator; on Flower"):
        run("flower", command, "mnist", "--method", "fedbuff")
    assert not list(tmp_path.iterdir())


def test_a_run_on_flower_is_resumed_on_flower(tmp_path):
    plan = Plan("deploy", "abc", 3, tls=True, timeout=5.0)
    plan.write(tmp_path)
    assert Plan.read(tmp_path) == plan
    (tmp_path / "config.toml").write_text(to_toml(settings_of("mnist")))
    with pytest.raises(HeteroSelectError, match="`heteroselect flower resume"):
        resume(tmp_path)
    (tmp_path / "flower.json").write_text(json.dumps({"mode": "deploy"}))
    with pytest.raises(HeteroSelectError, match="is damaged"):
        Plan.read(tmp_path)
    with pytest.raises(HeteroSelectError, match="is no run on Flower"):
        run("flower", "resume", str(tmp_path / "absent"))


def test_without_flower_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr", None)
    with pytest.raises(HeteroSelectError, match=r"pip install 'heteroselect\[flower\]'"):
        run("flower", "simulate", "mnist")
    with pytest.raises(HeteroSelectError, match="Flower is not installed"):
        _ = flower.answer
    with pytest.raises(AttributeError):
        _ = flower.nothing


def test_an_interruption_says_how_to_go_on_and_exits_as_the_shell_expects(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("heteroselect.flower.supervise.supervise", interrupted)
    out = tmp_path / "run"
    found = CliRunner().invoke(app, ["flower", "deploy", "mnist", "--out", str(out)])
    assert found.exit_code == 130
    assert f"`heteroselect flower resume {out}` goes on" in found.output


def test_paths_are_whole_because_flowers_processes_work_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.npz", "links.csv"):
        (tmp_path / name).touch()
    world = ["world.links=trace", "world.trace=links.csv"]
    assert _config("mnist", None, world, None)[0].world.trace == str(tmp_path / "links.csv")
    config, _ = _config("mnist", None, ["data.name=mine.npz", "data.dir=."], None, clients=3)
    assert (config.data.name, config.data.dir) == (str(tmp_path / "mine.npz"), str(tmp_path))
    assert _config("mnist", None, ["data.name=cifar10"], None, clients=3)[0].data.name == "cifar10"


@pytest.fixture
def stopped(tmp_path, monkeypatch):
    """The folder of a run on Flower with a part of one's own; the part says when it is loaded."""
    monkeypatch.chdir(tmp_path)
    text = "from heteroselect.parts.aggregate import ServerMomentum\nopen('loaded', 'w').close()\n"
    (tmp_path / "part.py").write_text(text + "\nclass Step(ServerMomentum):\n    pass\n")
    config, own = _config("mnist", None, ["method.server_optimizer.kind=part.py:Step"], None, clients=3)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.toml").write_text(to_toml(config))
    Plan("deploy", "a", 3, **own).write(folder)
    (tmp_path / "loaded").unlink()
    (tmp_path / "part.py").write_text((tmp_path / "part.py").read_text())  # another time stamp: it is loaded anew
    return folder


def test_code_that_only_the_folder_names_is_not_run(stopped):
    with pytest.raises(
        HeteroSelectError, match=r"method\.server_optimizer\.kind: .*part\.py:Step is code of your own; name its"
    ):
        run("flower", "resume", str(stopped))
    assert not (stopped.parent / "loaded").exists()


def test_code_that_is_named_must_be_that_of_the_run(stopped, monkeypatch):
    seen = []
    monkeypatch.setattr("heteroselect.flower.supervise.supervise", lambda *words: seen.append(words) or 1 / 0)
    other = stopped.parent / "other.py"
    other.write_text((stopped.parent / "part.py").read_text() + "# changed\n")
    with pytest.raises(
        HeteroSelectError, match=r"method\.server_optimizer\.kind: .*other\.py has changed since the run began"
    ):
        run("flower", "resume", str(stopped), "--set", f"method.server_optimizer.kind={other}:Step")
    with pytest.raises(ZeroDivisionError):
        run("flower", "resume", str(stopped), "--set", "method.server_optimizer.kind=part.py:Step")
    assert seen[0][2].parts == {"method.server_optimizer.kind": f"{stopped.parent}/part.py:Step"}


def test_where_flower_worked_may_not_be_a_link(stopped, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("mine")
    (stopped / "flower").symlink_to(precious)
    with pytest.raises(HeteroSelectError, match="flower is a link"):
        run("flower", "resume", str(stopped), "--set", "method.server_optimizer.kind=part.py:Step")
    assert (precious / "thesis.txt").read_text() == "mine"


def test_keys_and_an_app_for_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("flower", "keys", "keys", "--server", "192.0.2.1", "--nodes", "2")
    files = ["ca.crt", "node0", "node0.pub", "node1", "node1.pub", "server.key", "server.pem"]
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == files
    with pytest.raises(HeteroSelectError, match="keys: keys is not empty"):
        run("flower", "keys", "keys", "--server", "192.0.2.1")
    with pytest.raises(HeteroSelectError, match="--key: there are 1 for 2 nodes"):
        run("flower", "app", "mnist", "--nodes", "2", "--key", "keys/node0.pub", "--out", "run")
    with pytest.raises(HeteroSelectError, match="--key: keys/node0 is no public key"):
        run("flower", "app", "mnist", "--key", "keys/node0", "--out", "run")
    assert not (tmp_path / "run").exists()
    both = ["--key", "keys/node0.pub", "--key", "keys/node1.pub"]
    run("flower", "app", "mnist", "--nodes", "2", *both, "--rounds", "3", "--out", "run")
    project = tomllib.loads((tmp_path / "run" / "flower" / "app" / "pyproject.toml").read_text())
    settings = project["tool"]["flwr"]["app"]["config"]
    assert settings["keys"].split() == [digest_of(tmp_path / "keys" / f"node{place}.pub") for place in (0, 1)]
    assert (settings["out"], settings["memory"]) == (str(tmp_path / "run"), "")
    assert settings["config"] == (tmp_path / "run" / "config.toml").read_text()
    assert Plan.of(settings["plan"]) == Plan.read(tmp_path / "run")
    with pytest.raises(HeteroSelectError, match="is one of a cluster; `flwr run run/flower/app SUPERLINK`"):
        run("flower", "resume", "run")
