"""What clients claim of themselves is bounded before anything uses it: losses, lengths, how many examples they have,
how fast their links are.

A claim costs nothing and cannot be checked: a loss of 1e29 would make its client the most informative of all. So a
claim far beyond those of the others is cut to a multiple of their median, and noted.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.messages import Upload
from heteroselect.world import Event

FEWEST = 3
"""Claims of which there is a median to go by."""
LABELS = 1000
SPEEDS = 1e3, 1e12
"""The least and the most bits per second that a link can be said to carry."""


def bounded(values: Reals, bound: float) -> tuple[Reals, Counts]:
    """The values, cut to ± `bound` times the median of their amounts, and the places of those that were cut.

    What is not a number becomes the median. Zeros say nothing about what is usual, and of fewer than three there is
    no majority to go by: then, and with a bound of 0, only what is not finite is replaced, by the median of what is (0
    where nothing is).

    >>> bounded(np.array([1.0, 2.0, 3.0, 1e29]), 10)
    (array([ 1.,  2.,  3., 20.]), array([3]))
    """
    finite = np.isfinite(values)
    amounts = np.abs(values[finite & (values != 0)])
    # the lower one of two in the middle, so that half of the claims cannot move it
    median = float(np.quantile(amounts, 0.5, method="lower")) if len(amounts) else 0.0
    if not bound or len(amounts) < FEWEST:
        cut = np.where(finite, values, median)
    else:
        cut = np.clip(np.where(np.isnan(values), median, values), -bound * median, bound * median)
    return cut, np.flatnonzero(cut != values)


def bounded_losses(asked: Counts, losses: Reals, bound: float) -> tuple[Reals, list[Event]]:
    """The losses of those asked, bounded; and which were not believed."""
    found, places = bounded(losses, bound)
    return found, [_noted(int(asked[place]), "loss", losses[place], found[place]) for place in places]


def bounded_examples(sizes: Counts, bound: float) -> tuple[Counts, list[Event]]:
    """How many examples each client is taken to have, and whose claim was not believed."""
    found, places = bounded(sizes.astype(np.float64), bound)
    taken = sizes.copy()
    taken[places] = found[places].astype(np.int64)
    return taken, [_noted(int(place), "number of examples", sizes[place], taken[place]) for place in places]


def bounded_speeds(
    claimed: Mapping[int, float], known: Mapping[int, float], bound: float
) -> tuple[dict[int, float], list[Event]]:
    """The speeds of links (bit/s) that clients say they measured, and whose was not believed. Both slow and fast ones
    decide how much a client is asked for and how long a round takes, so none is further than `bound` times from the
    median of these and of those that are known.

    >>> bounded_speeds({3: 1.0, 4: 9e6}, {1: 2e6, 2: 3e6, 3: 4e6}, 10)[0]
    {3: 200000.0, 4: 9000000.0}
    """
    low, high = SPEEDS
    usual = np.clip(list({**known, **claimed}.values()), low, high)
    if bound and len(usual) >= FEWEST:
        median = float(np.quantile(usual, 0.5, method="lower"))
        low, high = max(low, median / bound), min(high, median * bound)
    found = {client: min(max(speed, low), high) for client, speed in claimed.items()}
    events = [_noted(k, "uplink", claimed[k], found[k]) for k in claimed if found[k] != claimed[k]]
    return found, events


def bounded_reports(
    uploads: Mapping[int, Upload], bound: float, labels: bool = False
) -> tuple[dict[int, Upload], list[Event]]:
    """The uploads with their reports bounded, and what was not believed. A name counts where more than half of the
    cohort report it: all clients run the same solver, and nobody can fill the server with names of its own.

    Shares of `labels`, where a part needs them, differ from client to client by their nature: they only have to be
    shares, of one of the first LABELS classes."""
    names = Counter(chain.from_iterable(upload.report for upload in uploads.values()))
    shares = set(filter(is_label, names)) if labels else set()
    known = [name for name, count in names.items() if 2 * count > len(uploads) or name in shares]
    reports = {client: {n: one.report[n] for n in known if n in one.report} for client, one in uploads.items()}
    strange = [client for client, one in uploads.items() if len(reports[client]) < len(one.report)]
    events = [Event(client, "claim", "it reported what the others do not") for client in strange]
    for name in known:
        events += _bound_in_place(reports, name, None if name in shares else bound)
    return {client: replace(one, report=reports[client]) for client, one in uploads.items()}, events


def _bound_in_place(reports: dict[int, dict[str, float]], name: str, bound: float | None) -> list[Event]:
    """Bound one number of the reports, which is a share without a `bound`; whose was not believed."""
    clients = [client for client, report in reports.items() if name in report]
    claimed = np.array([reports[client][name] for client in clients], np.float64)
    found = np.clip(np.nan_to_num(claimed), 0.0, 1.0) if bound is None else bounded(claimed, bound)[0]
    places = np.flatnonzero(found != claimed)
    for place in places:
        reports[clients[place]][name] = float(found[place])
    return [_noted(clients[place], name, claimed[place], found[place]) for place in places]


def is_label(name: str) -> bool:
    """Whether a report calls the share of one of the first LABELS classes so."""
    number = name.removeprefix("label")
    return name != number and number.isdecimal() and int(number[:9]) < LABELS


def _noted(client: int, name: str, claimed: float, taken: float) -> Event:
    return Event(client, "claim", f"its {name} of {claimed:.4g} was taken as {taken:.4g}")
