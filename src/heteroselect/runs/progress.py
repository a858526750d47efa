"""How far a run has come: all of its state, and how that goes to disk and comes back."""

import hashlib
import time
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heteroselect.core.flat import Weights
from heteroselect.core.messages import Order
from heteroselect.core.state import PartState, by_role, flat
from heteroselect.errors import FolderError, SettingError
from heteroselect.parts.compress import Update
from heteroselect.round.server import InFlight, Server
from heteroselect.runs.checkpoint import Arrays, Checkpoints, DamagedError
from heteroselect.runs.experiment import Experiment
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.folder import FINGERPRINT, RunFolder, rounds_sha256, whole_rounds
from heteroselect.runs.guard import is_line
from heteroselect.runs.store import DiskStore, Uploads, clear
from heteroselect.settings import SimulateSettings
from heteroselect.settings.renamed import current_state
from heteroselect.world.faults import KINDS as FAULTS

STORE = "store"
_UPLOAD = "upload."


@dataclass
class Progress:
    """The server, what clients keep, the rounds so far, and the wall time they took."""

    server: Server
    kept: MutableMapping[int, PartState]
    uploads: MutableMapping[int, Update]
    """What the server remembers of each client's last upload; the server's population reads it."""
    cells: int
    """Of what the server remembers an update by: all coordinates, or a sketch's cells."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    origin: str = ""
    """What the run started from: the method's name, the initial model and the clients' sizes, as one digest."""
    stages: tuple[str, ...] = ()
    """The digests of the run's fingerprint, from now back to its beginning."""

    @staticmethod
    def start(experiment: Experiment, folder: Path | None) -> "Progress":
        """Before the first round, with nothing remembered."""
        server, kept = experiment.server(), _kept(experiment, folder)
        cells = experiment.method.sketch or len(experiment.weights.vector)
        uploads: MutableMapping[int, Update] = {}
        if isinstance(kept, DiskStore):
            uploads = Uploads(DiskStore(kept.folder / "uploads", 0), cells)
        server = replace(server, population=replace(server.population, uploads=uploads))
        origin = hashlib.sha256(experiment.method.name.encode() + server.weights.sha256().encode())
        origin.update(server.population.sizes.tobytes() + " ".join(experiment.own).encode())
        return Progress(server, kept, uploads, cells, origin=origin.hexdigest())

    def save(self, checkpoints: Checkpoints, changed: set[int], folder: RunFolder) -> None:
        clients = {client: self._client(client) for client in changed}
        facts = {
            "seconds": self.seconds,
            "origin": self.origin,
            "fingerprint": folder.fingerprint and folder.fingerprint.sha256,
            "rounds_sha256": folder.rounds_sha256,
        }
        checkpoints.save(len(self.lines), server_arrays(self.server), clients, changed, facts)

    def restore(self, checkpoints: Checkpoints, round: int, lines: list[dict[str, Any]]) -> None:
        """Take over the checkpoint after `round`, or DamagedError."""
        found = checkpoints.load(round)
        if len(lines) < round:
            raise DamagedError(f"{len(lines)} of {round} rounds are left in the log")
        written = found.facts.get("rounds_sha256")
        if written is not None and written != rounds_sha256(checkpoints.run, round):
            raise DamagedError(f"the first {round} rounds in the log are not those that were played")
        if found.facts.get("origin") != self.origin:
            raise FolderError(
                "resume: the checkpoint is of another experiment; hand over the model, data, method, world, "
                "loss and metric of its run."
            )
        noted = found.facts.get("fingerprint")
        if noted is not None and noted not in self.stages:
            raise FolderError(f"resume: {FINGERPRINT} is not what the run was begun with; put that one back.")
        try:
            server = restored(self.server, found.server, round)
            for client in found.clients:
                arrays = checkpoints.client(client)
                kept = current_state({n: array for n, array in arrays.items() if not n.startswith(_UPLOAD)})
                upload = {
                    name.removeprefix(_UPLOAD): array for name, array in arrays.items() if name.startswith(_UPLOAD)
                }
                self.kept[client] = kept
                if upload:
                    self.uploads[client] = Update.of(upload, self.cells)
            self.seconds = float(found.facts["seconds"])
        except (KeyError, ValueError, TypeError) as error:
            raise DamagedError(f"it is not of this run ({error})") from error
        self.lines, self.server = lines[:round], server

    def _client(self, client: int) -> Arrays:
        upload = self.uploads[client].arrays() if client in self.uploads else {}
        return {**self.kept.get(client, {}), **{_UPLOAD + name: array for name, array in upload.items()}}


def _kept(experiment: Experiment, folder: Path | None) -> MutableMapping[int, PartState]:
    if experiment.config.simulate.store == "memory":
        return {}
    if folder is None:
        raise SettingError("simulate.store: disk needs a run folder; name one (out=…), or choose memory.")
    clear(folder / STORE)  # a killed run's: what counts is in its checkpoint
    return DiskStore(folder / STORE, experiment.config.selected)


def find_latest(
    experiment: Experiment,
    path: Path,
    warn: Callable[[str], None],
    fingerprint: Fingerprint | None = None,
    place: Path | None = None,
) -> tuple[Progress, Checkpoints]:
    """The newest checkpoint that is whole, with a warning for each that is not; the start where there is none."""
    checkpoints = Checkpoints(path, place)
    lines = list(takewhile(is_line, whole_rounds(path, experiment.config.last_round)))
    for round in checkpoints.rounds():
        progress = Progress.start(experiment, path)
        progress.stages = tuple(one.sha256 for one in fingerprint.stages()) if fingerprint else ()
        try:
            progress.restore(checkpoints, round, lines)
        except DamagedError as error:
            warn(f"the checkpoint after round {round} is damaged and left aside: {error}")
            checkpoints.forget(round)
        else:
            return progress, checkpoints
    return Progress.start(experiment, path), Checkpoints(path, place)


SECONDS = 60.0
"""Wall time that a crash may cost, where checkpoints are not written every so many rounds."""


class Pace:
    """When the next checkpoint is due: so that a crash costs no more than SECONDS, or every so many rounds."""

    def __init__(self, settings: SimulateSettings) -> None:
        self.settings, self.saved = settings, time.perf_counter()
        self.before, self.longest = self.saved, 0.0

    def due(self, round: int) -> bool:
        """Asked after every round."""
        now = time.perf_counter()
        self.longest, self.before = max(self.longest, now - self.before), now
        if self.settings.checkpoint_rounds:
            return round % self.settings.checkpoint_rounds == 0
        return now - self.saved + self.longest > SECONDS

    def done(self) -> None:
        self.saved = self.before = time.perf_counter()


def server_arrays(server: Server) -> Arrays:
    """The server's state as named arrays."""
    population = server.population
    arrays: dict[str, Any] = {
        "weights": server.weights.vector.numpy(),
        "counts": population.counts,
        "last_round": population.last_round,
        "now": np.array(server.now),
    }
    arrays |= {f"report.{name}": values for name, values in population.reports.items()}
    arrays |= {f"buffer.{name}": buffer.numpy() for name, buffer in server.weights.buffers.items()}
    arrays |= {f"state.{name}": array for name, array in flat(server.state).items()}
    return arrays | {f"flight.{name}": array for name, array in flight_arrays(server.flights).items()}


def restored(server: Server, arrays: Arrays, round: int) -> Server:
    """`server` with the state in `arrays`, after `round`; its store of uploads is filled by others."""

    def group(prefix: str) -> dict[str, Any]:
        return {name.removeprefix(prefix): a.copy() for name, a in arrays.items() if name.startswith(prefix)}

    vector = torch.from_numpy(arrays["weights"].copy())
    if vector.shape != server.weights.vector.shape or len(arrays["counts"]) != len(server.population):
        raise ValueError("another model or another number of clients")
    weights = Weights(vector, {name: torch.from_numpy(a) for name, a in group("buffer.").items()})
    population = replace(
        server.population,
        counts=arrays["counts"].copy(),
        last_round=arrays["last_round"].copy(),
        reports=group("report."),
    )
    flights = flights_of(group("flight."), weights)
    return Server(weights, population, by_role(current_state(group("state."))), round, float(arrays["now"]), flights)


def flight_arrays(flights: Sequence[InFlight]) -> Arrays:
    """Those at work as named arrays: one column per number, and every model that one of them started from once. Their
    uploads are not among them: they follow from order, model and what the client keeps."""
    if not flights:
        return {}
    orders = {name: np.array([getattr(one.order, name) for one in flights]) for name in _ORDER}
    own = {name: np.array([getattr(one, name) for one in flights]) for name in _OWN}
    fates = {"fate": np.array([_FATES.index(one.fate) for one in flights])}
    arrays = {**orders, **own, **fates}
    for one in flights:
        arrays[f"model.{one.order.round}"] = one.model.vector.numpy()
        arrays |= {f"buffer.{one.order.round}.{name}": b.numpy() for name, b in one.model.buffers.items()}
    return arrays


def flights_of(arrays: Arrays, like: Weights) -> tuple[InFlight, ...]:
    """The other way round; their clients have yet to train again."""
    found, models = [], dict[int, Weights]()
    for place in range(len(arrays.get("client", ()))):
        order = Order(**{name: arrays[name][place].item() for name in _ORDER})
        if order.round not in models:
            buffers = {name: torch.from_numpy(arrays[f"buffer.{order.round}.{name}"]) for name in like.buffers}
            models[order.round] = Weights(torch.from_numpy(arrays[f"model.{order.round}"]), buffers)
        own = {name: arrays[name][place].item() for name in _OWN}
        found.append(InFlight(order, models[order.round], **own, fate=_FATES[int(arrays["fate"][place])]))
    return tuple(found)


_ORDER = tuple(one.name for one in fields(Order))
_OWN = ("start", "seconds", "dropped", "link", "down", "compute", "up", "inclusion", "theta")
_FATES = ("", *FAULTS)
