"""How a run on Flower is carried, as its folder remembers it."""

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from heteroselect.errors import HeteroSelectError
from heteroselect.runs.folder import FLOWER, for_people, write_whole

ERROR, PID = "error", "server.pid"  # what the ServerApp leaves for the command that waits for it


@dataclass(frozen=True)
class Plan:
    """How a run is carried: what flower.json keeps of it. `token` tells its clients' memories from all others;
    `method` is the user's own, FILE.py:NAME."""

    mode: Literal["simulate", "deploy"]
    token: str
    nodes: int
    tls: bool = False
    timeout: float = 600.0
    method: str = ""

    @staticmethod
    def read(path: Path) -> "Plan":
        try:
            return Plan(**json.loads((path / FLOWER).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise HeteroSelectError(f"flower resume: {path} is no run on Flower; it needs {FLOWER}.") from None
        except (OSError, ValueError, TypeError) as error:
            raise HeteroSelectError(f"flower resume: {path / FLOWER} is damaged ({error}).") from error

    def write(self, path: Path) -> None:
        with for_people(path):
            write_whole(path / FLOWER, (json.dumps(asdict(self), indent=2) + "\n").encode())


def new_token() -> str:
    """What tells this run's memories from any other's."""
    return secrets.token_hex(8)
