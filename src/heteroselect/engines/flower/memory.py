"""What a client keeps from round to round, in files that outlive its process.

One file per state: `…-000003.kept` is what client and server agree on after round 3; `…-000003.pending` holds what was
offered and sent in round 3, whose fate is not known yet; `…-000003.held` what was learnt in round 3 and is to be sent
when it is asked for. `model.safetensors` is the model it was sent last, where that goes down as steps. A file is
written whole or not at all, and before the client answers. States that the server may fall back to (its checkpoints)
stay, so that a server which starts again from a checkpoint finds every client as it was then.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from heteroselect.core.messages import Order
from heteroselect.core.state import PartState, State, by_role, flat
from heteroselect.core.update import Values
from heteroselect.files import sweep, write_whole
from heteroselect.parts.compress import Update
from heteroselect.round.client import Learnt, Pending
from heteroselect.round.method import Method

MODEL_FILE = "model.safetensors"
_NAME = re.compile(r"(\d+)\.(kept|pending|held)")
_FILES = rf"([0-9]{{6,}}\.(kept|pending|held)|{re.escape(MODEL_FILE)})"
_OURS = re.compile(rf"(supernode-[0-9]+/)?[A-Za-z0-9_-]+-[0-9]{{6,}}/({_FILES}|\.{_FILES}\.partial)")
"""Where the memories of a run's clients lie in its folder, with those of a node in a folder of the node's."""


def forget(folder: Path) -> None:
    """Remove the memories of all clients of a run that has ended."""
    sweep(folder, _OURS)


class Memory:
    """The memory of one client in one run."""

    def __init__(self, folder: Path, run: str, client: int) -> None:
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", run)[:64]
        self.folder = folder / f"{safe}-{client:06d}"

    def acknowledge(self, settled: Mapping[int, bool], since: int, method: Method, now: int) -> State:
        """Bring the memory to where the server is in round `now`, and return what is kept. `settled` says for rounds
        whether their upload was used.

        Rounds later than the last one settled have not happened, nor has one that waits and is not among those settled:
        the server fell back. Where an upload was not used, all that was offered in it is kept.
        """
        last, states = max(settled, default=0), self._states()
        for round, kind in states:
            if round == now and kind != "kept":
                continue  # still on its way: the same round may ask for more
            if kind == "pending" and round in settled and (round, "kept") not in states:
                self._write(round, "kept", flat(self._pending(round).commit(method, settled[round])), {})
            if round > last or kind != "kept":
                self._file(round, kind).unlink(missing_ok=True)
        needed = [round for round in self._kept_rounds() if round <= since]
        for round in needed[:-1]:
            self._file(round, "kept").unlink(missing_ok=True)
        return self._before(now)

    def wait(self, pending: Pending) -> None:
        """Write down an upload that is about to leave."""
        order, sent = pending.order, pending.sent
        update = sent.arrays()
        parts = {"offered": pending.offered, "compress": pending.compress, "shared": pending.shared, "sent": update}
        self._write(order.round, "pending", flat(parts), {"order": asdict(order), "size": sent.size})

    def hold(self, held: Learnt, model: bytes) -> None:
        """Write down what is not sent yet, and the model that it was learnt from: it is needed again then."""
        whole: PartState = {"delta": held.delta, "model": np.frombuffer(model, np.uint8)}
        facts = {"order": asdict(held.order), "report": dict(held.report)}
        self._write(held.order.round, "held", flat({"held": whole, "shared": held.shared}), facts)

    def held(self, round: int) -> tuple[Learnt, bytes] | None:
        """What was learnt in `round` and not sent, and the model it was learnt from."""
        if (round, "held") not in self._states():
            return None
        parts, facts = self._read(round, "held")
        whole = parts["held"]
        held = Learnt(Order(**facts["order"]), whole["delta"], facts["report"], parts.get("shared", {}))
        return held, whole["model"].tobytes()

    def keep_model(self, round: int, vector: Values) -> None:
        """Write down the parameters of the model after `round`, in place of the last ones."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(self.folder / MODEL_FILE, save({"vector": vector}, {"round": str(round)}))

    def model(self) -> tuple[int, Values] | None:
        """The parameters kept last and their round; None where there are none, or they cannot be read."""
        try:
            with safe_open(self.folder / MODEL_FILE, "numpy") as file:
                return int(file.metadata()["round"]), file.get_tensor("vector")
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            return None

    def _pending(self, round: int) -> Pending:
        parts, facts = self._read(round, "pending")
        offered, compress, shared = (parts.get(name, {}) for name in ("offered", "compress", "shared"))
        sent = Update.of(parts["sent"], int(facts["size"]))
        return Pending(Order(**facts["order"]), sent, offered, compress, self._before(round), shared)

    def _before(self, round: int) -> State:
        """What was kept when `round` began."""
        earlier = [one for one in self._kept_rounds() if one < round]
        return self._read(earlier[-1], "kept")[0] if earlier else {}

    def _kept_rounds(self) -> list[int]:
        return [round for round, kind in self._states() if kind == "kept"]

    def _states(self) -> list[tuple[int, str]]:
        """Round and kind of every file, in order."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted((int(found[1]), found[2]) for name in names if (found := _NAME.fullmatch(name)))

    def _read(self, round: int, kind: str) -> tuple[State, dict[str, Any]]:
        try:
            with safe_open(self._file(round, kind), "numpy") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                return by_role(arrays), json.loads(file.metadata()["facts"])
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the memory in {self._file(round, kind)} is damaged ({error})") from error

    def _write(self, round: int, kind: str, arrays: PartState, facts: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what a client has not sent is nobody's business
        plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        write_whole(self._file(round, kind), save(plain, {"facts": json.dumps(dict(facts))}))

    def _file(self, round: int, kind: str) -> Path:
        return self.folder / f"{round:06d}.{kind}"
