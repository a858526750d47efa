"""What a run on Flower writes into its folder stays in there, and is removed with nothing else."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("flwr", reason="Flower is not installed")

from heteroselect.engines.flower.memory import forget
from heteroselect.engines.flower.notes import Notes
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.app import LOG, cut, main
from heteroselect.flower.plan import Plan
from heteroselect.flower.processes import Flower, tidy
from heteroselect.settings.config import load, to_toml

OURS = [
    *("keys/server.key", "keys/supernode-0.pub", "superlink.db", "superlink.db-wal", "supernode-11.log"),
    *("supernode-0.uplink", "processes.json", "error", "error.log", "server.pid", ".processes.json.partial"),
]
THEIRS = ["thesis.txt", "keys/my.key", "app/notes.md", "logs/superlink.log", "my.db"]
MEMORIES = [
    *("supernode-0/0a1b-000003/000001.kept", "0a1b-000003/000002.pending", "0a1b-000003/model.safetensors"),
    "0a1b-000003/.000002.held.partial",
]


def fill(folder: Path, names: list[str]) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def left(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def test_only_our_names_are_removed(tmp_path: Path) -> None:
    fill(tmp_path / "work", OURS)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("mine")
    (tmp_path / "work" / "keys" / "supernode-1").symlink_to(tmp_path / "outside")
    tidy(tmp_path / "work", keep=True)
    assert list((tmp_path / "work").iterdir()) == []
    fill(tmp_path / "work", [*OURS, *THEIRS])
    tidy(tmp_path / "work")
    assert left(tmp_path / "work") == sorted(THEIRS)
    assert (tmp_path / "outside" / "precious").read_text() == "mine"


def test_only_memories_are_forgotten(tmp_path: Path) -> None:
    theirs = ["thesis.txt", "supernode-0/thesis.txt", "0a1b-000003/thesis.txt"]
    fill(tmp_path / "memory", MEMORIES)
    forget(tmp_path / "memory")
    assert not (tmp_path / "memory").exists()
    fill(tmp_path / "memory", [*MEMORIES, *theirs])
    forget(tmp_path / "memory")
    assert left(tmp_path / "memory") == sorted(theirs)


def test_a_folder_that_is_a_link_is_left_alone(tmp_path: Path) -> None:
    fill(tmp_path / "outside", OURS)
    (tmp_path / "work").symlink_to(tmp_path / "outside")
    tidy(tmp_path / "work")
    assert left(tmp_path / "outside") == sorted(OURS)


def test_a_link_in_the_place_of_a_log_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in ("flower.jsonl", "superlink.log", "error.log"):
        (tmp_path / name).symlink_to(precious)
    with pytest.raises(OSError, match="symbolic"):
        Notes(tmp_path / "flower.jsonl").write(1)
    flower = Flower(tmp_path)
    with pytest.raises(HeteroSelectError, match="symbolic"):
        flower.start("superlink", ["true"])
    flower.scratch.rmdir()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("heteroselect.flower.app.prepare", fail)
    plan = Plan("deploy", "a", 1).text
    context: Any = SimpleNamespace(run_config={"work": str(tmp_path), "plan": plan, "config": to_toml(load().config)})
    with pytest.raises(ZeroDivisionError):
        main(None, context)  # type: ignore[arg-type]
    assert "ZeroDivisionError" in (tmp_path / "error.log").read_text()
    assert precious.read_text() == "mine"


@pytest.mark.parametrize("content", ["{", "[]\n", '{"round": "x"}\n', "[" * 100_000 + "\n"])
def test_a_log_of_messages_that_is_damaged_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / LOG).write_text('{"round": 1}\n' + content)
    if content.endswith("\n"):
        with pytest.raises(HeteroSelectError, match=r"flower\.jsonl is damaged"):
            cut(tmp_path / LOG, 1)
    else:  # a line that was torn by a kill
        cut(tmp_path / LOG, 1)
        assert (tmp_path / LOG).read_text() == '{"round": 1}\n'
