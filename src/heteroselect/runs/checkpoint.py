"""Checkpoints: the whole state of a run on disk, such that a kill at any moment costs at most the time since the last.

A checkpoint is a manifest that names its files and their SHA-256. What belongs to the server is one file; what
belongs to a client is a file of its own, written only in the rounds after which it has changed. Files are never
changed once written, and the manifest comes last: a checkpoint is either whole or does not exist. The newest two are
kept, and the older one is used where the newer one is damaged.
"""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from heteroselect.errors import FolderError
from heteroselect.files import longest_log, memory, opened, parse_json, write_whole

FOLDER, VERSION, KEPT = "checkpoint", 2, 2

_FILE = r"(server-[0-9]{6,9}|client-[0-9]{6,9}-[0-9]{6,9})\.safetensors"

_FILE = r"(server-[0-9]{6,9}|client-[0-9]{6,9}-[0-9]{6,9})\.safetensors"
_NAMES = rf"({_FILE}|manifest-[0-9]{{6,9}}\.(json|damaged))"
_OURS = re.compile(rf"{_NAMES}|\.{_NAMES}\.partial")
"""The names of all files that are written here: no others are removed."""

Arrays = Mapping[str, NDArray[Any]]


class DamagedError(ValueError):
    """A checkpoint that is not what was written."""


@dataclass(frozen=True)
class Checkpoint:
    """The state after a round: the server's arrays, which clients have some, and facts that are no arrays."""

    server: Arrays
    clients: list[int]
    facts: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run, in its folder."""

    def __init__(self, run: Path) -> None:
        self.run, self.folder = run, run / FOLDER
        self._clients: dict[int, str] = {}
        self._digests: dict[str, str] = {}

    def save(
        self,
        round: int,
        server: Arrays,
        clients: Mapping[int, Arrays],
        changed: Collection[int],
        facts: Mapping[str, Any],
    ) -> None:
        """Write what has changed, then the manifest, then remove what no checkpoint needs any more."""
        if self.folder.is_symlink():
            raise FolderError(f"resume: {self.folder} is a link; put the folder itself in its place.")
        self.folder.mkdir(exist_ok=True)
        for client in sorted(clients.keys() & set(changed)):
            self._clients[client] = f"client-{client:06d}-{round:06d}.safetensors"
            self._write(self._clients[client], _packed(clients[client]))
        name = f"server-{round:06d}.safetensors"
        self._write(name, _packed(server))
        needed = {name, *self._clients.values()}
        content = {
            "version": VERSION,
            "round": round,
            "server": name,
            "clients": {str(client): file for client, file in self._clients.items()},
            "files": {file: self._digests[file] for file in sorted(needed)},
            "facts": dict(facts),
        }
        text = json.dumps(content, allow_nan=False)
        self._write(_manifest(round), json.dumps({"sha256": _sha256(text.encode()), "content": text}).encode())
        self._sweep(keep=self.rounds()[:KEPT])

    def rounds(self) -> list[int]:
        """After which rounds there is a checkpoint, the newest first."""
        if not self.folder.is_dir():
            return []
        found = (re.fullmatch(r"manifest-([0-9]{6,9})\.json", path.name) for path in self.folder.iterdir())
        return sorted((int(one[1]) for one in found if one), reverse=True)

    def load(self, round: int) -> Checkpoint:
        """The checkpoint after `round`, every byte of it checked, or DamagedError; `client` gives a client's."""
        content = self._content(round)
        for name, digest in content["files"].items():
            self._bytes(name, digest)
        self._digests = dict(content["files"])
        self._clients = {int(client): name for client, name in content["clients"].items()}
        return Checkpoint(self._arrays(content["server"]), list(self._clients), dict(content["facts"]))

    def client(self, client: int) -> Arrays:
        """What the checkpoint loaded last holds of a client."""
        return self._arrays(self._clients[client])

    def forget(self, round: int) -> None:
        """Put a checkpoint aside that turned out to be damaged."""
        manifest = self.folder / _manifest(round)
        if manifest.exists():
            manifest.replace(manifest.with_suffix(".damaged"))

    def _content(self, round: int) -> dict[str, Any]:
        try:
            with opened(self.folder / _manifest(round), longest_log()) as file:
                outer = parse_json(file.read())
            text = outer["content"]
            if _sha256(text.encode()) != outer["sha256"]:
                raise DamagedError("its manifest is not what was written")
            content: dict[str, Any] = parse_json(text)
            if content["version"] != VERSION or not all(re.fullmatch(_FILE, name) for name in content["files"]):
                raise ValueError("no checkpoint of this version has this in it")
        except DamagedError:
            raise
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"its manifest cannot be read ({error})") from error
        return content

    def _arrays(self, name: str) -> Arrays:
        try:
            arrays: Arrays = load(self._bytes(name, self._digests[name]))
        except SafetensorError as error:
            raise DamagedError(f"{name} cannot be read ({error})") from error
        return arrays

    def _bytes(self, name: str, digest: str) -> bytes:
        try:
            with opened(self.folder / name, memory() // 4) as file:
                data = file.read()
        except (OSError, ValueError) as error:
            raise DamagedError(f"{name} cannot be read ({error})") from error
        if _sha256(data) != digest:
            raise DamagedError(f"{name} is not what was written")
        return data

    def _write(self, name: str, data: bytes) -> None:
        self._digests[name] = _sha256(data)
        write_whole(self.folder / name, data)

    def _sweep(self, keep: list[int]) -> None:
        """Remove what none of the checkpoints to keep refers to."""
        needed: set[str] = set()
        for round in keep:
            needed.add(_manifest(round))
            try:
                needed.update(self._content(round)["files"])
            except DamagedError:
                continue
        for file in self.folder.iterdir():
            if file.name not in needed and _OURS.fullmatch(file.name):
                file.unlink(missing_ok=True)
        self._digests = {name: digest for name, digest in self._digests.items() if name in needed}


def _packed(arrays: Arrays) -> bytes:
    return save({key: np.asarray(array, order="C") for key, array in arrays.items()})


def _manifest(round: int) -> str:
    return f"manifest-{round:06d}.json"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
