"""Does the clock tell the truth? Rounds on Flower over real links, beside the seconds that the clock gives the same
rounds. Run it with `make sim-to-real` (root and iproute2); it writes studies/sim_to_real.json and
docs/results/sim-to-real.md with its figure.

Ten clients are ten SuperNodes on hosts of their own, whose links have one of three rates. FedAvg selects two clients
per round, so that rounds differ in the slowest link. A SuperNode writes into its log when it begins and ends to receive
and to send; these seconds are measured, and those of the same on links that are not shaped are Flower's fixed cost per
client and round, which is subtracted. Of a round counts the client with the slowest link, whom the clock waits for, and
not who took longest: that is also who had the highest cost, by chance, and its mean would not be enough to take off.
All other seconds of a round (Flower looks for messages every few seconds and starts a
process for each) have nothing to do with the links, and the clock knows nothing of them. For the same reason
computing takes the clock's devices no time here.
"""

import argparse
import json
import math
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heteroselect.comparison.report.figure import STYLE, save
from heteroselect.comparison.report.style import COLOURS, QUIET
from heteroselect.flower.plan import ERROR, Plan, new_token
from heteroselect.flower.processes import Flower
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import RunFolder, finished, read_rounds
from heteroselect.settings.config import Loaded, load, to_toml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from shaped_links import SERVER, Host, Link, UnavailableError, inside, joined, shape

ROOT = Path(__file__).resolve().parents[1]
OUT, PAGE = ROOT / "studies" / "sim_to_real.json", ROOT / "docs" / "results" / "sim-to-real.md"
CLIENTS, COHORT, SEED = 10, 2, 42
FEATURES = 26_000  # × 10 classes × 4 bytes: a model of 1 MB
DOWN = 5.0  # downlinks are so many times as fast as uplinks, as in the drawn world
PATIENCE = 1800.0  # seconds for a whole run


@dataclass(frozen=True)
class Case:
    """A model, and the three rates in Mb/s up that its clients' links have."""

    name: str
    mbps: tuple[float, float, float]
    features: int = 0  # 0: MNIST

    def links(self) -> list[float]:
        """One rate per client, as evenly as they go, the fastest most often."""
        return sorted((self.mbps * CLIENTS)[:CLIENTS], reverse=True)


# a whole upload takes 8, 4 or 2 seconds in both
CASES = (Case("MNIST, 31 kB", (0.128, 0.064, 0.032)), Case("a model of 1 MB", (4.0, 2.0, 1.0), FEATURES))


@dataclass(frozen=True)
class Round:
    """Seconds of one round: those in which each client received and sent, and those by the clock; and the rates in
    Mb/s of those who took part."""

    transfers: list[float]
    predicted: float
    mbps: list[float]


class Logs:
    """The logs of SuperNodes, looked at again and again: when did they receive and send in which round?"""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths, self.read = list(paths), [0] * len(paths)
        self.rounds = [0] * len(paths)
        self.began = [0.0] * len(paths)
        self.training = [False] * len(paths)
        self.seconds: dict[tuple[int, int], float] = {}
        """By client and round."""

    def look(self, now: float) -> None:
        """Take in what was written since the last look."""
        for client, path in enumerate(self.paths):
            lines = path.read_bytes()[self.read[client] :].split(b"\n")[:-1] if path.exists() else []
            self.read[client] += sum(len(line) + 1 for line in lines)
            for line in lines:
                self.take(client, line.decode(errors="replace"), now)

    def take(self, client: int, line: str, now: float) -> None:
        """Take in one line."""
        if found := re.search(r"ROUND (\d+)]", line):
            self.rounds[client] = int(found[1])
        elif found := re.search(r"(Receiving|Sending): (\w+) message", line):
            self.began[client], self.training[client] = now, found[2] == "train"
        elif re.search("(Received|Sent) successfully", line) and self.training[client]:
            key = client, self.rounds[client]
            self.seconds[key] = self.seconds.get(key, 0.0) + now - self.began[client]


def settings(case: Case, work: Path, rounds: int) -> Loaded:
    """The run of a case: its links are rows of a table, and computing takes the clock's devices no time."""
    table = work / "links.csv"
    rows = [f"{rate},{DOWN * rate}" for rate in case.links()]
    table.write_text("\n".join(["up_mbps,down_mbps", *rows]) + "\n")
    changes: dict[str, Any] = {"clients": CLIENTS, "selected": COHORT, "rounds": rounds, "seed": SEED}
    changes |= {"world.links": "table", "world.table": str(table), "world.charge": "everything"}
    changes |= {"world.step_seconds_min": 0.0, "world.step_seconds_max": 0.0, "method.solver.steps": 5}
    if case.features:
        rng, data, count = np.random.default_rng(SEED), work / "data.npz", 30 * CLIENTS
        inputs = rng.normal(size=(count, case.features)).astype(np.float32)
        np.savez(data, x=inputs, y=np.arange(count) % 10)
        changes |= {"data.name": str(data), "data.partition": "iid", "method.lr.start": 1e-4}
    return load("mnist", method="fedavg", changes=changes)


def links_of(loaded: Loaded) -> list[Link]:
    """The links that the clients have in the simulated world."""
    experiment = prepare(loaded)
    losses = np.ones(CLIENTS)
    found = experiment.environment.world.conditions(1, 0.0, CLIENTS, lambda: losses, experiment.streams)
    return [Link(float(up), float(down)) for up, down in zip(found.up, found.down, strict=True)]


def played(flower: Flower, hosts: Sequence[Host], case: Case, rounds: int, fixed: int) -> dict[str, Any]:
    """A case: so many rounds on shaped links, and then some on links that are not, which give the fixed cost."""
    work = flower.work / f"case{CASES.index(case)}"
    work.mkdir()
    loaded, out = settings(case, work, rounds + fixed), work / "run"
    RunFolder.create(out, to_toml(loaded.config)).close()
    for host, link in zip(hosts, links_of(loaded), strict=True):
        shape(host, link)
    app = Plan("deploy", new_token(), len(hosts), timeout=PATIENCE / 2).app(loaded.config, out) | {"work": str(work)}
    logs, done, until = Logs([flower.work / f"{host.name}.log" for host in hosts]), 0, time.monotonic() + PATIENCE
    logs.look(0.0)  # what an earlier case has left there
    logs.seconds.clear()
    flower.submit(app)
    for host in hosts:
        _start(flower, host)
    while not finished(out):
        if (work / ERROR).exists() or time.monotonic() > until:
            raise SystemExit(f"{case.name}: the run failed or took too long; {flower.log_end('superlink')}")
        logs.look(time.monotonic())
        lines = (out / "rounds.jsonl").read_bytes().count(b"\n")
        if lines > done:
            done = lines
            print(f"{case.name}: round {done}", flush=True)
            if done == rounds:
                for host in hosts:
                    shape(host, Link(math.inf))
        time.sleep(0.02)
    logs.look(time.monotonic())
    for host in hosts:
        flower.stop(host.name)
    found = rounds_of(logs.seconds, read_rounds(out))
    costs = [one for round in found[rounds:] for one in round.transfers]
    return {"case": asdict(case), **judged(costs, found[:rounds])}


def _start(flower: Flower, host: Host) -> None:
    """Start a SuperNode and wait until it has said which client it has: ten at once would be too slow for a small
    machine."""
    node = {"partition-id": host.place, "num-partitions": CLIENTS, "memory": str(flower.work / "memory")}
    flower.supernode(host.name, node, superlink=host.server, prefix=host.prefix)
    flower.wait_for(host.name, "Sent successfully", PATIENCE / 10)
    print(f"client {host.place} is there", flush=True)


def rounds_of(seconds: Mapping[tuple[int, int], float], lines: Sequence[Mapping[str, Any]]) -> list[Round]:
    """What is known of all rounds, by the seconds in which clients received and sent."""
    found = []
    for line in lines:
        if line["events"]:
            raise SystemExit(f"round {line['round']}: {line['events']}")
        transfers = [seconds[client, line["round"]] for client in line["selected"]]
        found.append(Round(transfers, line["seconds"], line["bandwidth_mbps"]))
    return found


def measured(rounds: int, fixed: int) -> list[dict[str, Any]]:
    """All cases, one after the other."""
    with (
        tempfile.TemporaryDirectory(prefix="heteroselect-") as place,
        joined(CLIENTS) as hosts,
        Flower(Path(place), listen="0.0.0.0", prefix=inside(SERVER)) as flower,
    ):
        flower.superlink()
        return [played(flower, hosts, case, rounds, fixed) for case in CASES]


def judged(fixed: Sequence[float], shaped: Sequence[Round]) -> dict[str, Any]:
    """The mean fixed cost of a client's round, and of each round on shaped links what its client with the slowest link
    took without it (the mean of those with the same), the clock's seconds and the error, which is the clock's seconds
    less what is left."""
    cost, rounds = fmean(fixed), []
    for one in shaped:
        slowest = min(one.mbps)
        left = fmean(took for took, rate in zip(one.transfers, one.mbps, strict=True) if rate == slowest) - cost
        rounds.append({**asdict(one), "left": left, "error": one.predicted - left})
    return {
        "fixed": list(fixed),
        "fixed_seconds": cost,
        "fixed_deviation": pstdev(fixed),
        "rounds": rounds,
        "left_per_predicted": sum(one["left"] for one in rounds) / sum(one.predicted for one in shaped),
    }


def judged_again(case: Mapping[str, Any]) -> dict[str, Any]:
    """A case that was measured before, judged from its samples alone."""
    rounds = [Round(one["transfers"], one["predicted"], one["mbps"]) for one in case["rounds"]]
    return {"case": case["case"], **judged(case["fixed"], rounds)}


def draw(found: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Measured against predicted seconds, and the error per round."""
    with rc_context({**STYLE, "svg.fonttype": "none"}):
        figure = Figure(figsize=(8.0, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        for place, case in enumerate(found):
            _points(left, right, case, COLOURS[place], (place - 0.5) * 0.16)
        most = 1.15 * max(max(one["left"], one["predicted"]) for case in found for one in case["rounds"])
        left.plot([0, most], [0, most], color=QUIET, lw=0.8, ls="--")
        left.set(xlabel="predicted by the clock, s", ylabel="measured less Flower's fixed cost, s")
        left.set(xlim=(0, most), ylim=(min(0, left.get_ylim()[0]), most))
        figure.legend(frameon=False, loc="outside upper center", ncols=2)
        right.axhline(0, color=QUIET, lw=0.8, ls="--")
        right.set(xlabel="round", ylabel="error (predicted − measured), s")
        save(figure, path, "--figure")


def page(found: Mapping[str, Any]) -> str:
    """The page about it, in Markdown."""
    heads = ["", "links, Mb/s up", "rounds", "fixed cost, s", "clock, s", "measured less fixed cost, s", "error, s"]
    lines = [[*heads, "measured per predicted"], ["---", *["---:"] * len(heads)]]
    for case in found["cases"]:
        rounds, rates = case["rounds"], ", ".join(f"{rate:g}" for rate in sorted(case["case"]["mbps"]))
        cells = [f"{case['fixed_seconds']:.1f} ± {case['fixed_deviation']:.1f}"]
        for key in ("predicted", "left", "error"):
            values = [one[key] for one in rounds]
            cells.append(f"{fmean(values):.1f} ± {pstdev(values):.1f}")
        lines.append([case["case"]["name"], rates, str(len(rounds)), *cells, f"{case['left_per_predicted']:.2f}"])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"""# Does the clock tell the truth?

Written by `make sim-to-real` ({found["machine"]}).

FedAvg on Flower over real links: {found["clients"]} SuperNodes in network namespaces, each behind a link of
one of three rates (down {found["down"]:g} times as fast as up), {found["cohort"]} of them in each round. Measured
are the seconds in which the client with the slowest link of a round received the model and sent its update, by its
SuperNode's log (the mean of both clients where their links are the same). The fixed cost is the mean of what the same
takes a client on links that are not shaped. The clock is the one that charges everything, with
devices that take no time. The error is the clock's seconds less the measured ones without the fixed cost. All ± are
deviations over rounds (of the fixed cost: over clients and rounds), and the latter is the bar in the picture.

![measured against predicted seconds, and the error per round]({PAGE.stem}.svg)

{table}

[What the clock leaves out](../worlds.md#does-the-clock-tell-the-truth)
"""


def _points(left: Axes, right: Axes, case: Mapping[str, Any], colour: str, shift: float) -> None:
    rounds, noise = case["rounds"], case["fixed_deviation"]
    left.errorbar(
        [one["predicted"] for one in rounds], [one["left"] for one in rounds], yerr=noise, fmt="o", ms=4, lw=0.8,
        color=colour, label=f"{case['case']['name']} (± spread of the fixed cost)",
    )  # fmt: skip
    places = np.arange(1, len(rounds) + 1) + shift
    right.errorbar(places, [one["error"] for one in rounds], yerr=noise, fmt="o", ms=4, lw=0.8, color=colour)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6, help="of a model on shaped links")
    parser.add_argument("--fixed", type=int, default=3, help="more of them on links that are not")
    parser.add_argument("--draw", action="store_true", help="judge and draw what was measured before")
    words = parser.parse_args()
    if words.draw:
        found = json.loads(OUT.read_text(encoding="utf-8"))
        found["cases"] = [judged_again(case) for case in found["cases"]]
    else:
        try:
            cases = measured(words.rounds, words.fixed)
        except UnavailableError as error:
            raise SystemExit(f"sim-to-real: {error}.") from error
        machine = (
            f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        )
        found = {"machine": machine, "clients": CLIENTS, "cohort": COHORT, "down": DOWN, "cases": cases}
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    draw(found["cases"], PAGE.with_suffix(".svg"))


if __name__ == "__main__":
    main()
