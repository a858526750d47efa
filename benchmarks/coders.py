"""The error of a cohort's mean, coder by coder at the same bytes, on the updates of a real round. A part of
`make bench-wire`.

What a coder has to keep is the mean of the cohort, not each update: an unbiased error falls with the number of clients,
a biased one stays. The updates are those of the first round of the preset cifar10-lean (ten clients); without CIFAR-10
they are of mnist, with budgets of as many bits per coordinate.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from machine import description, markdown

import heteroselect
from heteroselect.core.update import Update, Values
from heteroselect.errors import HeteroSelectError
from heteroselect.methods import get
from heteroselect.parts.allocate import All
from heteroselect.parts.compress import QSGD, STC, Drive, Everything, Ternary
from heteroselect.parts.compress.wire import encode
from heteroselect.parts.train import SharedRate

RESULTS = Path(__file__).resolve().parent / "results"
ALEXNET = 2_781_514
KILOBYTES = (12, 25, 50, 100, 200, 350)  # per client and AlexNet: 0.035 to 1 bit per coordinate
CODERS: dict[str, Callable[[float], tuple[Any, float]]] = {
    "stc": lambda x: (STC(), x),
    "qsgd": lambda x: (QSGD(1, max(1, round(1 / x**2))), 1.0),  # of a bucket of b about √b are sent
    "drive": lambda x: (Drive(), x),
    "ternary": lambda x: (Ternary(), x),
    "ternary, energy": lambda x: (Ternary(spread="energy"), x),
}
"""A coder and its density, by a number up to 1 that its bytes rise with."""
IN_TURN = "ternary, half of the blocks each"
BLOCK = 2 ** Ternary().exponent
COLUMNS = ("error", "cosine", "gain")


@dataclass
class Cohort:
    """The updates of one round, and the ends of the model's layers."""

    name: str
    updates: Values
    ends: list[int]

    @staticmethod
    def trained() -> "Cohort":
        """One round is played for them."""
        try:
            return _played("cifar10-lean")
        except HeteroSelectError as error:
            print(f"{error} Going on with mnist.", file=sys.stderr)
            return _played("mnist")

    @staticmethod
    def loaded(path: str) -> "Cohort":
        with np.load(path) as file:
            return Cohort(str(file["name"]), file["updates"], file["ends"].tolist())

    def save(self, path: str) -> None:
        np.savez(path, name=np.array(self.name), updates=self.updates, ends=np.array(self.ends))


def _played(preset: str) -> Cohort:
    seen, ends = [], []

    @dataclass(frozen=True)
    class Watched(Everything):
        def compress(self, v: Values, density: float, context: Any) -> tuple[Update, Any]:
            seen.append(v.copy())
            ends[:] = context.model.layout.layer_ends
            return super().compress(v, density, context)

    rate = SharedRate(0.2, decay=0.0)  # of lean in its first round, however few rounds are played
    method = replace(get("lean"), name="watched", lr=rate, allocate=All(), compress=Watched())
    heteroselect.run(preset, method=method, rounds=1, threads=1)
    return Cohort(preset, np.stack(seen), ends)


def sent(cohort: Cohort, name: str, x: float, client: int) -> tuple[Values, int]:
    """What arrives of a client's update, and its bytes."""
    if name == IN_TURN:
        return in_turn(cohort, x, client)
    part, density = CODERS[name](x)
    context: Any = SimpleNamespace(rng=np.random.default_rng(client))  # all that these coders look at
    update, _ = part.compress(cohort.updates[client], density, context)
    return update.dense(), len(encode(update, cohort.ends))


def in_turn(cohort: Cohort, x: float, client: int) -> tuple[Values, int]:
    """What arrives where every block is sent by half of the clients only, which a seed that all share decides: twice
    as long, and with twice the bits. So errors are correlated over the cohort; clients that are alike lose nothing."""
    clients, n = cohort.updates.shape
    everybody = np.tile(np.arange(clients), (-(-n // BLOCK), 1))
    senders = np.random.default_rng(0).permuted(everybody, axis=1)[:, : clients // 2]
    mine = np.repeat((senders == client).any(axis=1), BLOCK)[:n]
    context: Any = SimpleNamespace(rng=np.random.default_rng(client))
    update, _ = Ternary().compress(clients / (clients // 2) * cohort.updates[client][mine], min(1.0, 2 * x), context)
    values = np.zeros(n, np.float32)
    values[mine] = update.dense()
    return values, len(encode(update, [int(mine.sum())]))


def fitted(cohort: Cohort, name: str, size: float) -> float:
    """The number for which the first client's payload has about this size: the secant through the last two tries."""
    x = min(1.0, 8 * size / cohort.updates.shape[1])
    tries = [(math.log(one), math.log(sent(cohort, name, one, 0)[1])) for one in (0.5 * x, x)]
    for _ in range(2):
        (x0, y0), (x1, y1) = tries[-2:]
        slope = (y1 - y0) / (x1 - x0) if abs(x1 - x0) > 1e-9 else 0.0
        if slope < 0.05 or abs(y1 - math.log(size)) < 0.005:
            break
        x = math.exp(min(0.0, x1 + (math.log(size) - y1) / slope))
        tries.append((math.log(x), math.log(sent(cohort, name, x, 0)[1])))
    return math.exp(min(tries, key=lambda one: abs(one[1] - math.log(size)))[0])


def measured(cohort: Cohort, name: str, size: float) -> dict[str, Any]:
    """Relative squared error of the mean, its cosine to the true one, and its gain (projection on the true one)."""
    x, (clients, n) = fitted(cohort, name, size), cohort.updates.shape
    true, mean, lengths = cohort.updates.mean(axis=0, dtype=np.float64), np.zeros(n), []
    for client in range(clients):
        values, length = sent(cohort, name, x, client)
        mean += values / clients
        lengths.append(length)
    square, along = float(true @ true), float(mean @ true)
    return {
        "coder": name,
        "budget": round(size),
        "bytes": float(np.mean(lengths)),
        "error": float(np.sum((mean - true) ** 2)) / square,
        "cosine": along / math.sqrt(square * float(mean @ mean)) if mean.any() else 0.0,
        "gain": along / square,
    }


def reaches(row: dict[str, Any]) -> bool:
    return abs(row["bytes"] / row["budget"] - 1) < 0.1


def page(cohort: Cohort, rows: list[dict[str, Any]], machine: dict[str, Any]) -> str:
    clients, size = cohort.updates.shape
    shown = []
    for row in rows:
        cells = [f"{row[name]:.3f}" for name in COLUMNS] if reaches(row) else ["does not reach", "", ""]
        shown.append(f"| {row['budget']:,} | {row['coder']} | {row['bytes']:,.0f} | {' | '.join(cells)} |")
    return "\n".join(
        [
            "# The error of a cohort's mean",
            "",
            f"Written by `benchmarks/coders.py`, which `make bench-wire` calls: {clients} clients of one round of "
            f"`{cohort.name}`, trained as `lean` does, "
            f"{size:,} coordinates. Error is the squared error of the mean over the squared length of the true mean, "
            "cosine that to the true mean, gain the projection on it. Bytes are the mean payload of a client, "
            "up to a tenth off the budget.",
            "",
            markdown(machine) + ".",
            "",
            "| budget | coder | bytes | error | cosine | gain |",
            "|---:|---|---:|---:|---:|---:|",
            *shown,
            "",
        ]
    )


def measure(cohort: Cohort) -> str:
    """The page, which is kept with its numbers in benchmarks/results."""
    size, machine = cohort.updates.shape[1], description()
    budgets = [1000 * kilobytes * size / ALEXNET for kilobytes in KILOBYTES]
    rows = [measured(cohort, name, budget) for budget in budgets for name in (*CODERS, IN_TURN)]
    text = page(cohort, rows, machine)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "coders.md").write_text(text, encoding="utf-8")
    (RESULTS / "coders.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", help="a file of updates that --save wrote, instead of a round played for them")
    parser.add_argument("--save", help="where to keep the updates")
    arguments = parser.parse_args()
    cohort = Cohort.loaded(arguments.updates) if arguments.updates else Cohort.trained()
    if arguments.save:
        cohort.save(arguments.save)
    print(measure(cohort))


if __name__ == "__main__":
    main()
