"""A million broken payloads of every codec: each must be refused with WireError, or be a whole update. Run it with
`make fuzz`.

Every mutation starts from an honest payload of some kind. Half of them get a checksum that fits, as a liar would
send it, so that what stands behind the checksum is tried too. The seed is fixed: the same payloads every time.
"""

import argparse
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import zstandard

from heteroselect.compress import BFloat16, Drive, Float16, Float32, Ternary, UniformValues, wire
from heteroselect.compress.positions import _COUNT, _SEGMENT, ENTROPY
from heteroselect.compress.update import Update
from heteroselect.compress.wire import TABLE, WireError, decode, encode

HEADER = wire._HEADER.size
Rng = np.random.Generator


VALUES = (Float32(), Float16(), BFloat16(), *(UniformValues(bits) for bits in (2, 3, 4, 8)))
ROTATING = (Drive(4), Drive(9), Ternary(8), Ternary(9, "energy"), Ternary(11))
ALLOWANCE = 100_000  # bytes that decoding may take whatever it is given: the coder's tables
MOMENT = 0.01  # seconds of a processor that it may take whatever it is given


def honest(rng: Rng) -> tuple[bytes, int]:
    """A payload of random size, density, layers and kind of value."""
    size = int(rng.integers(1, 3000))
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, outcomes, names = np.random.default_rng(arguments.seed), Counter[tuple[str, str]](), list(MUTATIONS)
    began, worst, slowest, tried = time.monotonic(), 0.0, 0.0, set[int]()
    tracemalloc.start()
    for number in range(arguments.count):
        if number % 50 == 0:
            payload, size = honest(rng)
            tried.add(wire._HEADER.unpack_from(payload)[4])
        name = names[int(rng.integers(len(names)))]
        broken = MUTATIONS[name](payload, rng)
        liar = rng.random() < 0.5
        broken = resigned(broken) if liar else broken
        tracemalloc.reset_peak()
        before, started = tracemalloc.get_traced_memory()[0], time.thread_time()
        try:
            outcome = "is an update" if is_whole(decode(broken, size), size) else "BROKEN UPDATE ACCEPTED"
        except WireError as error:
            why = error.__cause__
            # a codec refuses with ValueError; anything else was not looked for
            outcome = "refused" if isinstance(why, ValueError | None) else f"RAISED {type(why).__name__} in a codec"
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            outcome = f"RAISED {type(error).__name__}"
            print(f"payload {number} ({name}): {error!r}\n{broken.hex()}", file=sys.stderr)
        seconds = time.thread_time() - started - MOMENT
        slowest = max(slowest, seconds / (len(broken) + size))
        taken = tracemalloc.get_traced_memory()[1] - before - ALLOWANCE
        worst = max(worst, taken / max(len(broken), 1))
        outcomes[name + (", checksum fits" if liar else ""), outcome] += 1
        if number % 50_000 == 0:
            print(f"{number:,} of {arguments.count:,}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(
        f"{arguments.count:,} payloads, seed {arguments.seed}; "
        f"most memory: {worst:.0f} bytes per byte received, beyond {ALLOWANCE:,} for tables; most time of a processor "
        f"(with its memory traced): {1e6 * slowest:.2f} µs per byte received and coordinate, beyond {1e3 * MOMENT:g} ms"
    )
    for (name, outcome), count in sorted(outcomes.items()):
        print(f"{count:9,}  {name}: {outcome}")
    if missing := set(TABLE) - tried:
        print(f"not tried: the codecs of kind {sorted(missing)}")
        return 1
    return any(outcome.isupper() or outcome.startswith(("RAISED", "BROKEN")) for _, outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
