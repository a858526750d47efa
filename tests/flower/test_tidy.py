"""What a run on Flower leaves in its folder is removed, and nothing else."""

from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is not installed")

from heteroselect.flower.memory import forget
from heteroselect.flower.processes import tidy

OURS = [
    *("home/config.toml", "home/apps/x/y.py", "app/pyproject.toml", "keys/server.key", "keys/supernode-0.pub"),
    *("superlink.db", "superlink.db-wal", "supernode-11.log", "supernode-0.uplink", "processes.json", "error"),
    *("error.log", "server.pid", ".processes.json.partial"),
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
    (tmp_path / "work" / "home" / "link").symlink_to(tmp_path / "outside")
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
