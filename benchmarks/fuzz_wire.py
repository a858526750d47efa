"""A million broken payloads of every codec: each must be refused with WireError, or be a whole update. Run it with
`make fuzz`, which keeps what came of it in benchmarks/results/fuzz.md and fuzz.json.

Every mutation starts from an honest payload of some kind. Half of them get a checksum that fits, as a liar would
send it, so that what stands behind the checksum is tried too. One honest payload in a few hundred is of a large model,
because it is there that a decoder can be made to work for long. The seed is fixed: the same payloads every time.
"""

import argparse
import json
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import zstandard
from machine import description, markdown

from heteroselect.core.update import Update
from heteroselect.parts.compress import BFloat16, Drive, Float16, Float32, Ternary, UniformValues, wire
from heteroselect.parts.compress.positions import _COUNT, _SEGMENT, ENTROPY
from heteroselect.parts.compress.wire import TABLE, WireError, decode, encode

HEADER = wire._HEADER.size
RESULTS = Path(__file__).parent / "results"
Rng = np.random.Generator

VALUES = (Float32(), Float16(), BFloat16(), *(UniformValues(bits) for bits in (2, 3, 4, 8)))
ROTATING = (Drive(4), Drive(9), Ternary(8), Ternary(9, "energy"), Ternary(11))
NAMES = {0: "float32", 1: "float16", 2: "bfloat16", 3: "grid", 4: "rotated", 5: "rotated, with a tail", 6: "ternary"}
LONGEST = 5.0  # µs of a processor for each byte and coordinate of a large payload; the slowest took 0.3 of them
ALLOWANCE = 100_000  # bytes that decoding may take whatever it is given: the coder's tables
PIECES = 40  # that the payloads are tried in, each with a generator of its own
LARGE, OFTEN = 1 << 18, 0.003  # coordinates of a large model, and how many of the honest payloads are of one


def honest(rng: Rng) -> tuple[bytes, int]:
    """A payload of random size, density, layers and kind of value."""
    size = int(rng.integers(1, LARGE if rng.random() < OFTEN else 3000))
    if rng.random() < 0.2:
        size = size if rng.random() < 0.5 else -(-size // 16) * 16  # with a tail, and without
        v = rng.normal(size=size) * np.repeat(rng.integers(0, 4, -(-size // 256)), 256)[:size]
        here: Any = SimpleNamespace(rng=rng)  # all that these look at
        update, _ = ROTATING[rng.integers(len(ROTATING))].compress(v.astype(np.float32), float(rng.random()), here)
        return encode(update), size
    kept = int(min(size, rng.integers(0, size + 1) if rng.random() < 0.5 else rng.integers(0, 40)))
    positions = np.sort(rng.choice(size, kept, replace=False))
    plain = Update(size, positions, rng.normal(size=kept).astype(np.float32))
    layers = sorted({*rng.integers(1, size + 1, 3).tolist(), size})
    return encode(VALUES[rng.integers(len(VALUES))].apply(plain, layers, rng), layers), size


def truncate(payload: bytes, rng: Rng) -> bytes:
    return payload[: rng.integers(len(payload))]


def flip(payload: bytes, rng: Rng) -> bytes:
    broken = bytearray(payload)
    for at in rng.integers(0, len(broken), rng.integers(1, 5)):
        broken[at] ^= int(rng.integers(1, 256))
    return bytes(broken)


def insert(payload: bytes, rng: Rng) -> bytes:
    at = rng.integers(len(payload) + 1)
    return payload[:at] + rng.bytes(rng.integers(1, 20)) + payload[at:]


def claim(payload: bytes, rng: Rng) -> bytes:
    """Another number in one field of the header."""
    fields = list(wire._HEADER.unpack_from(payload))
    which = int(rng.integers(2, 9))
    limit = 256 if which in (4, 5, 6) else 2**32
    near = int(fields[which] + rng.integers(-3, 4)) % limit
    fields[which] = near if rng.random() < 0.5 else int(rng.integers(limit))
    return wire._HEADER.pack(*fields) + payload[HEADER:]


def bomb(payload: bytes, rng: Rng) -> bytes:
    """Positions that are a tiny block of a hundred million bytes."""
    fields = list(wire._HEADER.unpack_from(payload))
    old = fields[8]
    fields[6], fields[8] = int(rng.integers(1, 3)), len(BOMB)
    return wire._HEADER.pack(*fields) + BOMB + payload[HEADER + old :]


def crowd(payload: bytes, rng: Rng) -> bytes:
    """Positions in as many segments as fit the header, each with as large a table as it may have."""
    fields = list(wire._HEADER.unpack_from(payload))
    size, kept, old = fields[2], fields[3], fields[8]
    count = int(min(size, max(1, kept), 2 ** rng.integers(0, 16)))
    sizes, counts = (np.diff(np.linspace(0, n, count + 1).astype(np.int64)) for n in (size, kept))
    table = b"".join(
        _SEGMENT.pack(n, k, 0, min(n - k, 4095) if 0 < k < n else 0) for n, k in zip(sizes, counts, strict=True)
    )
    words = rng.integers(1, 2**32, kept // 4 + 1, np.uint32).astype("<u4").tobytes()
    positions = _COUNT.pack(count, len(words) // 4) + table + words
    fields[6], fields[8] = ENTROPY, len(positions)
    return wire._HEADER.pack(*fields) + positions + payload[HEADER + old :]


BOMB = zstandard.ZstdCompressor().compress(b"\0" * 100_000_000)
MUTATIONS: dict[str, Callable[[bytes, Rng], bytes]] = {
    "truncated": truncate,
    "flipped": flip,
    "inserted": insert,
    "false claim": claim,
    "bomb": bomb,
    "many segments": crowd,
}


def resigned(payload: bytes) -> bytes:
    """The same with a checksum that fits."""
    if len(payload) < HEADER:
        return payload
    *fields, _ = wire._HEADER.unpack_from(payload)
    body = payload[HEADER:]
    return wire._HEADER.pack(*fields, wire._checksum(tuple(fields[2:]), body)) + body


def is_whole(update: Update, size: int) -> bool:
    rising = bool((np.diff(update.positions) > 0).all())
    inside = update.positions.size == 0 or (update.positions[0] >= 0 and update.positions[-1] < size)
    return (
        rising
        and bool(inside)
        and bool(np.isfinite(update.values).all())
        and len(update.values) == len(update.positions)
    )


@dataclass
class Tally:
    """What came of the payloads that began as one codec's: how many were tried and taken for an update, the most memory
    (bytes for each byte received, beyond the allowance) and the most time of a processor (microseconds for each byte
    received and coordinate expected; small payloads, whose time is that of the calls, and large ones); and
    the milliseconds of the slowest."""

    payloads: int = 0
    updates: int = 0
    memory: float = 0.0
    small: float = 0.0
    large: float = 0.0
    slowest: float = 0.0

    def note(self, broken: bytes, size: int, seconds: float, taken: int, *, is_update: bool) -> None:
        self.payloads, self.updates = self.payloads + 1, self.updates + is_update
        self.memory = max(self.memory, (taken - ALLOWANCE) / max(len(broken), 1))
        each = 1e6 * seconds / (len(broken) + size)
        if len(broken) + size < 10_000:
            self.small = max(self.small, each)
        else:
            self.large = max(self.large, each)
        self.slowest = max(self.slowest, 1e3 * seconds)

    def add(self, other: "Tally") -> None:
        """Take in what came of others."""
        self.payloads, self.updates = self.payloads + other.payloads, self.updates + other.updates
        for name in ("memory", "small", "large", "slowest"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))


def outcome_of(broken: bytes, size: int) -> tuple[str, float, int]:
    """What the decoder makes of a payload, its seconds of a processor, and the bytes that it took."""
    tracemalloc.reset_peak()
    before, started = tracemalloc.get_traced_memory()[0], time.thread_time()
    try:
        found = "is an update" if is_whole(decode(broken, size), size) else "BROKEN UPDATE ACCEPTED"
    except WireError as error:
        why = error.__cause__
        # a codec refuses with ValueError; anything else was not looked for
        found = "refused" if isinstance(why, ValueError | None) else f"RAISED {type(why).__name__} in a codec"
    except Exception as error:
        found = f"RAISED {type(error).__name__}"
        print(f"{error!r}\n{broken.hex()}", file=sys.stderr)
    return found, time.thread_time() - started, tracemalloc.get_traced_memory()[1] - before


def fuzz(count: int, seed: int, piece: int) -> tuple[dict[int, Tally], Counter[tuple[str, str]]]:
    """Try so many payloads; what came of them by the codec that they began as, and by mutation."""
    rng, outcomes, names = np.random.default_rng([seed, piece]), Counter[tuple[str, str]](), list(MUTATIONS)
    tallies = {code: Tally() for code in TABLE}
    tracemalloc.start()
    for number in range(count):
        if number % 50 == 0:
            payload, size = honest(rng)
            code = wire._HEADER.unpack_from(payload)[4]
        name = names[int(rng.integers(len(names)))]
        broken = MUTATIONS[name](payload, rng)
        liar = rng.random() < 0.5
        broken = resigned(broken) if liar else broken
        found, seconds, taken = outcome_of(broken, size)
        tallies[code].note(broken, size, seconds, taken, is_update=found == "is an update")
        outcomes[name + (", checksum fits" if liar else ""), found] += 1
    tracemalloc.stop()
    print(f"{piece + 1} of {PIECES}", file=sys.stderr, flush=True)
    return tallies, outcomes


def together(count: int, seed: int) -> tuple[dict[int, Tally], Counter[tuple[str, str]]]:
    """All pieces, on all cores: the same payloads whatever their number."""
    tallies, outcomes = {code: Tally() for code in TABLE}, Counter[tuple[str, str]]()
    counts = [count // PIECES + (piece < count % PIECES) for piece in range(PIECES)]
    with ProcessPoolExecutor() as pool:
        for found, more in pool.map(fuzz, counts, [seed] * PIECES, range(PIECES)):
            outcomes += more
            for code, tally in found.items():
                tallies[code].add(tally)
    return tallies, outcomes


def page(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    codecs = [
        f"| {one['kind']} | {one['codec']} | {one['payloads']:,} | {one['updates']:,} | {one['memory']:.0f} | "
        f"{one['small']:.2f} | {one['large']:.3f} | {one['slowest']:.1f} |\n"
        for one in found["codecs"]
    ]
    outcomes = [f"| {one['mutation']} | {one['outcome']} | {one['payloads']:,} |\n" for one in found["outcomes"]]
    return f"""# Broken payloads

Written by `make fuzz`: {found["payloads"]:,} payloads, seed {found["seed"]}; {found["wrong"]:,} were accepted
wrongly or raised anything but a refusal. What “is an update” is whole, finite and in order: a mutation may leave the
payload valid, or turn one into another. Memory is bytes for each byte received, beyond {ALLOWANCE:,} for tables; time
is that of the processor with its memory traced, in µs for each byte received and coordinate expected, of payloads below
10,000 of both together and above.

{markdown(found["machine"])}.

| kind | codec | payloads | of them updates | most memory | most µs, small | most µs, large | slowest, ms |
|---:|---|---:|---:|---:|---:|---:|---:|
{"".join(codecs)}
| mutation | what came of it | payloads |
|---|---|---:|
{"".join(outcomes)}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    machine = description()
    tallies, outcomes = together(arguments.count, arguments.seed)
    wrong = sum(count for (_, outcome), count in outcomes.items() if outcome not in ("refused", "is an update"))
    found = {
        "machine": machine,
        "payloads": arguments.count,
        "seed": arguments.seed,
        "wrong": wrong,
        "codecs": [{"kind": code, "codec": NAMES.get(code, "?"), **vars(tally)} for code, tally in tallies.items()],
        "outcomes": [
            {"mutation": mutation, "outcome": outcome, "payloads": count}
            for (mutation, outcome), count in sorted(outcomes.items())
        ],
    }
    print(page(found))
    missing = [code for code, tally in tallies.items() if not tally.payloads]
    if missing:
        print(f"not tried: the codecs of kind {missing}")
    if arguments.count >= 1_000_000:
        (RESULTS / "fuzz.md").write_text(page(found), encoding="utf-8")
        (RESULTS / "fuzz.json").write_text(json.dumps(found, indent=2) + "\n")
    slow = [code for code, tally in tallies.items() if tally.large > LONGEST]
    if slow:
        print(f"more than {LONGEST:g} µs for each byte and coordinate: the codecs of kind {slow}")
    return int(bool(wrong or missing or slow))


if __name__ == "__main__":
    sys.exit(main())
