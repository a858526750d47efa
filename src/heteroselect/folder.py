"""The run folder: config.toml, rounds.jsonl, summary.json and model.safetensors. Other tools read these."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any, TextIO

from safetensors.torch import save
from torch import Tensor

from heteroselect.errors import HeteroSelectError

CONFIG, ROUNDS, SUMMARY, MODEL = "config.toml", "rounds.jsonl", "summary.json", "model.safetensors"


class RunFolder:
    """A new folder that fills up as the run goes on; at any moment what is in it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rounds: TextIO | None = None

    @staticmethod
    def refuse_taken(path: Path) -> None:
        """Nothing is ever overwritten."""
        taken = [name for name in (CONFIG, ROUNDS, SUMMARY, MODEL) if (path / name).exists()]
        if taken:
            raise HeteroSelectError(
                f"--out: {path} already holds a run ({taken[0]}); allowed is a new or an empty folder."
            )

    @staticmethod
    def create(path: Path, config: str) -> "RunFolder":
        RunFolder.refuse_taken(path)
        with _for_people(path):
            path.mkdir(parents=True, exist_ok=True)
            folder = RunFolder(path)
            folder.write(CONFIG, config.encode())
            folder._rounds = (path / ROUNDS).open("x", encoding="utf-8")
        return folder

    def add_round(self, line: dict[str, Any]) -> None:
        assert self._rounds is not None
        with _for_people(self.path):
            self._rounds.write(json.dumps(line, allow_nan=False) + "\n")
            self._rounds.flush()

    def finish(self, summary: dict[str, Any], model: dict[str, Tensor]) -> None:
        with _for_people(self.path):
            self.write(MODEL, save(model))
            self.write(SUMMARY, (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode())
        self.close()

    def close(self) -> None:
        if self._rounds is not None:
            self._rounds.close()
            self._rounds = None

    def write(self, name: str, content: bytes) -> None:
        """All or nothing: a reader never sees half a file."""
        partial = self.path / f".{name}.partial"
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path / name)
        finally:
            partial.unlink(missing_ok=True)


def numbered(parent: Path, label: str) -> Path:
    """A folder of its own under `parent`, made at once so that two runs never share one."""
    with _for_people(parent):
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
    return [json.loads(line) for line in (path / ROUNDS).read_text(encoding="utf-8").splitlines()]


def read_summary(path: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((path / SUMMARY).read_text(encoding="utf-8"))
    return summary


@contextlib.contextmanager
def _for_people(path: Path) -> Any:
    try:
        yield
    except OSError as error:
        raise HeteroSelectError(f"--out: {path} cannot be written ({error.strerror or error}).") from error
