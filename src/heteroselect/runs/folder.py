"""The run folder: config.toml, rounds.jsonl, summary.json and model.safetensors. Other tools read these."""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from heteroselect.errors import FolderError, HeteroSelectError
from heteroselect.files import TooLargeError, longest_log, memory, opened, parse_json, read_json, read_toml, write_whole

if TYPE_CHECKING:
    from heteroselect.runs.fingerprint import Fingerprint  # it imports every part, for which no folder need wait

CONFIG, ROUNDS, SUMMARY, MODEL = "config.toml", "rounds.jsonl", "summary.json", "model.safetensors"
LONGEST = 8_000_000
"""Bytes of a round's line: that of a hundred thousand clients is shorter."""
FINGERPRINT = "fingerprint.json"
FLOWER, WORK = "flower.json", "flower"  # how a run on Flower is carried, and where its processes work


class RunFolder:
    """A new folder that fills up as the run goes on; at any moment what is in it is whole."""

    def __init__(self, path: Path, fingerprint: "Fingerprint | None" = None) -> None:
        self.path, self.fingerprint = path, fingerprint
        self._rounds: TextIO | None = None
        self._digest = hashlib.sha256()

    @property
    def noted(self) -> dict[str, str | None]:
        """The digests of the fingerprint and of all lines so far: checkpoints and the summary have them, so that no
        others pass for these."""
        fingerprint = None if self.fingerprint is None else self.fingerprint.sha256
        return {"fingerprint": fingerprint, "rounds_sha256": self._digest.hexdigest()}

    @staticmethod
    def refuse_taken(path: Path) -> None:
        """Nothing is ever overwritten."""
        with as_user_error(path):
            there = sorted(one.name for one in path.iterdir()) if path.exists() else []
        taken = [name for name in (CONFIG, ROUNDS, SUMMARY, MODEL) if name in there]
        if not taken:
            # (a run that was killed while it wrote its settings has left a part of them, and nothing else)
            for other in there:
                if not other.endswith(".partial") and other != FINGERPRINT:
                    raise FolderError(f"--out: {path} holds {other}; name a new or an empty folder.")
            return
        text = f"--out: {path} already holds a run ({taken[0]}); name a new or an empty folder"
        if not finished(path):
            command = "heteroselect flower resume" if (path / FLOWER).exists() else "heteroselect resume"
            text += f", or go on with this one by `{command} {path}`"
        raise FolderError(text + ".")

    @staticmethod
    def create(path: Path, config: str, fingerprint: "Fingerprint | None" = None) -> "RunFolder":
        RunFolder.refuse_taken(path)
        with as_user_error(path):
            path.mkdir(parents=True, exist_ok=True)
            folder = RunFolder(path, fingerprint)
            if fingerprint is not None:  # first: settings without it are of a run that was begun before there were any
                fingerprint.write(path)
            folder.write(CONFIG, config.encode())
            folder._rounds = _opened(path / ROUNDS, os.O_EXCL)
        return folder

    @staticmethod
    def reopen(path: Path, rounds: int, fingerprint: "Fingerprint | None" = None) -> "RunFolder":
        """Go on after `rounds` rounds: what was written of later ones is cut."""
        with as_user_error(path):
            kept = b"".join(islice(_lines(path), rounds))
            folder = RunFolder(path, fingerprint)
            folder._digest.update(kept)
            folder.write(ROUNDS, kept)
            folder._rounds = _opened(path / ROUNDS, os.O_APPEND)
        return folder

    def add_round(self, line: dict[str, Any]) -> None:
        assert self._rounds is not None
        with as_user_error(self.path):
            text = json.dumps(line, allow_nan=False) + "\n"
            self._rounds.write(text)
            self._rounds.flush()
            self._digest.update(text.encode())

    def sync(self) -> None:
        """The rounds so far are on the disk when this returns."""
        assert self._rounds is not None
        with as_user_error(self.path):
            os.fsync(self._rounds.fileno())

    def finish(self, summary: dict[str, Any], model: bytes) -> None:
        with as_user_error(self.path):
            self.write(MODEL, model)
            self.write(SUMMARY, (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode())
        self.close()

    def close(self) -> None:
        if self._rounds is not None:
            with contextlib.suppress(OSError):  # each line was flushed, or its error raised, when it was added
                self._rounds.close()
            self._rounds = None

    def forget_unplayed(self, folders: Iterable[str] = ()) -> None:
        """Free the place of a run that failed before its first round was over: it has nothing that anybody could go on
        with, and the corrected one is to find no folder in its way. `folders` are others that were made for this run
        alone."""
        self.close()
        with contextlib.suppress(OSError, HeteroSelectError):  # the error that is on its way is the one to show
            if whole_rounds(self.path, 1) or (self.path / SUMMARY).exists():
                return
            for name in folders:
                remove(self.path / name)
            for name in (ROUNDS, CONFIG, FINGERPRINT):  # (killed here, what is left can be resumed, or is no obstacle)
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def write(self, name: str, content: bytes) -> None:
        write_whole(self.path / name, content)


def remove(folder: Path) -> None:
    """Remove a folder below a run's, with all that is in it; a link in its place is left alone."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)


def _opened(path: Path, how: int) -> TextIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o666), "w", encoding="utf-8")


def numbered(parent: Path, label: str) -> Path:
    """A folder of its own under `parent`, made at once so that two runs never share one."""
    with as_user_error(parent):
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(found[1]) for p in parent.iterdir() if (found := re.match(r"(\d+)", p.name))]
        number = max(taken, default=0) + 1
        while True:
            path = parent / f"{number:04d}-{label}"
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return path
            number += 1


def read_rounds(path: Path, fields: Container[str] | None = None) -> list[dict[str, Any]]:
    """All rounds of a run that has ended: none is missing, none is torn. With only these of their `fields`, where some
    are named."""
    rounds: list[dict[str, Any]] = []
    digest = hashlib.sha256()
    for number, text in enumerate(_lines(path), 1):
        digest.update(text)
        try:
            line = parse_json(text)
            if line["round"] != number:
                raise ValueError(f"round {line['round']} stands there")
        except (ValueError, KeyError, TypeError) as error:
            raise FolderError(f"{ROUNDS}: line {number} of {path / ROUNDS} is damaged ({error}).") from error
        rounds.append(line if fields is None else {name: value for name, value in line.items() if name in fields})
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        summary = read_summary(path)
        if len(rounds) < (played := summary["rounds_run"]):
            raise FolderError(f"{ROUNDS}: {path / ROUNDS} has {len(rounds)} of {played} rounds.")
        if (noted := summary.get("rounds_sha256")) is not None and noted != digest.hexdigest():
            raise FolderError(f"{ROUNDS}: {path / ROUNDS} is damaged (its lines are not those of the run).")
    return rounds


def whole_rounds(path: Path, most: int | None = None) -> list[dict[str, Any]]:
    """The rounds of a run that was killed: all lines up to the first that is torn, and at most so many."""
    lines: list[dict[str, Any]] = []
    for text in islice(_lines(path), most):
        try:
            line = parse_json(text)
        except ValueError:
            break
        if not isinstance(line, dict) or line.get("round") != len(lines) + 1 or not text.endswith(b"\n"):
            break
        lines.append(line)
    return lines


def megabytes_before(path: Path, number: int) -> float:
    """The megabytes that clients had sent before a round, of a run that goes on."""
    return float(sum(line["bytes_up"] for line in whole_rounds(path, number - 1))) / 1e6


def rounds_sha256(path: Path, rounds: int) -> str:
    """Of the first lines of the log, as they stand."""
    digest = hashlib.sha256()
    for text in islice(_lines(path), rounds):
        digest.update(text)
    return digest.hexdigest()


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of the log, one after the other; none where there is no log."""
    try:
        with opened(path / ROUNDS, longest_log()) as file:
            while text := file.readline(LONGEST):
                if len(text) == LONGEST:
                    raise ValueError(f"a line has more than {LONGEST:,} bytes")
                yield text
    except FileNotFoundError:
        return
    except TooLargeError as error:
        raise FolderError(f"{ROUNDS}: {path / ROUNDS} is too long to be read here ({error}).") from error
    except ValueError as error:
        raise FolderError(f"{ROUNDS}: {path / ROUNDS} is damaged ({error}).") from error


def last_round(path: Path) -> int:
    """The last round of a run, from its folder; 0 where that cannot be read, which `resume` refuses with the reason."""
    try:
        settings = read_toml(path / CONFIG)
        return int(min(settings["rounds"], settings["stop_after"] or settings["rounds"]))
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def finished(path: Path) -> bool:
    """Whether the run in a folder has come to its end, and not just to an interruption."""
    return _status(path) not in (None, "interrupted")


def interrupted(path: Path) -> bool:
    """Whether the run in a folder says that it was stopped before its end."""
    return bool(_status(path) == "interrupted")


def _status(path: Path) -> Any:
    """What the summary of a run says of its end; None where there is none that can be read."""
    try:
        return read_summary(path)["status"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_summary(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = read_json(path / SUMMARY)
    return summary


def read_model(path: Path, summary: Mapping[str, Any]) -> bytes:
    """The file of the model, which must be that of the summary where it has noted its digest; or ValueError."""
    with opened(path / MODEL, memory() // 4) as file:
        content = file.read()
    if (noted := summary.get("model_file_sha256")) is not None and noted != hashlib.sha256(content).hexdigest():
        raise ValueError(f"{MODEL} is not that of the run")
    return content


@contextlib.contextmanager
def as_user_error(path: Path) -> Iterator[None]:
    """What the disk refuses, in one sentence."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"--out: {path} cannot be written ({error.strerror or error}).") from error
