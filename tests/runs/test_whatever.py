"""Whatever is in a file of a run folder: every command that reads it ends well, or with one sentence."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from run_folders import POINTS, write_points

pytestmark = pytest.mark.slow  # they train

COMMANDS = {
    "show": ["show"],
    "figure": ["show", "--figure", "run.svg"],
    "report": ["report"],
    "resume": ["resume"],
    "reclock": ["reclock"],
    "flower": ["flower", "resume"],
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    write_points(place)
    settings = {**POINTS, "rounds": 2, "data.name": str(place / "points.npz")}
    heteroselect.run("mnist", method="fedavg", settings=settings, out=place / "run")
    plan = {"mode": "deploy", "token": "a", "nodes": 2}
    (place / "run" / "flower.json").write_text(json.dumps(plan))
    return place / "run"


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(finished, tmp_path / "run"))


def said(words: list[str], folder: Path) -> str:
    """What a command says against a folder; nothing where it ends well."""
    try:
        found = CliRunner().invoke(app, [*words, str(folder)], catch_exceptions=False)
    except HeteroSelectError as error:
        return str(error)
    assert found.exit_code == 0, found.output
    return ""


@pytest.mark.parametrize("command", COMMANDS)
def test_what_was_written_is_read(folder: Path, command: str) -> None:
    if command == "flower":
        pytest.importorskip("flwr", reason="Flower is not installed")
    assert said(COMMANDS[command], folder) == ""


def signed(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A fingerprint with these fields and the checksum that is right for it."""

    def sign(content: dict[str, Any]) -> dict[str, Any]:
        fields = {key: value for key, value in content.items() if key not in ("version", "sha256")} | changes
        digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        return {"version": content["version"], **fields, "sha256": digest}

    return sign


def given(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {**content, **changes}


READERS = ("show", "figure", "report", "resume")


@pytest.mark.parametrize(
    ("name", "change", "commands"),
    [
        ("fingerprint.json", signed(settings=[]), READERS),
        ("fingerprint.json", signed(parts=["loss"]), READERS),
        ("summary.json", lambda _: {"status": "finished"}, READERS),
        ("summary.json", lambda _: [1], ("show", "figure", "report")),
        ("summary.json", given(metric={"name": "x"}), READERS),
        ("summary.json", given(target="high"), READERS),
        ("flower.json", given(nodes="x"), ("flower",)),
        ("flower.json", given(nodes=10**6), ("flower",)),
        ("flower.json", given(parts=[]), ("flower",)),
        ("flower.json", given(timeout=None), ("flower",)),
        ("flower.json", lambda _: [[]], ("flower",)),
        ("flower.json", lambda _: " " * 5_000_000, ("flower",)),
    ],
)
def test_json_that_no_run_writes_is_one_sentence(
    folder: Path, name: str, change: Callable[[Any], Any], commands: tuple[str, ...]
) -> None:
    if "flower" in commands:
        pytest.importorskip("flwr", reason="Flower is not installed")
    (folder / name).write_text(json.dumps(change(json.loads((folder / name).read_text()))))
    for command in commands:
        assert said(COMMANDS[command], folder), command


@pytest.mark.parametrize("change", [{"accuracy": "good"}, {"accuracy": [1]}, {"bytes_up": None}, {"selected": 3}])
def test_a_line_that_no_run_writes_is_not_drawn(folder: Path, change: dict[str, Any]) -> None:
    """Its digest is right: whoever changes the lines can change the summary, too."""
    lines = [json.loads(text) for text in (folder / "rounds.jsonl").read_text().splitlines()]
    text = "".join(json.dumps({**line, **change}) + "\n" for line in lines)
    (folder / "rounds.jsonl").write_text(text)
    summary = json.loads((folder / "summary.json").read_text())
    summary["rounds_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "summary.json").write_text(json.dumps(summary))
    for command in ("show", "figure", "report"):
        assert "damaged" in said(COMMANDS[command], folder), command
    assert not Path("run.svg").exists()


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\xff" * 8 + b"{}"])
@pytest.mark.parametrize("command", ["resume", "flower"])
def test_a_model_that_cannot_be_read_is_one_sentence(folder: Path, command: str, content: bytes) -> None:
    if command == "flower":
        pytest.importorskip("flwr", reason="Flower is not installed")
    (folder / "model.safetensors").write_bytes(content)
    assert "damaged" in said(COMMANDS[command], folder)
    (folder / "model.safetensors").unlink()
    assert "damaged" in said(COMMANDS[command], folder)


@pytest.mark.parametrize(
    "content",
    [
        'version = 2\nmethod = "x"\n',
        "version = 2\n[method]\nname = 3\n",
        'version = 2\n[method]\nname = "fedavg"\nselect = 1\n',
        'version = 2\nclients = "many"\n[method]\nname = "fedavg"\n',
        'version = "two"\n',
        "clients = 3\n",
        "method = []\n",
    ],
)
@pytest.mark.parametrize("command", ["show", "report", "resume", "flower"])
def test_settings_that_no_run_writes_are_one_sentence(folder: Path, command: str, content: str) -> None:
    if command == "flower":
        pytest.importorskip("flwr", reason="Flower is not installed")
    (folder / "config.toml").write_text(content)
    assert said(COMMANDS[command], folder)


def test_what_is_beside_a_summary_has_to_be_of_its_run(folder: Path) -> None:
    """Without its fingerprint a run would pass for an old one, whose settings nothing vouches for."""
    written = (folder / "fingerprint.json").read_text()
    (folder / "config.toml").write_text((folder / "config.toml").read_text().replace("rounds = 2", "rounds = 3"))
    (folder / "fingerprint.json").unlink()
    for command in READERS:
        assert "fingerprint.json is not there" in said(COMMANDS[command], folder), command
    other = signed(settings={**json.loads(written)["settings"], "rounds": 3})(json.loads(written))
    (folder / "fingerprint.json").write_text(json.dumps(other))
    for command in READERS:
        assert "it is not that of the run" in said(COMMANDS[command], folder), command


def test_a_model_of_another_run_is_not_taken(folder: Path) -> None:
    model = load_file(folder / "model.safetensors")
    save_file({name: value + 1 for name, value in model.items()}, folder / "model.safetensors")
    assert "model.safetensors is not that of the run" in said(COMMANDS["resume"], folder)
    with pytest.raises(HeteroSelectError, match=r"model\.safetensors is not that of the run"):
        heteroselect.read(folder)


@pytest.mark.parametrize("name", ["flower", "memory", "checkpoint"])
def test_a_link_in_a_finished_run_on_flower_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    """What is removed of a run that has finished lies in its folder."""
    pytest.importorskip("flwr", reason="Flower is not installed")
    precious = tmp_path / "precious"
    precious.mkdir()
    for file in ("superlink.db", "processes.json", "thesis.txt"):
        (precious / file).write_text("mine")
    (folder / name).symlink_to(precious)
    assert f"{name} is a link" in said(COMMANDS["flower"], folder)
    assert [file.read_text() for file in precious.iterdir()] == ["mine"] * 3
