"""To whom each client belongs: one key, for the whole run.

Flower checks that a node holds the key that it was registered with, and tells the server which that is. Whoever holds
another key does not get the client, not even while its owner is silent. A command that has registered the keys itself
knows whose they are, after every new start as well; where nobody knows, a client belongs to the first that brings it.
"""

from collections.abc import Mapping


class Owners:
    """Clients and the digests of their keys. A node without a lasting key ("") comes to own nobody."""

    def __init__(self, known: Mapping[int, str] | None = None) -> None:
        self._keys = dict(known or {})

    def admits(self, client: int, key: str) -> bool:
        """Whether a node with this key may have the client."""
        return self._keys.get(client, key) == key

    def bind(self, clients: Mapping[int, str]) -> None:
        """From now on these clients belong to these keys, where they belong to nobody yet."""
        for client, key in clients.items():
            if key:
                self._keys.setdefault(client, key)
