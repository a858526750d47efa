"""What decides a run, as digests by name: two runs are the same only where all of them are equal and known.

`fingerprint.json` is written before the first round. By it `resume` refuses to go on as another run, and says what
differs; `report` and `study` take two folders for one run only where nothing differs.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from heteroselect.errors import FolderError, HeteroSelectError
from heteroselect.files import read_json, write_whole
from heteroselect.runs.folder import CONFIG, read_summary
from heteroselect.runs.folder import FINGERPRINT as FILE
from heteroselect.runs.guard import FILES
from heteroselect.settings.config import flatten, nested
from heteroselect.settings.method import completed as whole
from heteroselect.settings.own import is_path
from heteroselect.settings.renamed import current
from heteroselect.settings.schema import Config

UNKNOWN, FORMAT, OWN = "unknown", 2, "own "
"""`OWN` begins the name of a digest of what a user handed over in Python."""
_SHOWN = 6  # differences that a sentence names
_FOLLOWS = {
    "data": ("data.", "clients"),
    "clients": ("data.", "clients", "seed"),
    "model": ("model.", "data.name"),
    "weights": ("model.", "data.name", "seed"),
    "world.table": ("world.links", "world.devices"),
    "world.trace": ("world.links",),
    "world.availability.file": ("world.availability.kind",),
}
"""Settings by which a component differs of itself; where they differ, they are named and it is not."""


@dataclass(frozen=True)
class Fingerprint:
    """Every setting that decides something, and digests of what the settings do not say."""

    settings: Mapping[str, Any]
    parts: Mapping[str, str]
    """of the data, and of what is the user's own (model, loss, metric, world, parts): the same for all seeds"""
    drawn: Mapping[str, str]
    """of what comes from the seed as well: the clients' data and the first weights"""
    versions: Mapping[str, str]
    """of what moves bits"""
    extended: tuple[Mapping[str, int], ...] = field(default=())
    """after which round the run was given how many rounds instead of how many"""

    @property
    def unknown(self) -> list[str]:
        """What there is no digest of; of two runs with such a thing nobody can say that they are the same."""
        return [name for name, digest in self.parts.items() if digest == UNKNOWN]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def stages(self) -> Iterator["Fingerprint"]:
        """What the run was, from now back to its beginning: once more for each time that it was given more rounds."""
        yield self
        if self.extended:
            *before, last = self.extended
            settings = {**self.settings, "rounds": last["from"]}
            yield from replace(self, settings=settings, extended=tuple(before)).stages()

    def completed(self) -> "Fingerprint":
        """As a run of today would have it: settings that are newer than the run have their defaults."""
        return replace(self, settings=completed(self.settings))

    def differences(self, now: "Fingerprint") -> list[str]:
        """What is another in `now`, by name and with both values; what is newer than a run has its default, and of
        what is unknown nothing is said."""
        keys = list(unequal(self.completed().settings, now.completed().settings))
        found = [f"{key}: {old} → {new}" for key, old, new in keys]
        for name, old, new in (*unequal(self.parts, now.parts), *unequal(self.drawn, now.drawn)):
            name = name.removeprefix(OWN)
            follows = _FOLLOWS.get(name, (f"{name}.",))
            if UNKNOWN not in (old, new) and not any(key.startswith(follows) for key, _, _ in keys):
                found.append(f"{name}: {str(old)[:8]} → {str(new)[:8]}")
        return found + [f"{name}: {old} → {new}" for name, old, new in unequal(self.versions, now.versions)]

    def write(self, path: Path) -> None:
        content = {"version": FORMAT, **asdict(self), "sha256": self.sha256}
        write_whole(path / FILE, (json.dumps(content, indent=1) + "\n").encode())

    @staticmethod
    def read(path: Path) -> "Fingerprint | None":
        """That of a run folder, and of its summary; None where neither has one."""
        noted = None
        with suppress(OSError, ValueError, AttributeError):
            noted = read_summary(path).get("fingerprint")
        try:
            content: dict[str, Any] = dict(read_json(path / FILE))
            version, digest = content.pop("version"), content.pop("sha256")
            if version != FORMAT:
                raise ValueError(f"it is of format {version}")
            found = Fingerprint(**{**content, "extended": tuple(content["extended"])})
            if found.sha256 != digest:
                raise ValueError("it is not what was written")
            if noted is not None and noted not in [one.sha256 for one in found.stages()]:
                raise ValueError("it is not that of the run")
        except FileNotFoundError:
            if noted is not None:
                raise FolderError(f"{FILE}: {path / FILE} is not there, and the run had one.") from None
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{FILE}: {path / FILE} is damaged ({error}).") from error
        return found


def unequal(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What differs, by name, with both values."""
    for key in dict.fromkeys((*old, *new)):
        if (key in old, old.get(key)) != (key in new, new.get(key)):
            yield key, old.get(key, "nothing"), new.get(key, "nothing")


def deciding(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that decide a run, by dotted name: not what is only shown, where things lie, and how it is saved.
    Code of the user's own goes by its checksum (`source`) and not by its place, and so do a user's own arrays."""
    kept = {key: value for key, value in tables.items() if key not in ("paper", "simulate")}
    flat = {key: value for key, value in flatten(kept).items() if key not in ("data.dir", *FILES)}
    if str(flat.get("data.name")).endswith((".npz", ".csv")):
        flat["data.name"] = Path(str(flat["data.name"])).name
    for key, value in flat.items():
        if key.startswith("method.") and key.endswith(".kind") and is_path(str(value)):
            flat[key] = f"FILE.py:{str(value).rpartition(':')[2]}"
    return flat


def completed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Deciding settings by dotted name, with those that are newer than their run at their defaults; as they are where
    a version with other settings wrote them."""
    settings = current(settings)
    try:
        tables = nested(settings)
        found = Config.model_validate({**tables, "method": whole(tables["method"])})
        full = deciding(found.model_dump())
        return {key: full[key] for key in settings} | full  # what the run has itself comes first
    except (HeteroSelectError, ValueError, KeyError, TypeError):
        return dict(settings)


def refuse_edited(path: Path, then: Fingerprint | None, settings: Mapping[str, Any]) -> None:
    """The settings that a folder holds must be those that its run was begun with."""
    if then is not None:
        found = replace(then, parts={}, drawn={}, versions={}).differences(Fingerprint(deciding(settings), {}, {}, {}))
        if found:
            raise FolderError(
                f"config: the run in {path} was begun with other settings, or its {CONFIG} was changed since the run "
                f"began ({listed(found)})."
            )


def listed(differences: list[str]) -> str:
    """Differences as a part of one sentence."""
    more = len(differences) - _SHOWN
    return ", ".join(differences[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
