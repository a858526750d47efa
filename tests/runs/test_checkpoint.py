"""Checkpoints: whole or absent, checked to the byte, and never more than two."""

from pathlib import Path

import numpy as np
import pytest

from heteroselect.errors import FolderError
from heteroselect.runs import checkpoint
from heteroselect.runs.checkpoint import Checkpoints, DamagedError


def arrays(value: float) -> dict[str, np.ndarray]:
    return {"a": np.full(3, value, np.float32), "count": np.array(int(value))}


def filled(folder: Path, rounds: int = 3) -> Checkpoints:
    """After each round the client of its number has changed, and client 0."""
    checkpoints = Checkpoints(folder)
    for t in range(1, rounds + 1):
        clients = {0: arrays(10 * t), t: arrays(t)}
        checkpoints.save(t, arrays(t), clients, clients, {"seconds": t / 2})
    return checkpoints


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    filled(tmp_path)
    again = Checkpoints(tmp_path)
    assert again.rounds() == [3, 2]
    found = again.load(3)
    assert found.facts == {"seconds": 1.5}
    assert found.server["a"].tolist() == [3, 3, 3]
    assert found.server["count"].shape == ()
    assert sorted(found.clients) == [0, 1, 2, 3]
    assert [again.client(k)["a"][0] for k in range(4)] == [30, 1, 2, 3]


def test_the_one_before_still_has_its_own_state(tmp_path: Path) -> None:
    filled(tmp_path)
    again = Checkpoints(tmp_path)
    found = again.load(2)
    assert sorted(found.clients) == [0, 1, 2]
    assert again.client(0)["a"][0] == 20


def test_only_what_two_checkpoints_need_is_left(tmp_path: Path) -> None:
    filled(tmp_path, rounds=5)
    names = sorted(path.name for path in (tmp_path / "checkpoint").iterdir())
    assert [name for name in names if name.startswith("client-000000")] == [
        "client-000000-000004.safetensors",
        "client-000000-000005.safetensors",
    ]
    assert sum(name.startswith("manifest") for name in names) == 2
    assert sum(name.startswith("client") for name in names) == 7


def test_a_users_file_stays_and_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path)
    (checkpoints.folder / "notes.txt").write_text("mine")
    checkpoints.save(4, arrays(4), {}, [], {})
    assert (checkpoints.folder / "notes.txt").read_text() == "mine"
    elsewhere = checkpoints.folder.rename(tmp_path / "elsewhere")
    checkpoints.folder.symlink_to(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    with pytest.raises(FolderError, match="is a link; put the folder itself in its place"):
        checkpoints.save(5, arrays(5), {}, [], {})
    assert sorted(path.name for path in elsewhere.iterdir()) == before


def test_a_client_that_has_not_changed_is_not_written_again(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "checkpoint").glob("client-000001-*")}
    checkpoints.save(4, arrays(4), {0: arrays(40)}, {0}, {})
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "checkpoint").glob("client-000001-*")} == before


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoint").iterdir())


@pytest.mark.parametrize("kind", ["manifest-000003", "server-000003", "client-000000-000003", "client-000001-000001"])
@pytest.mark.parametrize("damage", ["torn", "flipped", "gone", "empty"])
def test_any_damage_is_found(tmp_path: Path, kind: str, damage: str) -> None:
    filled(tmp_path)
    (path,) = (tmp_path / "checkpoint").glob(f"{kind}*")
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "flipped":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "torn" else b"")
    if (kind, damage) == ("manifest-000003", "gone"):
        assert Checkpoints(tmp_path).rounds() == [2]
    else:
        with pytest.raises(DamagedError):
            Checkpoints(tmp_path).load(3)
    if kind != "client-000001-000001":  # which both checkpoints share
        assert Checkpoints(tmp_path).load(2).facts == {"seconds": 1.0}


@pytest.mark.parametrize("stop", range(8))
def test_a_write_that_fails_leaves_the_checkpoints_before_it(tmp_path: Path, monkeypatch, stop: int) -> None:
    """Whichever of its files is the one that the disk refuses."""
    checkpoints, written = filled(tmp_path), []

    def write(path: Path, content: bytes) -> None:
        if len(written) == stop:
            raise OSError(28, "No space left on device")
        written.append(path.name)
        path.write_bytes(content)

    monkeypatch.setattr(checkpoint, "write_whole", write)
    clients = {k: arrays(k) for k in range(6)}
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(4, arrays(4), clients, clients, {})  # eight files: six clients, the server, the manifest
    assert Checkpoints(tmp_path).rounds() == [3, 2]
    assert Checkpoints(tmp_path).load(3).facts == {"seconds": 1.5}


def test_after_a_damaged_one_is_forgotten_the_run_goes_on_and_writes_it_anew(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "checkpoint" / "server-000003.safetensors").write_bytes(b"")
    again = Checkpoints(tmp_path)
    with pytest.raises(DamagedError):
        again.load(3)
    again.forget(3)
    again.load(2)
    again.save(3, arrays(3), {0: arrays(30), 3: arrays(3)}, {0, 3}, {"seconds": 1.5})
    assert Checkpoints(tmp_path).load(3).server["a"].tolist() == [3, 3, 3]
