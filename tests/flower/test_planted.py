"""Whatever lies where a run on Flower works, no code of it is run, and no link in it is written through."""

import errno
import io
import os
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="Flower is not installed")

from flwr.cli.build import build_fab_from_disk

from heteroselect.cli import app
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.plan import Plan
from heteroselect.flower.processes import Flower
from heteroselect.runs.guard import refuse_links
from heteroselect.settings.config import load, to_toml

NAMES = ("heteroselect/__init__.py", "heteroselect/flower/__init__.py", "json.py", "numpy.py", "flwr.py")


def plant(folder: Path, marker: Path) -> None:
    """Modules with the names of those that every process imports; each leaves a trace where it is imported."""
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"open({str(marker)!r}, 'a').write(__file__)\n")


@pytest.mark.slow
def test_a_supernode_runs_no_code_of_the_folder(tmp_path: Path) -> None:
    marker, work = tmp_path / "marker", tmp_path / "work"
    plant(work, marker)
    with Flower(work) as flower:
        assert [path.name for path in flower.home.iterdir()] == ["config.toml"], "no app of somebody else's"
        flower.supernode("supernode-0", {"partition-id": 0, "num-partitions": 1})
        flower.wait_for("supernode-0", "Starting Flower SuperNode")  # it has imported all that it needs
    assert not marker.exists(), marker.read_text()


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # Flower's own affair
def test_what_is_submitted_is_the_app_and_nothing_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[str] = []

    def flwr(_: Flower, command: str, folder: str, *__: str) -> dict[str, str]:
        with zipfile.ZipFile(io.BytesIO(build_fab_from_disk(Path(folder)))) as fab:
            packed.extend(fab.namelist())
        return {"run-id": "7"}

    monkeypatch.setattr(Flower, "flwr", flwr)
    plant(tmp_path / "app", tmp_path / "marker")
    with Flower(tmp_path) as flower:
        assert flower.submit({"plan": "a"}) == "7"
    assert sorted(packed) == [".info/CONTENT", "pyproject.toml"]


def begun(tmp_path: Path) -> Path:
    """The folder of a deployment that has no round yet."""
    out = tmp_path / "run"
    (out / "flower").mkdir(parents=True)
    (out / "config.toml").write_text(to_toml(load("mnist", changes={"clients": 3, "selected": 3}).config))
    Plan("deploy", "a", 3, tls=True).write(out)
    return out


def test_a_file_in_the_place_of_a_folder_is_one_sentence(tmp_path: Path) -> None:
    out = begun(tmp_path)
    (out / "flower" / "keys").write_text("mine")
    with pytest.raises(HeteroSelectError, match=f"{out}/flower cannot be written"):
        app(["flower", "resume", str(out)], standalone_mode=False)
    assert (out / "flower" / "keys").read_text() == "mine"


@pytest.mark.parametrize("name", ["keys", "notes"])
def test_a_link_where_flower_works_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    out, target = begun(tmp_path), tmp_path / "target"
    target.mkdir()
    (target / "server.key").write_text("mine")
    (out / "flower" / name).symlink_to(target)
    monkeypatch.setattr(Flower, "superlink", lambda *_: 1 / 0)  # instead of a deployment, where it is not refused
    with pytest.raises(HeteroSelectError) as refused:
        app(["flower", "resume", str(out)], standalone_mode=False)
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("server.key", "mine")]
    assert str(refused.value) == f"resume: {out}/flower/{name} is a link; put the file itself in its place."


def test_links_in_a_folder_that_may_not_be_listed_are_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "supernode-0").symlink_to(tmp_path)
    scandir, why = os.scandir, OSError(errno.EACCES, "Permission denied")

    def refused(place: str) -> object:
        """As for a folder of mode 0300; whoever tests as root could list that."""
        if Path(place).name == "memory":
            raise why
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(HeteroSelectError, match="Permission denied"):
        refuse_links(tmp_path)
    why = OSError(errno.ENOENT, "it has just been removed")
    refuse_links(tmp_path)
