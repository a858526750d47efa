"""What a client keeps from round to round, in files that outlive its process.

One file for each state: `…-000003.kept` is what client and server agree on after round 3; `…-000003.pending` holds
what was offered and sent in round 3, whose fate is not known yet; `…-000003.held` what was learnt in round 3 and is to
be sent when it is asked for. A file is written whole or not at all, and before the client answers. States that the
server may fall back to (its checkpoints) stay, so that a server which starts again from a checkpoint finds every
client as it was then.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from heteroselect.client import Learnt, Pending
from heteroselect.compress import Kept
from heteroselect.compress.update import Values
from heteroselect.flower.records import Settled
from heteroselect.messages import Order
from heteroselect.method import Method
from heteroselect.runs.folder import write_whole
from heteroselect.runs.store import from_arrays, to_arrays

_NAME = re.compile(r"(\d+)\.(kept|pending|held)")


class Memory:
    """The memory of one client in one run."""

    def __init__(self, folder: Path, run: str, client: int) -> None:
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", run)[:64]
        self.folder = folder / f"{safe}-{client:06d}"

    def settle(self, settled: Sequence[Settled], since: int, method: Method, now: int) -> Kept:
        """Bring the memory to where the server is in round `now`, and give what is kept.

        Rounds later than the last one settled have not happened, and what waits from a round that the server does
        not speak of neither: it fell back. Where an upload was not used, all that was offered in it is kept.
        """
        fate = {one.round: one.used for one in settled}
        last, states = max(fate, default=0), self._states()
        for round, kind in states:
            if round == now and kind != "kept":
                continue  # still on its way: the same round may ask for more
            if round <= last and kind == "pending" and round in fate and (round, "kept") not in states:
                self._write(round, "kept", self._pending(round).settle(method, fate[round]), {})
            if round > last or kind != "kept":
                self._file(round, kind).unlink(missing_ok=True)
        rounds = self._kept_rounds()
        needed = max((round for round in rounds if round <= since), default=0)
        for round in rounds:
            if round < needed:
                self._file(round, "kept").unlink(missing_ok=True)
        return self._before(now)

    def wait(self, pending: Pending) -> None:
        """An upload is about to leave."""
        order, sent = pending.order, pending.sent
        arrays = _named("offered.", pending.offered) | _named("mask.", pending.mask)
        arrays |= _named("sent.", to_arrays(sent)) | _shift(pending.shift)
        self._write(order.round, "pending", arrays, {"order": asdict(order), "size": sent.size})

    def hold(self, held: Learnt, model: bytes) -> None:
        """Nothing leaves yet; the model that it was learnt from is needed again when it does."""
        arrays: dict[str, Any] = {"delta": held.delta, "model": np.frombuffer(model, np.uint8), **_shift(held.shift)}
        facts = {"order": asdict(held.order), "report": dict(held.report)}
        self._write(held.order.round, "held", arrays, facts)

    def held(self, round: int) -> tuple[Learnt, bytes] | None:
        """What was learnt in `round` and not sent, and the model it was learnt from."""
        if (round, "held") not in self._states():
            return None
        arrays, facts = self._read(round, "held")
        held = Learnt(Order(**facts["order"]), arrays["delta"], facts["report"], arrays.get("shift"))
        return held, arrays["model"].tobytes()

    def _pending(self, round: int) -> Pending:
        arrays, facts = self._read(round, "pending")
        sent = from_arrays(_group("sent.", arrays), int(facts["size"]))
        offered, mask, kept = _group("offered.", arrays), _group("mask.", arrays), self._before(round)
        return Pending(sent, offered, mask, Order(**facts["order"]), kept, arrays.get("shift"))

    def _before(self, round: int) -> Kept:
        """What was kept when `round` began."""
        earlier = [one for one in self._kept_rounds() if one < round]
        return self._read(earlier[-1], "kept")[0] if earlier else {}

    def _kept_rounds(self) -> list[int]:
        return [round for round, kind in self._states() if kind == "kept"]

    def _states(self) -> list[tuple[int, str]]:
        """Round and kind of every file, in order."""
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        return sorted((int(found[1]), found[2]) for name in names if (found := _NAME.fullmatch(name)))

    def _read(self, round: int, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        try:
            with safe_open(self._file(round, kind), "numpy") as file:
                return {name: file.get_tensor(name) for name in file.keys()}, json.loads(file.metadata()["facts"])  # noqa: SIM118
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the memory in {self._file(round, kind)} is damaged ({error})") from error

    def _write(self, round: int, kind: str, arrays: Kept, facts: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # what a client has not sent is nobody's business
        plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        write_whole(self._file(round, kind), save(plain, {"facts": json.dumps(dict(facts))}))

    def _file(self, round: int, kind: str) -> Path:
        return self.folder / f"{round:06d}.{kind}"


def _named(prefix: str, arrays: Kept) -> dict[str, Any]:
    return {prefix + name: array for name, array in arrays.items()}


def _group(prefix: str, arrays: Kept) -> Kept:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _shift(shift: Values | None) -> dict[str, Any]:
    return {} if shift is None else {"shift": shift}
