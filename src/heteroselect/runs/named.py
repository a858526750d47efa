"""What a person names again when a run goes on: code, a download, and places outside of its folder. The folder may be
anybody's, and is not believed in these."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from heteroselect.data.hub import HUB
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.fingerprint import FILES, Fingerprint
from heteroselect.runs.folder import FINGERPRINT, as_user_error
from heteroselect.runs.place import locked
from heteroselect.settings import Config
from heteroselect.settings.config import flatten
from heteroselect.settings.own import is_path

CHECKPOINT_DIR = "simulate.checkpoint_dir"


def refuse_changes(settings: Mapping[str, Any]) -> None:
    """Only places may be named when a run goes on: of a user's own parts, of the files of its world, of a download."""
    for key, value in flatten(settings).items():
        code = key.startswith("method.") and key.endswith(".kind") and is_path(str(value))
        if key not in (*FILES, CHECKPOINT_DIR) and not code and not (key == "data.name" and str(value).startswith(HUB)):
            raise HeteroSelectError(
                f"{key}: a run that goes on keeps its settings; allowed are only method.ROLE.kind=FILE.py:NAME, the "
                f"place of files ({', '.join((*FILES, CHECKPOINT_DIR))}) and data.name={HUB}NAME."
            )


def refuse_unnamed_download(path: Path, config: Config, settings: Mapping[str, Any]) -> None:
    """A folder does not get to download: what comes from the hub has no checksum before it is here."""
    name = config.data.name
    there = Path(name.removeprefix(HUB)).expanduser().is_dir()
    if name.startswith(HUB) and not there and "data.name" not in flatten(settings):
        raise HeteroSelectError(
            f"data.name: the run in {path} would download {name}; name it again, --set data.name={name} "
            "(in Python, settings=…)."
        )


@contextmanager
def elsewhere(folder: str, fingerprint: Fingerprint | None) -> Iterator[Path | None]:
    """The place of a run's checkpoints in a folder that the user has named, in which no other process works meanwhile;
    None where they are in the run's own. It is named after what the run was begun as."""
    if not folder:
        yield None
        return
    if fingerprint is None:
        raise HeteroSelectError(f"{CHECKPOINT_DIR}: the run has no {FINGERPRINT}; allowed is its own folder.")
    *_, first = fingerprint.stages()
    place = Path(folder).expanduser().absolute() / first.sha256[:32]
    with as_user_error(place):
        place.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        raise HeteroSelectError(f"{CHECKPOINT_DIR}: {place} is a link; allowed is a folder.")
    try:
        with locked(place, CHECKPOINT_DIR):
            yield place
    finally:
        with suppress(OSError):  # there are checkpoints in it
            place.rmdir()


def refuse_unnamed_place(path: Path, config: Config, settings: Mapping[str, Any]) -> None:
    """A folder does not get to say where else things are written and removed."""
    if config.simulate.checkpoint_dir and CHECKPOINT_DIR not in flatten(settings):
        raise HeteroSelectError(
            f"{CHECKPOINT_DIR}: the run in {path} names {config.simulate.checkpoint_dir}; name it again, "
            f"--set {CHECKPOINT_DIR}=PLACE (in Python, settings=…), or an empty one to go on without."
        )
