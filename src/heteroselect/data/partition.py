"""Deal one data set out to many clients, as unlike each other as the experiment wants them.

Labels go in, one array of example numbers a client comes out, in ascending order. Nearly every rule writes
an `owner` for each example (-1: nobody), so that no example can end up with two clients; only
`missing_authors`, which reproduces a published overlap, does without. Nobody is ever left empty.
"""

from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from heteroselect.errors import SettingError

Ints = NDArray[np.int64]
Labels = NDArray[np.integer[Any]]
Shares = list[Ints]

NOBODY = -1


def split(
    labels: NDArray[Any],
    clients: int,
    rule: str,
    rng: Generator,
    *,
    classes: int | None,
    fraction: float,
    absent: int,
    alpha: float,
    shards_per_client: int,
    authors: bool,
) -> Shares:
    """Apply the rule named in the settings; a number that belongs to another rule is not looked at.

    `classes` is None where the targets are not class numbers; then only "iid" makes sense. `authors` picks the drawing
    of the paper's authors' code, flaws included, to reproduce their tables; they drew dominant and missing.
    """
    if rule == "iid":
        return iid(len(labels), clients, rng)
    if classes is None:
        raise SettingError(f"data.partition must be iid, not {rule}, for data without a class label per example.")
    if rule == "dominant":
        return (dominant_authors if authors else dominant)(labels, clients, fraction, rng, classes=classes)
    if rule == "missing":
        return (missing_authors if authors else missing)(labels, clients, absent, rng, classes=classes)
    if rule == "dirichlet":
        return dirichlet(labels, clients, alpha, rng, classes=classes)
    return shards(labels, clients, shards_per_client, rng)


def iid(n: int, clients: int, rng: Generator) -> Shares:
    """Shuffle and cut: sizes differ by one at most, and every example is used."""
    _check_clients(n, clients)
    return [np.sort(part) for part in np.array_split(rng.permutation(n), clients)]


def dominant(labels: Labels, clients: int, fraction: float, rng: Generator, *, classes: int) -> Shares:
    """Give each client n // clients examples, `fraction` of them from one class drawn for it.

    The rest is spread evenly over the other classes. A class that many clients favour runs short: its fans
    come first, each served in full while it lasts, and what is missing elsewhere is filled at random.
    A fraction of 0 is IID, as in the paper's Table II, although by the rule it would be a missing class and
    1 / classes the fraction that favours nothing.
    """
    owner = _unowned(labels, clients)
    size = len(labels) // clients
    if fraction == 0:
        return _shares(_fill(owner, labels, np.full(clients, NOBODY), size, rng), clients, rng)
    favourite = rng.integers(classes, size=clients)
    lead = round(fraction * size)
    each, extra = divmod(size - lead, max(1, classes - 1))
    # Ranks of random numbers choose who gets one more of which class; the favourite, ranked last, never does.
    luck = rng.random((clients, classes))
    luck[np.arange(clients), favourite] = 1
    one_more = luck.argsort(axis=1).argsort(axis=1) < extra
    for c, pool in enumerate(_pools(labels, classes, rng)):
        fans, others, lucky = (
            rng.permutation(np.flatnonzero(chosen)) for chosen in (favourite == c, favourite != c, one_more[:, c])
        )
        _deal(owner, pool, np.concatenate([np.repeat(fans, lead), np.tile(others, each), lucky]))
    return _shares(_fill(owner, labels, favourite, size, rng), clients, rng)


def dominant_authors(labels: Labels, clients: int, fraction: float, rng: Generator, *, classes: int) -> Shares:
    """Draw as the paper's authors do: client after client from shrinking pools that nobody refills.

    Late clients come out smaller than early ones, and a fraction of 0 leaves one class out.
    """
    owner = _unowned(labels, clients)
    size = len(labels) // clients
    lead = int(fraction * size)
    each = (size - lead) // max(1, classes - 1)
    pools = _pools(labels, classes, rng)
    for client in range(clients):
        favourite = rng.integers(classes)
        for c, pool in enumerate(pools):
            pools[c] = _deal(owner, pool, np.full(lead if c == favourite else each, client))
    return _shares(owner, clients, rng)


def missing(labels: Labels, clients: int, absent: int, rng: Generator, *, classes: int) -> Shares:
    """Withhold `absent` random classes from each client; a class is dealt in equal, disjoint parts.

    A part is what each client would get if all held the class, so that fewer holders do not mean more data
    each. The surplus, and a class without any holder, stay unused.
    """
    owner = _unowned(labels, clients)
    held = _held(clients, absent, classes, rng)
    for c, pool in enumerate(_pools(labels, classes, rng)):
        holders = rng.permutation(np.flatnonzero(held[:, c]))
        _deal(owner, pool, np.tile(holders, _part(pool, clients)))
    # An empty client came too late for every class it holds, so what is still unused is of classes it lacks.
    return _shares(owner, clients, rng)


def missing_authors(labels: Labels, clients: int, absent: int, rng: Generator, *, classes: int) -> Shares:
    """Draw as the paper's authors do: each client on its own, so that clients share some examples."""
    _check_clients(len(labels), clients)
    held = _held(clients, absent, classes, rng)
    pools = _pools(labels, classes, rng)
    shares = []
    for row in held:
        drawn = [rng.choice(pools[c], _part(pools[c], clients), replace=False) for c in np.flatnonzero(row)]
        share = np.sort(np.concatenate(drawn))
        shares.append(share if share.size else rng.integers(len(labels), size=1))
    return shares


def dirichlet(labels: Labels, clients: int, alpha: float, rng: Generator, *, classes: int) -> Shares:
    """Cut each class by proportions drawn from Dirichlet(alpha): the smaller alpha, the fewer its holders."""
    owner = _unowned(labels, clients)
    alpha = max(alpha, 1e-300)  # below this 1 / alpha overflows, and one client takes all long before
    for pool in _pools(labels, classes, rng):
        # Gamma(a) = Gamma(a + 1) · U^(1/a), taken as logarithms: for a small alpha all of the plain draws
        # may underflow to zero, and their proportions would be 0 / 0.
        logs = np.log(rng.standard_gamma(alpha + 1, clients)) - rng.standard_exponential(clients) / alpha
        weights = np.exp(logs - logs.max()).cumsum()
        ends = np.rint(weights / weights[-1] * len(pool)).astype(np.int64)
        # In a fixed order rounding would favour the same clients in every small class.
        _deal(owner, pool, np.repeat(rng.permutation(clients), np.diff(ends, prepend=0)))
    return _shares(owner, clients, rng)


def shards(labels: Labels, clients: int, per_client: int, rng: Generator) -> Shares:
    """Sort by label, cut into equal shards and deal each client `per_client` of them: few classes each."""
    owner = _unowned(labels, clients)
    shuffled = rng.permutation(len(labels))
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    receivers = rng.permutation(np.repeat(np.arange(clients), per_client))
    for receiver, shard in zip(receivers, np.array_split(by_label, len(receivers)), strict=True):
        owner[shard] = receiver
    return _shares(owner, clients, rng)


def _pools(labels: Labels, classes: int, rng: Generator) -> list[Ints]:
    """Return the examples of each class, shuffled, so that taking from the front is drawing at random."""
    if labels.min() < 0 or labels.max() >= classes:
        raise SettingError(
            f"labels must be class numbers from 0 to {classes - 1}, not {labels.min()} to {labels.max()}."
        )
    shuffled = rng.permutation(len(labels))
    return [shuffled[labels[shuffled] == c] for c in range(classes)]


def _deal(owner: Ints, pool: Ints, turns: Ints) -> Ints:
    """Hand the pool out, one example a turn, until turns or examples run out; return the rest of the pool."""
    owner[pool[: len(turns)]] = turns[: len(pool)]
    return pool[len(turns) :]


def _fill(owner: Ints, labels: Labels, favourite: Ints, size: int, rng: Generator) -> Ints:
    """Bring every client to `size` with unowned examples at random, of its favourite class only if it must.

    Without the exception the fill would push clients beyond the fraction that was asked for.
    """
    free = rng.permutation(np.flatnonzero(owner == NOBODY))
    lacking = size - np.bincount(owner[owner != NOBODY], minlength=len(favourite))
    slots = np.full(len(free), NOBODY)
    slots[: lacking.sum()] = np.repeat(np.arange(len(favourite)), lacking)
    avoid, given = np.where(slots == NOBODY, NOBODY, favourite[slots]), labels[free]
    for i in np.flatnonzero(avoid == given):
        partners = np.flatnonzero((avoid != avoid[i]) & (given != avoid[i]))
        # A partner may have resolved slot i already; if there is none, no arrangement spares this slot.
        if avoid[i] == given[i] and partners.size:
            j = rng.choice(partners)
            free[[i, j]], given[[i, j]] = free[[j, i]], given[[j, i]]
    owner[free] = slots
    return owner


def _shares(owner: Ints, clients: int, rng: Generator) -> Shares:
    """Turn owners into shares, after an unused example or one of the largest client for each empty one."""
    sizes = np.bincount(owner[owner != NOBODY], minlength=clients)
    for client in np.flatnonzero(sizes == 0):
        largest = sizes.argmax()
        unused = np.flatnonzero(owner == NOBODY)
        if not unused.size:
            sizes[largest] -= 1
        owner[rng.choice(unused if unused.size else np.flatnonzero(owner == largest))] = client
        sizes[client] = 1
    # Sorted by owner the unused examples lie in front, then client after client.
    start = len(owner) - sizes.sum()
    return np.split(np.argsort(owner, kind="stable"), start + np.append(0, sizes.cumsum()))[1:-1]


def _held(clients: int, absent: int, classes: int, rng: Generator) -> NDArray[np.bool_]:
    """Decide which client holds which class: all but `absent` in each row."""
    if absent >= classes:
        raise SettingError(f"data.missing_classes must lie in 0..{classes - 1}, not {absent}.")
    return rng.permuted(np.tile(np.arange(classes), (clients, 1)), axis=1) >= absent


def _part(pool: Ints, clients: int) -> int:
    """Say how much of a class one holder gets: its part among all clients, but not less than one."""
    return min(len(pool), max(1, len(pool) // clients))


def _unowned(labels: Labels, clients: int) -> Ints:
    _check_clients(len(labels), clients)
    return np.full(len(labels), NOBODY)


def _check_clients(n: int, clients: int) -> None:
    if clients > n:
        raise SettingError(f"clients must lie between 1 and the {n} examples there are, not {clients}.")
