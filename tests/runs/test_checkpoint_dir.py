"""Checkpoints on another disk: where the person says, and never where a folder says."""

from pathlib import Path
from typing import Any

import pytest

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.files import read_toml
from run_folders import POINTS, PowerError, stop, write_points

pytestmark = pytest.mark.slow  # they train

KEY = "simulate.checkpoint_dir"


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    write_points(tmp_path)
    return {**POINTS, "data.name": str(tmp_path / "points.npz"), KEY: str(tmp_path / "disk")}


def play(out: Path, settings: dict[str, Any], **more: Any) -> Any:
    return heteroselect.run("mnist", method="fedavg", settings=settings, out=out, **more)


@pytest.fixture
def broken(tmp_path: Path, settings: dict[str, Any]) -> Path:
    with pytest.raises(PowerError):
        play(tmp_path / "run", settings, watch=stop)
    return tmp_path / "run"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_run_goes_on_from_where_the_person_says(tmp_path: Path, broken: Path, settings: dict[str, Any]) -> None:
    disk, seen = tmp_path / "disk", []
    assert not (broken / "checkpoint").exists()
    assert "manifest-000002.json" in names(disk)
    disk.rename(tmp_path / "moved")
    place = {KEY: str(tmp_path / "moved")}
    resumed = heteroselect.resume(broken, settings=place, watch=lambda line: seen.append(line["round"]))
    assert seen == [3, 4]
    assert names(tmp_path / "moved") == []
    assert not disk.exists()
    whole = play(tmp_path / "whole", {**settings, KEY: ""})
    assert resumed.model_sha256 == whole.model_sha256
    assert resumed.summary["fingerprint"] == whole.summary["fingerprint"], "where they lie decides nothing"


def test_a_folder_does_not_get_to_say_it(tmp_path: Path, broken: Path) -> None:
    before = names(tmp_path / "disk")
    with pytest.raises(HeteroSelectError, match=r"simulate\.checkpoint_dir: .* name it again"):
        heteroselect.resume(broken)
    assert names(tmp_path / "disk") == before
    seen: list[int] = []
    heteroselect.resume(broken, settings={KEY: ""}, watch=lambda line: seen.append(line["round"]))
    assert seen == [1, 2, 3, 4], "without its checkpoints it begins anew"
    assert names(tmp_path / "disk") == before
    assert heteroselect.resume(broken).status == "finished"


def test_two_runs_of_one_kind_do_not_share_checkpoints(tmp_path: Path, broken: Path, settings: dict[str, Any]) -> None:
    before = names(tmp_path / "disk")
    with pytest.raises(HeteroSelectError, match="holds checkpoints of such a run"):
        play(tmp_path / "twin", settings)
    assert names(tmp_path / "disk") == before
    assert names(tmp_path / "twin") == []
    assert play(tmp_path / "other", {**settings, "seed": 1}).status == "finished"
    assert names(tmp_path / "disk") == before


def test_more_rounds_go_on_from_there(tmp_path: Path, broken: Path) -> None:
    place, seen = {KEY: str(tmp_path / "disk")}, []
    given: dict[str, Any] = {"settings": place, "warn": lambda _: None}
    with pytest.raises(PowerError):
        heteroselect.resume(broken, rounds=6, watch=stop, **given)
    assert read_toml(broken / "config.toml")["rounds"] == 6
    heteroselect.resume(broken, watch=lambda line: seen.append(line["round"]), **given)
    assert seen[0] > 1
    assert names(tmp_path / "disk") == []


def test_a_link_in_its_place_is_refused(tmp_path: Path, broken: Path) -> None:
    (inside,) = (tmp_path / "disk").iterdir()
    inside.rename(tmp_path / "precious")
    before = names(tmp_path / "precious")
    inside.symlink_to(tmp_path / "precious")
    with pytest.raises(HeteroSelectError, match="is a link"):
        heteroselect.resume(broken, settings={KEY: str(tmp_path / "disk")})
    assert names(tmp_path / "precious") == before
