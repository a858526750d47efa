"""From the clients' answers to the aggregate: who is asked for what it learnt, what arrives, and what is believed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from heteroselect.arrays import Counts
from heteroselect.compress import Update
from heteroselect.compress.wire import WireError, decode
from heteroselect.messages import Upload
from heteroselect.method import Chooser, Method
from heteroselect.score.sketch import sketch
from heteroselect.select import Cohort
from heteroselect.streams import Streams
from heteroselect.world import Event, Speeds, World
from heteroselect.world.ledger import Messages


@dataclass(frozen=True)
class Heard:
    """What arrived and is believed, how long each answer took and all together, what went over the air,
    and what went wrong."""

    updates: dict[int, Update]
    took: dict[int, float]
    sent: Messages
    seconds: float
    events: list[Event]


def choose(
    cohort: Cohort,
    trained: dict[int, Upload],
    sizes: Counts,
    chooser: Chooser,
    size: int,
    rng: np.random.Generator,
) -> tuple[Cohort, dict[int, Upload]]:
    """Select again, among those who have trained: the cohort with what each chosen one speaks for, and who is asked."""
    here = np.array([place for place, k in enumerate(cohort.ids) if int(k) in trained], np.int64)
    ids = cohort.ids[here]
    if len(ids) == 0:
        return cohort, {}
    norms = np.array([trained[int(k)].report["norm"] for k in ids])
    chosen = chooser.choose(norms, sizes[ids] / sizes[ids].sum(), min(size, len(ids)), rng)
    inclusion, share = np.ones(len(cohort.ids)), np.zeros(len(cohort.ids))
    inclusion[here[chosen.ids]] = chosen.inclusion
    share[here[chosen.ids]] = chosen.inclusion if chosen.share is None else chosen.share
    asked = {int(k): trained[int(k)] for k in ids[chosen.ids]}
    return replace(cohort, inclusion=inclusion, share=share), asked


def listen(
    t: int,
    uploads: dict[int, Upload],
    sent: Messages,
    speeds: Speeds,
    steps: Counts,
    speaking: Sequence[bool],
    method: Method,
    world: World,
    streams: Streams,
) -> Heard:
    """Wait for the answers, let the world lose and damage some, decode the others and screen them.

    Nothing that a payload does can reach the model before it has passed here.
    """
    ids = [int(k) for k in sent.selected]
    struck = world.faults.strike(list(uploads.values()), t, streams)
    absent = ["missing" if speaks else None for speaks in speaking]
    fate = [struck.get(k) if k in uploads else none for k, none in zip(ids, absent, strict=True)]
    answers = world.clock.answers(sent, speeds, steps)
    in_time, seconds, answers = world.faults.wait(answers, fate)
    payloads, updates, events = [0] * len(ids), {}, []
    for place, (client, kind) in enumerate(zip(ids, fate, strict=True)):
        if kind == "missing":
            events.append(Event(client, "missing"))
            continue
        if client not in uploads:
            continue  # it trained, and was not asked for what it learnt
        upload = world.faults.damage(uploads[client], kind or "", sent.size, t, streams)
        payloads[place] = len(upload.payload)
        if not in_time[place]:
            events.append(Event(client, "late"))
            continue
        try:
            updates[client] = decode(upload.payload, sent.size)
        except WireError as error:
            events.append(Event(client, "rejected", str(error)))
    for client in sorted(method.screen.refused(updates)):
        del updates[client]
        events.append(Event(client, "rejected", "its update is far longer than the others'"))
    took = dict(zip(ids, answers.tolist(), strict=True))
    silent = np.array([kind == "missing" for kind in fate], bool)
    over_the_air = replace(sent, payloads=payloads, densities=np.where(silent, 0.0, sent.densities))
    return Heard(updates, took, over_the_air, seconds, events)


def signal(update: Update, method: Method, streams: Streams) -> Update:
    """What the server remembers an update by: itself, or a sketch of it."""
    return sketch(update, method.sketch, streams) if method.sketch else update
