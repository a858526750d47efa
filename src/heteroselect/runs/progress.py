"""How far a run has come: all of its state, and how that goes to disk and comes back."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
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
from heteroselect.runs.folder import FINGERPRINT, RunFolder, remove, rounds_sha256, whole_rounds
from heteroselect.runs.store import DiskStore, Uploads
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

    @staticmethod
    def start(experiment: Experiment, folder: Path | None) -> "Progress":
        """Before the first round, with nothing remembered."""
        server, kept = experiment.server(), _kept(experiment, folder)
        cells = experiment.method.sketch or len(experiment.weights.vector)
        uploads: MutableMapping[int, Update] = {}
        if isinstance(kept, DiskStore):
            uploads = Uploads(DiskStore(kept.folder / "uploads", 0), cells)
        server = replace(server, population=replace(server.population, uploads=uploads))
        return Progress(server, kept, uploads, cells)

    def save(self, checkpoints: Checkpoints, changed: set[int], folder: RunFolder) -> None:
        clients = {client: self._client(client) for client in changed}
        facts = {"seconds": self.seconds, **folder.noted}
        checkpoints.save(len(self.lines), server_arrays(self.server), clients, changed, facts)

    def restore(
        self, checkpoints: Checkpoints, round: int, lines: list[dict[str, Any]], fingerprint: Fingerprint
    ) -> None:
        """Take over the checkpoint after `round`, or DamagedError."""
        found = checkpoints.load(round)
        if len(lines) < round:
            raise DamagedError(f"{len(lines)} of {round} rounds are left in the log")
        if found.facts["rounds_sha256"] != rounds_sha256(checkpoints.run, round):
            raise DamagedError(f"the first {round} rounds in the log are not those that were played")
        if found.facts["fingerprint"] not in [one.sha256 for one in fingerprint.stages()]:
            raise FolderError(f"resume: {FINGERPRINT} is not what the run was begun with; put that one back.")
        try:
            server = restored(self.server, found.server, round)
            for client in found.clients:
                arrays = checkpoints.client(client)
                upload = _group(arrays, _UPLOAD)
                self.kept[client] = current_state({n: a for n, a in arrays.items() if not n.startswith(_UPLOAD)})
                if upload:
                    self.uploads[client] = Update.of(upload, self.cells)
            self.seconds = float(found.facts["seconds"])
        except (KeyError, ValueError) as error:
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
    remove(folder / STORE)  # a killed run's: what counts is in its checkpoint
    return DiskStore(folder / STORE, experiment.config.selected)


def find_latest(
    experiment: Experiment, path: Path, warn: Callable[[str], None], fingerprint: Fingerprint
) -> tuple[Progress, Checkpoints]:
    """The newest checkpoint that is whole, with a warning for each that is not; the start where there is none."""
    checkpoints, lines = Checkpoints(path), whole_rounds(path, experiment.config.last_round)
    for round in checkpoints.rounds():
        progress = Progress.start(experiment, path)
        try:
            progress.restore(checkpoints, round, lines, fingerprint)
        except DamagedError as error:
            warn(f"the checkpoint after round {round} is damaged and left aside: {error}")
            checkpoints.forget(round)
        else:
            return progress, checkpoints
    return Progress.start(experiment, path), Checkpoints(path)


def _group(arrays: Arrays, prefix: str) -> dict[str, Any]:
    """The arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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
    arrays = {name: array.copy() for name, array in arrays.items()}
    vector = torch.from_numpy(arrays["weights"])
    if vector.shape != server.weights.vector.shape or len(arrays["counts"]) != len(server.population):
        raise ValueError("another model or another number of clients")
    weights = Weights(vector, {name: torch.from_numpy(a) for name, a in _group(arrays, "buffer.").items()})
    population = replace(
        server.population,
        counts=arrays["counts"],
        last_round=arrays["last_round"],
        reports=_group(arrays, "report."),
    )
    state = by_role(current_state(_group(arrays, "state.")))
    flights = flights_of(_group(arrays, "flight."), weights)
    return Server(weights, population, state, round, float(arrays["now"]), flights)


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
