"""How a run on Flower is carried, as its folder remembers it and its app is told."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tomli_w
from pydantic import ConfigDict, Field, TypeAdapter

from heteroselect.core.part import kind_of
from heteroselect.errors import HeteroSelectError
from heteroselect.files import SMALL, opened, write_whole
from heteroselect.round.method import Method
from heteroselect.runs.folder import FLOWER, WORK, as_user_error
from heteroselect.runs.guard import reason
from heteroselect.settings import Config
from heteroselect.settings.config import Loaded, load, to_toml

ERROR, PID = "error", "server.pid"  # what the ServerApp leaves for the command that waits for it
APP = "app"


@dataclass(frozen=True)
class Plan:
    """How a run is carried: what flower.json keeps of it. `token` tells its clients' memories from all others.

    A configuration does not get to run a file, so the user's own code is named here: `method` is FILE.py:NAME, and
    `parts` are settings such as `method.select.kind = FILE.py:NAME`. A folder does not get to, either: what its
    flower.json says of them is for people, and `flower resume` takes the files that it is given itself.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    mode: Literal["simulate", "deploy", "cluster"]
    token: str
    nodes: Annotated[int, Field(ge=1)]
    tls: bool = False
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 600.0
    method: str = ""
    parts: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(text: str | bytes) -> "Plan":
        """From anybody, or ValueError."""
        return _PLAN.validate_json(text)

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    @staticmethod
    def read(path: Path) -> "Plan":
        try:
            with opened(path / FLOWER, SMALL) as file:
                return Plan.of(file.read())
        except FileNotFoundError:
            raise HeteroSelectError(f"flower resume: {path} is no run on Flower; it needs {FLOWER}.") from None
        except (OSError, ValueError) as error:
            raise HeteroSelectError(f"flower resume: {path / FLOWER} is damaged ({reason(error)}).") from error

    def write(self, path: Path) -> None:
        with as_user_error(path):
            write_whole(path / FLOWER, self.text.encode())

    def load(self, config: Path | Mapping[str, Any]) -> Loaded:
        """The settings of the run, with the user's own code; it must be as it was when the run began."""
        return load(config, method=self.method or None, changes=self.parts)

    def app(self, config: Config, path: Path, *, memory: str = "", keys: Sequence[str] = ()) -> dict[str, str]:
        """What the app is told of the run in the folder `path`; `keys` are the digests of the nodes' keys."""
        told = {"config": to_toml(config), "out": str(path), "work": str(path / WORK), "memory": memory}
        return {**told, "plan": self.text, "keys": " ".join(keys)}


_PLAN = TypeAdapter(Plan)


def refuse_steps(method: Method) -> None:
    """Only whole rounds are carried over Flower."""
    if method.async_mode.size:
        raise HeteroSelectError(
            f"method.async_mode.kind: {kind_of(method.async_mode)} is for the simulator; on Flower set all, which "
            "waits for the cohort."
        )


def new_token() -> str:
    """What tells this run's memories from any other's."""
    return secrets.token_hex(8)


def write_app(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the folder that `flwr run` hands to a SuperLink: two names of this package, and what its parts are to
    know."""
    project = {"name": "heteroselect-run", "version": "1.0.0", "description": "", "license": "Apache-2.0"}
    components = {"serverapp": "heteroselect.flower.app:server", "clientapp": "heteroselect.flower.app:client"}
    app = {"publisher": "heteroselect", "components": components, "config": dict(settings)}
    folder.mkdir(parents=True, exist_ok=True)
    content = tomli_w.dumps({"project": project, "tool": {"flwr": {"app": app}}})
    write_whole(folder / "pyproject.toml", content.encode())
