"""What a client keeps from round to round, in files that outlive its process.

One file for each state: `…-000003.kept` is what client and server agree on after round 3; `…-000003.pending` holds
what was offered and sent in round 3, whose fate is not known yet. A file is written whole or not at all, and before
the client answers. States that the server may fall back to (its checkpoints) stay, so that a server which starts
again from a checkpoint finds every client as it was then.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from heteroselect.client import Pending
from heteroselect.compress import Kept
from heteroselect.flower.records import Settled
from heteroselect.folder import write_whole
from heteroselect.method import Method
from heteroselect.simulate.store import from_arrays, to_arrays

_NAME = re.compile(r"(\d+)\.(kept|pending)")


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
            if round == now and kind == "pending":
                continue  # still on its way: the same round may ask for more
            if round <= last and kind == "pending" and round in fate and (round, "kept") not in states:
                self._write(round, "kept", self._pending(round).settle(method, fate[round]), {})
            if round > last or kind == "pending":
                self._file(round, kind).unlink(missing_ok=True)
        rounds = sorted(round for round, kind in self._states() if kind == "kept")
        needed = max((round for round in rounds if round <= since), default=0)
        for round in rounds:
            if round < needed:
                self._file(round, "kept").unlink(missing_ok=True)
        return self._read(rounds[-1], "kept")[0] if rounds else {}

    def wait(self, round: int, pending: Pending) -> None:
        """The upload of `round` is about to leave."""
        arrays = {f"offered.{name}": array for name, array in pending.offered.items()}
        arrays |= {f"mask.{name}": array for name, array in pending.mask.items()}
        arrays |= {f"sent.{name}": array for name, array in to_arrays(pending.sent).items()}
        self._write(round, "pending", arrays, {"beta": pending.beta, "size": pending.sent.size})

    def _pending(self, round: int) -> Pending:
        arrays, facts = self._read(round, "pending")

        def group(prefix: str) -> Kept:
            return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

        sent = from_arrays(group("sent."), int(facts["size"]))
        return Pending(sent, group("offered."), group("mask."), float(facts["beta"]))

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
        self.folder.mkdir(parents=True, exist_ok=True)
        plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        write_whole(self._file(round, kind), save(plain, {"facts": json.dumps(dict(facts))}))

    def _file(self, round: int, kind: str) -> Path:
        return self.folder / f"{round:06d}.{kind}"
