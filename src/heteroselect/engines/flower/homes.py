"""Which node each client is at.

Node ids are Flower's and new with every start; a client is known by its number (the partition), and nodes of which no
client is known are asked which clients they have. Flower checks that a node holds the key that it was registered with,
and tells the server which that is: where nodes have registered keys, a client belongs to one for the whole run. Whoever
holds another key does not get the client, not even while its owner is silent.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ConfigRecord

from heteroselect.core.arrays import Counts
from heteroselect.engines.flower.checks import believable_clients
from heteroselect.engines.flower.notes import Notes
from heteroselect.engines.flower.post import Transport, content_of, message_to
from heteroselect.engines.flower.records import Header, Hello, Present, from_record
from heteroselect.errors import HeteroSelectError
from heteroselect.round.claims import bounded_examples

_log = logging.getLogger(__name__)
ARRIVAL = 300.0  # seconds in which all clients should have a node: to start takes longer than to answer
PATIENCE = 60.0  # seconds to wait for a node to name its clients, and until a silent one is asked again
LIFE_SIGN = 20.0  # seconds in which a node answers whose client another one claims


@dataclass
class NodeDirectory:
    """The node of each of so many clients (`at`), and how many examples each client has: where the server does not know
    (`examples`), the first claim holds for the whole run. `owners` are the digests of the keys that clients belong to:
    known by a command that has registered the keys itself, else those of the first that bring them. `silent` are nodes
    that gave no answer at all when they were asked last, and `more` goes along with every message."""

    post: Transport
    clients: int
    notes: Notes
    run: str
    more: Mapping[str, ConfigRecord] = field(default_factory=dict)
    examples: dict[int, int] = field(default_factory=dict)
    owners: dict[int, str] = field(default_factory=dict)
    at: dict[int, int] = field(default_factory=dict)
    silent: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._claimed = dict(self.examples)
        self._lived: dict[int, int] = {}  # the last home of each client, also where it is gone
        self._tried: dict[int, float] = {}  # when nodes were asked for their clients

    def gather(self, timeout: float) -> None:
        """Wait until every client has a node."""
        patience = max(timeout, ARRIVAL)
        until, there = time.monotonic() + patience, -1
        self.meet(PATIENCE)
        while len(self.at) < self.clients:
            if time.monotonic() > until:
                missing = [client for client in range(self.clients) if client not in self.at]
                raise HeteroSelectError(
                    f"flower: {len(missing)} of {self.clients} clients have no node after {patience:g} s "
                    f"(the first is client {missing[0]}); start their SuperNodes, or lower `clients`."
                )
            if len(self.at) != there:
                there = len(self.at)
                _log.warning("%d of %d clients have a node; waiting for the others", there, self.clients)
            time.sleep(0.5)
            self.meet(PATIENCE)

    def meet(self, patience: float) -> None:
        """Ask nodes of which no client is known, now and then. (A node that starts again has a new number.) Where two
        claim the same client, the one that was there first keeps it for as long as it answers: it is asked again,
        unless it has just let a whole timeout pass."""
        keys, patience = self.post.nodes(), min(patience, PATIENCE)
        self.at = {client: node for client, node in self.at.items() if node in keys}
        found = self._hello(self._strangers(keys), patience)
        claims = [(client, node) for node in found for client in found[node] if self._admits(client, node, keys[node])]
        rivals = {self.at[client] for client, _ in claims if client in self.at}
        still = self._hello(sorted(rivals - self.silent), min(LIFE_SIGN, patience))
        taken = set[int]()
        for client, node in claims:
            if client in taken or client in still.get(self.at.get(client, -1), {}):
                self.notes.trouble(client, "another node claims it, too", kind="claim", node=node)
            else:
                self._move(client, node, found[node][client])
                taken.add(client)
                if keys[node]:  # one that lasts
                    self.owners.setdefault(client, keys[node])

    def heard(self, client: int) -> bool:
        """Whether the client's node answered anything when it was asked last."""
        return client in self.at and self.at[client] not in self.silent

    def registered(self, client: int, claimed: int) -> int:
        """How many examples the client is taken to have. A claim that is not its first, which counts, is noted."""
        first = self._claimed.setdefault(client, claimed)
        if first != claimed:
            self.notes.trouble(client, f"it claims {claimed} examples, and {first} are registered", kind="claim")
        return self.examples.setdefault(client, claimed)

    def sizes(self, bound: float) -> Counts:
        """How many examples each client is taken to have: no more than `bound` times the median of what all claim."""
        sizes, events = bounded_examples(np.array([self.examples[k] for k in range(self.clients)], np.int64), bound)
        self.notes.claims(events)
        self.examples = dict(enumerate(sizes.tolist()))
        return sizes

    def _strangers(self, there: Mapping[int, str]) -> list[int]:
        """The nodes of which no client is known, and that were not asked for a while."""
        now = time.monotonic()
        self._tried = {node: when for node, when in self._tried.items() if node in there}
        strange = sorted(set(there) - set(self.at.values()))
        new = [node for node in strange if now - self._tried.get(node, -PATIENCE) >= PATIENCE]
        self._tried |= dict.fromkeys(new, now)
        return new

    def _admits(self, client: int, node: int, key: str) -> bool:
        """Whether a node with this key may have the client."""
        mine = self.owners.get(client, key) == key
        if not mine:
            self.notes.trouble(client, "a node with another key claims it", kind="claim", node=node)
        return mine

    def _move(self, client: int, node: int, examples: int) -> None:
        """The client is at this node from now on. How many examples it has was said before, and stays."""
        self.registered(client, examples)
        if self._lived.get(client, node) != node:
            self.notes.trouble(client, "it is at another node than before", node=node)
        self.at[client] = self._lived[client] = node

    def _hello(self, nodes: Sequence[int], patience: float) -> dict[int, dict[int, int]]:
        """Which clients each node that answers has, and how many examples each."""
        header = Header(self.run, 0, Hello.__name__)
        messages = [message_to(node, header, Hello(), self.more, patience) for node in nodes]
        found: dict[int, dict[int, int]] = {}
        for message in self.post.exchange(messages, patience) if messages else []:
            node = message.metadata.src_node_id
            try:
                found[node] = believable_clients(from_record(Present, content_of(message)), self.clients)
            except (ValueError, TypeError, OverflowError) as error:
                self.notes.stray(node, str(error))
        return found
