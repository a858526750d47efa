"""Where what clients keep lies between rounds: in memory, or on disk with only the active ones in memory.

A client of 2.8 million parameters keeps 11 MB of error memory, and the server as much again of its last upload. A
hundred of them fit in memory, a thousand do not. Both kinds of store are mappings from a client's number to its named
arrays; a store on disk gives arrays that are mapped from their files, and the operating system keeps what it can.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, MutableMapping
from pathlib import Path

import numpy as np

from heteroselect.core.state import PartState
from heteroselect.parts.compress import Update
from heteroselect.runs.folder import as_user_error


class DiskStore(MutableMapping[int, PartState]):
    """One file an array. The last `active` clients stored or asked for are in memory as they are."""

    def __init__(self, folder: Path, active: int = 16) -> None:
        self.folder, self.active = folder, active
        with as_user_error(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._names: dict[int, list[str]] = {}
        self._recent: OrderedDict[int, PartState] = OrderedDict()
        self._lock = threading.Lock()  # workers read while others read

    def __setitem__(self, client: int, kept: PartState) -> None:
        for name, array in kept.items():
            file, partial = self._file(client, name), self._file(client, f"{name}.partial")
            with as_user_error(self.folder):
                partial.unlink(missing_ok=True)
                with partial.open("xb") as out:
                    np.save(out, array, allow_pickle=False)
                partial.replace(file)  # whoever has the old one mapped goes on reading it
        with self._lock:
            self._names[client] = list(kept)
            self._remember(client, kept)

    def __getitem__(self, client: int) -> PartState:
        with self._lock:
            if client in self._recent:
                self._recent.move_to_end(client)
                return self._recent[client]
            names = self._names[client]
        kept: PartState = {name: np.load(self._file(client, name), mmap_mode="r", allow_pickle=False) for name in names}
        return kept

    def __delitem__(self, client: int) -> None:
        with self._lock:
            for name in self._names.pop(client):
                self._file(client, name).unlink(missing_ok=True)
            self._recent.pop(client, None)

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _remember(self, client: int, kept: PartState) -> None:
        self._recent[client] = kept
        self._recent.move_to_end(client)
        while len(self._recent) > self.active:
            self._recent.popitem(last=False)

    def _file(self, client: int, name: str) -> Path:
        return self.folder / f"{client}-{name}.npy"


class Uploads(MutableMapping[int, Update]):
    """The last uploads, in a store of arrays."""

    def __init__(self, store: MutableMapping[int, PartState], size: int) -> None:
        self.store, self.size = store, size

    def __setitem__(self, client: int, update: Update) -> None:
        self.store[client] = update.arrays()

    def __getitem__(self, client: int) -> Update:
        return Update.of(self.store[client], self.size)

    def __delitem__(self, client: int) -> None:
        del self.store[client]

    def __iter__(self) -> Iterator[int]:
        return iter(self.store)

    def __len__(self) -> int:
        return len(self.store)
