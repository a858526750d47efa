"""What arrives: who of those who trained is asked for its update, how long answers take, what is lost or damaged on
the way, and what the server accepts."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from heteroselect.core import population
from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.messages import Upload
from heteroselect.core.streams import Streams
from heteroselect.core.traits import traits_of
from heteroselect.parts.compress import Measured, Update
from heteroselect.parts.compress.wire import WireError, decode, table_with
from heteroselect.parts.score.sketch import sketch
from heteroselect.parts.select import Cohort
from heteroselect.round.method import Chooser, Method
from heteroselect.round.stages import Arrived, Observation, RoundContext
from heteroselect.world import Event, gone
from heteroselect.world.clock import Timing
from heteroselect.world.ledger import Messages


def choose(
    cohort: Cohort, trained: dict[int, Upload], sizes: Counts, chooser: Chooser, size: int, rng: np.random.Generator
) -> tuple[Cohort, list[int]]:
    """Select again, among those who have trained: the cohort with what each chosen one stands for, and who is asked."""
    ids = np.array([k for k in cohort.ids if int(k) in trained], np.int64)
    inclusion, share = np.ones(len(cohort.ids)), np.zeros(len(cohort.ids))
    if len(ids) == 0:
        return cohort, []
    norms = np.array([trained[int(k)].report["norm"] for k in ids])
    chosen = chooser.choose(ids, norms, sizes[ids] / sizes[ids].sum(), min(size, len(ids)), rng)
    places = [int(np.flatnonzero(cohort.ids == k)[0]) for k in chosen.ids]
    inclusion[places] = chosen.inclusion
    share[places] = chosen.inclusion if chosen.share is None else chosen.share
    return replace(cohort, inclusion=inclusion, share=share), [int(k) for k in chosen.ids]


def receive(
    ctx: RoundContext, seen: Observation, uploads: dict[int, Upload], sent: Messages, passes: Reals, enough: int = 0
) -> Arrived:
    """Wait for the answers (for `enough` of them, where it is not 0), let the world lose and damage some, decode the
    others and screen them. Nothing in a payload can reach the model before it has passed here."""
    clock, faults = ctx.environment.clock, ctx.environment.faults
    timing = clock.timing(sent, seen.conditions, passes, ctx.method.score.batches, seen.now)
    answers = timing.own.spent.total
    fate = fates(ctx, seen.conditions, seen.now + timing.own.scoring, uploads, sent, answers)
    in_time, _, answers = faults.wait(answers, fate, enough)
    timing = timing.waited(lambda expected: faults.wait(expected, fate, enough)[1])
    took = dict(zip(sent.selected.tolist(), answers.tolist(), strict=True))
    return accept(ctx, uploads, sent, fate, in_time, timing, took)


def fates(
    ctx: RoundContext,
    conditions: Conditions,
    start: float,
    uploads: Mapping[int, Upload],
    sent: Messages,
    answers: Reals,
) -> list[str | None]:
    """What happens to the answer of each client, which takes so many seconds from `start` on; None: nothing does."""
    struck = ctx.environment.faults.strike(list(uploads.values()), ctx.number, ctx.streams)
    found: list[str | None] = []
    for k, left, density in zip(
        sent.selected.tolist(), gone(answers, sent.selected, conditions, start), sent.densities, strict=True
    ):
        missing = left if k in uploads else density > 0  # who is not asked for its update is not missed
        found.append("missing" if missing else struck.get(k))
    return found


def accept(
    ctx: RoundContext,
    uploads: Mapping[int, Upload],
    sent: Messages,
    fate: Sequence[str | None],
    in_time: Sequence[bool],
    timing: Timing,
    took: dict[int, float],
) -> Arrived:
    """Damage what is to be damaged, decode what is in time, and screen it."""
    method, faults, ids = ctx.method, ctx.environment.faults, sent.selected.tolist()
    codecs = table_with(getattr(method.compress, "codec", None))
    payloads, updates, events, decoding = [0] * len(ids), dict[int, Update](), list[Event](), dict[int, float]()
    for place, (client, kind) in enumerate(zip(ids, fate, strict=True)):
        if kind == "missing":
            events.append(Event(client, "missing"))
            continue
        if client not in uploads:
            continue  # it trained, and was not asked for what it learnt
        upload = faults.damage(uploads[client], kind or "", sent.size, ctx.number, ctx.streams, codecs)
        payloads[place] = len(upload.payload)
        if not in_time[place]:
            events.append(Event(client, "late"))
            continue
        began = time.perf_counter()
        try:
            update = decode(upload.payload, sent.size, codecs)
        except WireError as error:
            events.append(Event(client, "rejected", str(error)))
            continue
        finally:
            decoding[client] = time.perf_counter() - began
        if sends_too_much(update, payloads[place], float(sent.densities[place]), method):
            events.append(Event(client, "rejected", "it sent more than it was allowed to"))
        else:
            updates[client] = update
    for client in sorted(method.outlier_filter.refused(updates, ctx.server.of("outlier_filter").get("lengths"))):
        del updates[client]
        events.append(Event(client, "rejected", "its update is far longer than the others'"))
    silent = np.array([kind == "missing" for kind in fate], bool)
    over_the_air = replace(sent, payloads=payloads, densities=np.where(silent, 0.0, sent.densities))
    return Arrived(updates, took, over_the_air, events, timing, decoding)


def sends_too_much(update: Update, payload: int, density: float, method: Method) -> bool:
    """Whether an update keeps far more coordinates than were ordered, or has a payload of far more bytes where the
    density counts bits. Rules that draw at random, or go by a threshold of a sample, keep up to twice as many."""
    if isinstance(method.compress, Measured):
        return payload > method.compress.longest(update.size, density)
    keeps = traits_of(method.compress).promises("keeps_density")
    return keeps and update.positions.size > 2 * density * update.size + 64


def remembered(update: Update, method: Method, streams: Streams) -> Update:
    """What the server remembers an update by: itself, or a sketch of it."""
    return sketch(update, method.sketch, streams) if method.sketch else population.remembered(update)
