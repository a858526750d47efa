"""Folders of strangers: nothing outside of a run folder is written, removed, downloaded or run because the folder says
so. A person names such things again when a run goes on.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from heteroselect.data import HUB
from heteroselect.errors import FolderError, SettingError
from heteroselect.runs.folder import WORK, as_user_error
from heteroselect.settings import Config
from heteroselect.settings.config import flatten
from heteroselect.settings.own import is_path

FILES = ("world.table", "world.trace", "world.availability.file")
"""Settings that say where a file lies; the digest of the file decides the run, and not its place."""


class _Checked(BaseModel):
    """A damaged file is named here, before a picture is half drawn; fields that are not listed may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class CheckedSettings(_Checked):
    clients: int = Field(ge=1, le=1_000_000)


class CheckedLine(_Checked):
    round: int
    accuracy: float | None
    cumulative_seconds: float
    selected: list[int]
    densities: list[float | None]
    weights: list[float | None]
    bandwidth_mbps: list[float | None]
    bytes_up_paper: float
    bytes_up: float
    bytes_down: float
    bytes_scoring: float
    bytes_calibration: float
    score_parts: dict[str, float | None] | None = None
    events: list[dict[str, int | str]] | None = None
    class_accuracy: list[float | None] | None = None
    world: dict[str, float | str | list[float] | None] | None = None

    @model_validator(mode="after")
    def _one_figure_a_client(self) -> Self:
        if not len(self.selected) == len(self.densities) == len(self.weights) == len(self.bandwidth_mbps):
            raise ValueError("selected, densities, weights and bandwidth_mbps differ in length")
        return self


class _Metric(_Checked, extra="forbid"):
    name: str = Field(min_length=1)
    higher: bool
    unit: str


class CheckedSummary(_Checked):
    method: str
    dataset: str
    seed: int
    target: float
    peak_accuracy: float | None
    final_accuracy: float | None
    rounds_to_target: int | None
    seconds_to_target: float | None
    megabytes_to_target: float | None
    wire_megabytes_to_target: float | None
    environment: dict[str, Any] = {}
    metric: _Metric = _Metric(name="accuracy", higher=True, unit="%")


def reason(error: Exception) -> str:
    """What is wrong with a file, as a part of one sentence."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).partition("\n")[0]


def refuse_links(path: Path) -> None:
    """Refuse a folder in which something leads out of it, to where things would be written or deleted. (What Flower's
    processes left behind is removed first, which follows no links, and looked at then.)"""
    with as_user_error(path):
        for folder, inside, files in os.walk(path, onerror=_raised):
            for name in (*inside, *files):
                if (Path(folder) / name).is_symlink():
                    raise FolderError(f"resume: {Path(folder) / name} is a link; put the file itself in its place.")
            if Path(folder) == path and WORK in inside:
                inside.remove(WORK)


def _raised(error: OSError) -> None:
    """What may not be listed may hold a link; what has just been removed holds none."""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextlib.contextmanager
def locked(path: Path, who: str = "resume") -> Iterator[None]:
    """No second process works in the folder meanwhile; the lock goes with the process, however that ends."""
    with as_user_error(path):
        handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderError(f"{who}: another process is at work in {path}; wait for it to end.") from error
        with as_user_error(path):
            if not os.path.samestat(os.fstat(handle), path.stat()):  # whoever was here before has removed it
                raise FileNotFoundError(errno.ENOENT, "another process has just removed it")
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def made(path: Path) -> Iterator[None]:
    """A folder for a new run, made where there is none, in which no other process works meanwhile."""
    with as_user_error(path):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path, "--out"):
        yield


def refuse_changes(settings: Mapping[str, Any]) -> None:
    """Only places may be named when a run goes on: of a user's own parts, of the files of its world, of a download."""
    for key, value in flatten(settings).items():
        code = key.startswith("method.") and key.endswith(".kind") and is_path(str(value))
        if key not in FILES and not code and not (key == "data.name" and str(value).startswith(HUB)):
            raise SettingError(
                f"{key}: a run that goes on keeps its settings; name only method.ROLE.kind=FILE.py:NAME, the place of "
                f"files ({', '.join(FILES)}) and data.name={HUB}NAME."
            )


def refuse_unnamed_download(path: Path, config: Config, settings: Mapping[str, Any]) -> None:
    """A folder does not get to download: what comes from the hub has no checksum before it is here."""
    name = config.data.name
    there = Path(name.removeprefix(HUB)).expanduser().is_dir()
    if name.startswith(HUB) and not there and "data.name" not in flatten(settings):
        raise FolderError(
            f"data.name: the run in {path} would download {name}; name it again, --set data.name={name} "
            "(in Python, settings=…)."
        )
