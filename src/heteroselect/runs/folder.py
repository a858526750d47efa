"""The run folder: config.toml, rounds.jsonl, summary.json and model.safetensors. Other tools read these."""

import contextlib
import fcntl
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole

if TYPE_CHECKING:
    from torch import Tensor

CONFIG, ROUNDS, SUMMARY, MODEL = "config.toml", "rounds.jsonl", "summary.json", "model.safetensors"
FLOWER = "flower.json"  # how a run on Flower is carried


class RunFolder:
    """A new folder that fills up as the run goes on; at any moment what is in it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds: TextIO | None = None

    @staticmethod
    def refuse_taken(path: Path) -> None:
        """Nothing is ever overwritten."""
        taken = [name for name in (CONFIG, ROUNDS, SUMMARY, MODEL) if (path / name).exists()]
        if not taken:
            with for_people(path):
                there = sorted(path.iterdir()) if path.exists() else []
            # (a run that was killed while it wrote its settings has left a part of them, and nothing else)
            other = next((one for one in there if not one.name.endswith(".partial")), None)
            if other is not None:
                raise HeteroSelectError(f"--out: {path} holds {other.name}; allowed is a new or an empty folder.")
            return
        text = f"--out: {path} already holds a run ({taken[0]}); allowed is a new or an empty folder"
        if not finished(path):
            command = "heteroselect flower resume" if (path / FLOWER).exists() else "heteroselect resume"
            text += f", and `{command} {path}` goes on with this one from its last checkpoint"
        raise HeteroSelectError(text + ".")

    @staticmethod
    def create(path: Path, config: str) -> "RunFolder":
        RunFolder.refuse_taken(path)
        with for_people(path):
            path.mkdir(parents=True, exist_ok=True)
            folder = RunFolder(path)
            folder.write(CONFIG, config.encode())
            folder._rounds = (path / ROUNDS).open("x", encoding="utf-8")
        return folder

    @staticmethod
    def reopen(path: Path, rounds: int) -> "RunFolder":
        """Go on after `rounds` rounds: what was written of later ones is cut."""
        with for_people(path):
            lines = (path / ROUNDS).read_bytes().splitlines(keepends=True)[:rounds] if (path / ROUNDS).exists() else []
            folder = RunFolder(path)
            folder.write(ROUNDS, b"".join(lines))
            folder._rounds = (path / ROUNDS).open("a", encoding="utf-8")
        return folder

    def add_round(self, line: dict[str, Any]) -> None:
        assert self._rounds is not None
        with for_people(self.path):
            self._rounds.write(json.dumps(line, allow_nan=False) + "\n")
            self._rounds.flush()

    def sync(self) -> None:
        """The rounds so far are on the disk when this returns."""
        assert self._rounds is not None
        with for_people(self.path):
            os.fsync(self._rounds.fileno())

    def finish(self, summary: dict[str, Any], model: "dict[str, Tensor]") -> None:
        from safetensors.torch import save  # it imports PyTorch, which who only reads a folder need not wait for

        with for_people(self.path):
            self.write(MODEL, save(model))
            self.write(SUMMARY, (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode())
        self.close()

    def close(self) -> None:
        if self._rounds is not None:
            with contextlib.suppress(OSError):  # each line was flushed, or its error raised, when it was added
                self._rounds.close()
            self._rounds = None

    def write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content)


def numbered(parent: Path, label: str) -> Path:
    """A folder of its own under `parent`, made at once so that two runs never share one."""
    with for_people(parent):
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(found[1]) for p in parent.iterdir() if (found := re.match(r"(\d+)", p.name))]
        number = max(taken, default=0) + 1
        while True:
            path = parent / f"{number:04d}-{label}"
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return path
            number += 1


def read_rounds(path: Path) -> list[dict[str, Any]]:
    """All rounds of a run that has ended: none is missing, none is torn."""
    rounds: list[dict[str, Any]] = []
    for number, text in enumerate((path / ROUNDS).read_bytes().splitlines(), 1):
        try:
            line = json.loads(text)
            if line["round"] != number:
                raise ValueError(f"round {line['round']} stands there")
        except (ValueError, KeyError, TypeError) as error:
            raise HeteroSelectError(f"{ROUNDS}: line {number} of {path / ROUNDS} is damaged ({error}).") from error
        rounds.append(line)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        if len(rounds) < (played := read_summary(path)["rounds_run"]):
            raise HeteroSelectError(f"{ROUNDS}: {path / ROUNDS} has {len(rounds)} of {played} rounds.")
    return rounds


def whole_rounds(path: Path) -> list[dict[str, Any]]:
    """The rounds of a run that was killed: all lines up to the first that is torn."""
    lines: list[dict[str, Any]] = []
    if (path / ROUNDS).exists():
        for text in (path / ROUNDS).read_bytes().split(b"\n")[:-1]:
            try:
                line = json.loads(text)
            except ValueError:
                break
            if not isinstance(line, dict) or line.get("round") != len(lines) + 1:
                break
            lines.append(line)
    return lines


def read_name(path: Path) -> str:
    """The name of the method in a folder's config, whether it is known or somebody's own."""
    try:
        name: str = tomllib.loads((path / CONFIG).read_text(encoding="utf-8"))["method"]["name"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HeteroSelectError(f"config: {path / CONFIG} is damaged ({error}).") from error
    return name


def read_version(path: Path) -> int:
    """The format of a folder's config; the first one, of version 0.1.0 of this package, has no number."""
    try:
        version: int = tomllib.loads((path / CONFIG).read_text(encoding="utf-8")).get("version", 1)
    except (OSError, ValueError) as error:
        raise HeteroSelectError(f"config: {path / CONFIG} is damaged ({error}).") from error
    return version


def finished(path: Path) -> bool:
    """Whether the run in a folder has come to its end, and not just to an interruption."""
    try:
        return bool(read_summary(path)["status"] != "interrupted")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_summary(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((path / SUMMARY).read_text(encoding="utf-8"))
    return summary


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """No second process works in the folder meanwhile; the lock goes with the process, however that ends."""
    with for_people(path):
        handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HeteroSelectError(f"resume: another process is at work in {path}; wait for it to end.") from error
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def for_people(path: Path) -> Iterator[None]:
    """What the disk refuses, in one sentence."""
    try:
        yield
    except OSError as error:
        raise HeteroSelectError(f"--out: {path} cannot be written ({error.strerror or error}).") from error
