"""Folders of strangers: what stands in a run folder is looked at before it is believed, and nothing outside of it is
written, removed, downloaded or run because the folder says so. A person names such things again when a run goes on.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from heteroselect.data import HUB
from heteroselect.errors import FolderError, SettingError
from heteroselect.runs.folder import WORK, as_user_error
from heteroselect.settings import Config
from heteroselect.settings.config import flatten
from heteroselect.settings.own import is_path

if TYPE_CHECKING:
    from heteroselect.runs.fingerprint import Fingerprint

CHECKPOINT_DIR = "simulate.checkpoint_dir"
FILES = ("world.table", "world.trace", "world.availability.file")
"""Settings that say where a file lies; the digest of the file decides the run, and not its place."""


# What the files must hold.


class _Checked(BaseModel):
    """A damaged file is named here, before a picture is half drawn; fields that are not listed may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class CheckedSettings(_Checked):
    clients: int = Field(ge=1, le=1_000_000)


class _Event(_Checked):
    client: int
    kind: str


class _World(_Checked):
    available: int
    there: str | None = Field(pattern="^([0-9a-f]{2})*$")
    up_mbps: list[float] = Field(min_length=5, max_length=5)
    down_mbps: list[float] = Field(min_length=5, max_length=5)
    step_seconds: list[float] = Field(min_length=5, max_length=5)
    waited: float
    scoring: float
    training: float
    calibration: float
    down: list[float]
    compute: list[float]
    up: list[float]
    took: list[float]


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
    memory_norm: float | None = None
    events: list[_Event] | None = None
    class_accuracy: list[float | None] | None = None
    world: _World | None = None

    @field_validator("world", mode="before")
    @classmethod
    def _nothing_noted(cls, value: Any) -> Any:
        return value or None

    @model_validator(mode="after")
    def _one_figure_a_client(self) -> Self:
        if not len(self.selected) == len(self.densities) == len(self.weights) == len(self.bandwidth_mbps):
            raise ValueError("selected, densities, weights and bandwidth_mbps differ in length")
        world = self.world
        if world is not None:
            each = (world.down, world.compute, world.up, world.took)
            if any(len(one) != len(self.selected) for one in each):
                raise ValueError("selected and the seconds in world differ in length")
        return self


def is_line(line: Mapping[str, Any]) -> bool:
    """Whether a round's line has what a summary is made of."""
    try:
        CheckedLine.model_validate(line)
    except ValidationError:
        return False
    return True


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
    evaluated_on: str = "test"
    reconstruction: bool = False
    leaves_out: str = ""
    sends_float32: bool = True
    metric: _Metric = _Metric(name="accuracy", higher=True, unit="%")
    title: str = ""
    status: str = ""
    charge: str = ""
    rounds_run: int | None = None
    parameters: int | None = None
    total_seconds: float | None = None
    total_megabytes: float | None = None
    total_wire_megabytes: float | None = None
    wall_seconds: float | None = None
    client_accuracy_mean: float | None = None
    client_accuracy_worst_tenth: float | None = None
    client_accuracy_std: float | None = None
    client_accuracy_never_selected: float | None = None
    unseen_accuracy: float | None = None
    participation_jain: float | None = None
    bytes_jain: float | None = None


class _More(_Checked):
    """That a run was given more rounds."""

    after: int
    before: int = Field(alias="from")
    to: int


class _Deciding(_Checked):
    rounds: int


class CheckedFingerprint(_Checked):
    settings: dict[str, Any]
    parts: dict[str, str]
    drawn: dict[str, str]
    versions: dict[str, str]
    extended: list[_More] = Field(max_length=100)

    @field_validator("settings")
    @classmethod
    def _has_rounds(cls, value: dict[str, Any]) -> dict[str, Any]:
        _Deciding.model_validate(value)
        return value


def reason(error: Exception) -> str:
    """What is wrong with a file, as a part of one sentence."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).partition("\n")[0]


# The folder itself.


def refuse_links(path: Path) -> None:
    """Refuse a folder in which something leads out of it, to where things would be written or deleted. (What Flower's
    processes left behind is removed first, which follows no links, and looked at then.)"""
    with as_user_error(path):
        for folder, inside, files in os.walk(path, onerror=_refuse):
            for name in (*inside, *files):
                if (Path(folder) / name).is_symlink():
                    raise FolderError(f"resume: {Path(folder) / name} is a link; put the file itself in its place.")
            if Path(folder) == path and WORK in inside:
                inside.remove(WORK)


def _refuse(error: OSError) -> None:
    """A folder that cannot be looked into may still be one to write into. (One that is gone, as where a node has just
    tidied its memory, is not.)"""
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


# What a person names again.


def refuse_changes(settings: Mapping[str, Any]) -> None:
    """Only places may be named when a run goes on: of a user's own parts, of the files of its world, of a download."""
    for key, value in flatten(settings).items():
        code = key.startswith("method.") and key.endswith(".kind") and is_path(str(value))
        if key not in (*FILES, CHECKPOINT_DIR) and not code and not (key == "data.name" and str(value).startswith(HUB)):
            raise SettingError(
                f"{key}: a run that goes on keeps its settings; name only method.ROLE.kind=FILE.py:NAME, the place of "
                f"files ({', '.join((*FILES, CHECKPOINT_DIR))}) and data.name={HUB}NAME."
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


def refuse_unnamed_place(path: Path, config: Config, settings: Mapping[str, Any]) -> None:
    """A folder does not get to say where else things are written and removed."""
    if config.simulate.checkpoint_dir and CHECKPOINT_DIR not in flatten(settings):
        raise FolderError(
            f"{CHECKPOINT_DIR}: the run in {path} names {config.simulate.checkpoint_dir}; name it again, "
            f"--set {CHECKPOINT_DIR}=PLACE (in Python, settings=…), or an empty one to go on without."
        )


@contextlib.contextmanager
def elsewhere(folder: str, fingerprint: "Fingerprint") -> Iterator[Path | None]:
    """The place of a run's checkpoints in a folder that the user has named, in which no other process works meanwhile;
    None where they are in the run's own. It is named after what the run was begun as."""
    if not folder:
        yield None
        return
    *_, first = fingerprint.stages()
    place = Path(folder).expanduser().absolute() / first.sha256[:32]
    with as_user_error(place):
        place.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        raise FolderError(f"{CHECKPOINT_DIR}: {place} is a link; name a folder.")
    try:
        with locked(place, CHECKPOINT_DIR):
            yield place
    finally:
        with contextlib.suppress(OSError):  # there are checkpoints in it
            place.rmdir()
