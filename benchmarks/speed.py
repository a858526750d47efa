"""How fast, how large, how far it grows: every figure beside the limit it is held to. Run it with `make bench`.

Machines are noisy: what counts are ratios of things measured in turn in one run; absolute times are information.
`make bench` writes benchmarks/results/speed.md, speed.json and growth.svg with the machine's description.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import machine
import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from heteroselect import run
from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order, Question
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.data.examples import Examples, Pixels, Source
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.aggregate import Mean
from heteroselect.parts.compress import Curvature
from heteroselect.parts.compress.wire import decode
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import SelectionContext, Softmax
from heteroselect.parts.train import SGD
from heteroselect.round.round import play_round
from heteroselect.runs import experiment as experiments
from heteroselect.runs.api import choose_threads
from heteroselect.runs.loop import evaluator
from heteroselect.runs.own import Own
from heteroselect.settings.config import load

RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]
console = Console()


def peak_gigabytes() -> float:
    """Of this process; the usual counter would still hold that of its parent."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peak = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return (peak[0] if peak else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1e6


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def cifar(changes: dict[str, Any]) -> experiments.Experiment:
    """The CIFAR-10 experiment; random images of its shape where the data set is not at hand."""
    try:
        return experiments.prepare(load("cifar10", changes=changes))
    except HeteroSelectError:
        rng = np.random.default_rng(0)
        x, y = rng.integers(0, 256, (60_000, 3, 32, 32), dtype=np.uint8), rng.integers(0, 10, 60_000)
        parts = [
            Examples(torch.from_numpy(x[a:b]), torch.from_numpy(y[a:b])) for a, b in ((0, 50_000), (50_000, 60_000))
        ]
        source = Source("random images", *parts, 10, Pixels((0.5,) * 3, (0.25,) * 3, augment=True))
        return experiments.prepare(load("cifar10", changes=changes), Own(data=source))


def round_against_bare_loop(threads: int, repeats: int) -> list[Row]:
    """A round without scoring, evaluation and probe, against nothing but its SGD steps on the same threads."""
    quiet = {"method.score.loss_weight": 0, "method.compress.kind": "topk", "selected": 2 * threads}
    whole = cifar(quiet | {"method.allocate.warmup_rounds": 0})
    server, ids = whole.server(), list(range(2 * threads))
    workers = Pool(whole.module, threads=threads)
    engine = Simulator(workers, whole.clients(), whole.task, whole.method)
    solver, clients = whole.method.solver, whole.clients()
    assert isinstance(solver, SGD)

    def bare(client: int) -> None:
        model = models[client % threads]
        model.load(whole.weights)
        batches = clients[client].batches(
            Order(client, 1, 0.05, 1.0, 1.0, solver.steps), model, whole.task, whole.method
        )
        anchor, velocity = model.vector.clone(), torch.zeros_like(model.vector)
        model.module.train()
        for _ in range(solver.steps):
            x, y = batches()
            model.gradient.zero_()
            whole.task.loss(model.module(x), y).backward()
            with torch.no_grad():
                model.gradient.add_(model.vector - anchor, alpha=solver.proximal)
                norm = torch.linalg.vector_norm(model.gradient)
                model.gradient.mul_((solver.clip / (norm + 1e-6)).clamp_(max=1.0))
                velocity.mul_(solver.momentum).add_(model.gradient)
                model.vector.sub_(velocity, alpha=0.05)

    models = [FlatModel(whole.module) for _ in range(threads)]
    rounds = iter(range(1, 10_000))

    def ours() -> None:
        moment = Moment(next(rounds), 100)
        play_round(moment, server, whole.method, engine, whole.environment, whole.streams, selected=len(ids))

    with workers, ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:

        def loop() -> None:
            halves = [[k for k in ids if k % threads == t] for t in range(threads)]
            list(pool.map(lambda half: [bare(k) for k in half], halves))

        list(pool.map(bare, ids[:threads]))  # warm up
        pairs = [(seconds(ours), seconds(loop)) for _ in range(repeats)]
        questions = [Question(k, 1, 8, 32) for k in range(20)]
        scoring = seconds(lambda: engine.losses(server.weights, questions)) / len(questions) * 100
        evaluation = seconds(lambda: evaluator(whole, workers).evaluate(server.weights))
    probing = replace(whole.method, compress=Curvature(layers=3))
    probe = _send_seconds(whole, probing, 3) - _send_seconds(whole, whole.method, 3)
    ratio = median(a / b for a, b in pairs)
    own = median(a for a, _ in pairs) / len(ids) * 10
    return [
        _row("CIFAR-10 round ÷ bare loop of its SGD steps", ratio, 1.08, f"{whole.federation.name}, {repeats} pairs"),
        _row("seconds of such a round of 10 clients", own, None, f"{threads} threads"),
        _row("scoring all 100 clients adds, seconds", scoring, None, "8 batches each"),
        _row("evaluating 10,000 images adds, seconds", evaluation, None, ""),
        _row("the curvature probe adds, seconds a client", probe, None, "3 layers of AlexNet"),
        *beside_training(whole, own / 10),
    ]


def _send_seconds(whole: experiments.Experiment, method: Any, repeats: int) -> float:
    """From the trained model to bytes, at one client."""
    model, client, found = FlatModel(whole.module), whole.clients()[0], []
    torch.set_num_threads(1)
    for t in range(1, repeats + 1):
        order = Order(0, t, 0.05, 0.2, 0.95, 1)
        batches = client.batches(order, model, whole.task, method)
        start = model.vector.clone()
        model.vector.add_(0.01 * torch.randn(model.vector.shape, generator=torch.Generator().manual_seed(t)))
        model.module.train()

        def once() -> None:
            learnt = client.learnt(order, start, model, {}, {})  # noqa: B023
            client.send(learnt, model, batches, whole.task, method, {})  # noqa: B023

        found.append(seconds(once))
    return median(found)


def beside_training(whole: experiments.Experiment, share_of: float) -> list[Row]:
    """Select, compress, encode, decode, aggregate and settle, for a client of 2.8 million parameters on one core."""
    torch.set_num_threads(1)
    method, model, client, found = whole.method, FlatModel(whole.module), whole.clients()[0], []
    kept: Any = {}
    for t in range(1, 8):
        order = Order(0, t, 0.05, 0.2, 0.95, 1)
        batches, start = client.batches(order, model, whole.task, method), model.vector.clone()
        model.vector.add_(0.01 * torch.randn(model.vector.shape, generator=torch.Generator().manual_seed(t)))

        def once() -> None:
            nonlocal kept
            learnt = client.learnt(order, start, model, {}, {})  # noqa: B023
            upload, pending = client.send(learnt, model, batches, whole.task, method, kept)  # noqa: B023
            update = decode(upload.payload, model.layout.size)
            Mean().aggregate([update], np.ones(1), model.layout.size)
            kept = pending.commit(method, True)

        found.append(seconds(once))
    best = min(found)
    return [
        _row("work beside training, milliseconds a client", 1000 * best, 80, "θ = 0.2, 2.8 M parameters, one core"),
        _row("its share of the client's round", best / (2 * share_of), None, "two clients at a time"),
    ]


def mnist() -> list[Row]:
    result = run("mnist")
    return [_row("the whole MNIST run, seconds", result.wall_seconds, 15, f"T = 100, peak {result.peak_accuracy:.2%}")]


def peak_memory() -> list[Row]:
    """The CIFAR-10 preset until nearly all clients have a memory; one local step, as that changes no memory."""
    rows = []
    for store in ("memory", "disk"):
        figures = _child("memory", store)
        name = f"peak memory of the CIFAR-10 preset, GB, store in {'memory' if store == 'memory' else 'files'}"
        rows.append(_row(name, figures["gigabytes"], 3, f"{figures['clients']} of 100 clients with a memory"))
    return rows


def _memory(store: str) -> Row:
    changes = {"method.solver.steps": 1, "method.score.batches": 1, "stop_after": 24, "simulate.store": store}
    changes |= {"evaluate_every": 100}
    whole = cifar(changes)
    from tempfile import TemporaryDirectory

    from heteroselect.runs.folder import RunFolder
    from heteroselect.runs.loop import play

    with TemporaryDirectory() as folder:
        result = play(whole, RunFolder.create(Path(folder) / "run", ""), threads=choose_threads(None))
    clients = {client for line in result.rounds for client in line["selected"]}
    return {"gigabytes": peak_gigabytes(), "clients": len(clients)}


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(20, 10)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(x)
        return out


def growth() -> list[Row]:
    rows = []
    for clients in (100, 1_000, 10_000, 100_000):
        figures = _child("growth", str(clients))
        rows.append({"clients": clients, **figures})
        console.print(
            f"  {clients:,} clients: {figures['rounds_a_second']:.1f} rounds/s, {figures['gigabytes']:.2f} GB"
        )
    return rows


def _growth(clients: int) -> Row:
    """Synthetic data, five examples a client, scored by what clients last reported."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 5 * clients + 1000)
    x = rng.normal(size=(len(y), 20)).astype(np.float32) + 2 * np.eye(10, 20, dtype=np.float32)[y]
    settings = {
        "clients": clients,
        "selected": 10,
        "rounds": 60,
        "data.partition": "iid",
        "evaluate_every": 60,
        "method.score.mode": "stale",
        "method.score.sketch": 4096,
        "method.solver.steps": 10,
        "method.solver.batch": 5,
        "method.compress.kind": "topk",
    }
    stamps: list[float] = []
    held = (x[-1000:], y[-1000:])
    run(
        {},
        settings=settings,
        data=(x[:-1000], y[:-1000]),
        test=held,
        model=Linear,
        watch=lambda _: stamps.append(time.perf_counter()),
    )
    rounds = np.diff(stamps)[5:]
    return {
        "rounds_a_second": 1 / float(np.median(rounds)),
        "gigabytes": peak_gigabytes(),
    }


def million() -> list[Row]:
    """Scoring and selecting among a million clients: arithmetic alone."""
    clients, rng = 1_000_000, np.random.default_rng(0)
    population = replace(
        Population.new(np.full(clients, 100)),
        reports={"loss": rng.random(clients)},
        counts=rng.integers(0, 5, clients),
        last_round=rng.integers(0, 50, clients),
    )
    score, select, moment = Informativeness(mode="stale"), Softmax(), Moment(51, 100)

    def once() -> None:
        here = SelectionContext(moment, np.arange(clients), population, size=10, rng=np.random.default_rng(1))
        select.select(score.score(here).total, here)

    taken = min(seconds(once) for _ in range(3))
    return [_row("scoring and selecting among 1,000,000 clients, seconds", taken, 1, "arithmetic alone")]


def _child(what: str, argument: str) -> Row:
    """In a process of its own, so that its memory is its own."""
    command = [sys.executable, __file__, "--child", what, argument]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: Row = json.loads(found.stdout.splitlines()[-1])
    return figures


def _row(name: str, value: float, limit: float | None, detail: str) -> Row:
    row = {
        "figure": name,
        "value": value,
        "limit": limit,
        "of_limit": value / limit if limit else None,
        "detail": detail,
    }
    held = "" if limit is None else f" (limit {limit:g}: {'held' if value <= limit else 'NOT HELD'})"
    console.print(f"  {name}: {value:.4g}{held} {detail}", highlight=False)
    return row


def markdown(rows: list[Row], grown: list[Row], about: dict[str, Any]) -> str:
    lines = [f"Made by `make bench` on: {machine.markdown(about)}.", ""]
    lines += ["| figure | value | limit | of the limit | |", "|---|---:|---:|---:|---|"]
    for row in rows:
        limit, share = ("", "") if row["limit"] is None else (f"{row['limit']:g}", f"{row['of_limit']:.2f}")
        lines.append(f"| {row['figure']} | {row['value']:.3g} | {limit} | {share} | {row['detail']} |")
    lines += ["", "| clients | rounds a second | peak memory, GB |", "|---:|---:|---:|"]
    lines += [f"| {g['clients']:,} | {g['rounds_a_second']:.1f} | {g['gigabytes']:.2f} |" for g in grown]
    return "\n".join([*lines, "", "![growth](growth.svg)", ""])


def draw(grown: list[Row], path: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "heteroselect", "font.size": 9}):
        figure = Figure(figsize=(8, 3), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        clients = [g["clients"] for g in grown]
        times = [1 / g["rounds_a_second"] for g in grown]
        left.loglog(clients, times, "o-", color="#1f5fa8", label="seconds a round")
        left.loglog(clients, [times[0] * k / clients[0] for k in clients], "--", color="#8a8f98", label="linear in K")
        left.set_xlabel("clients")
        left.legend(frameon=False)
        right.semilogx(clients, [g["gigabytes"] for g in grown], "o-", color="#1f5fa8")
        right.set_ylim(bottom=0)
        right.set_xlabel("clients")
        right.set_ylabel("peak memory, GB")
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, default=3, help="pairs of a round and its bare loop")
    arguments = parser.parse_args()
    if arguments.child:
        what, argument = arguments.child
        print(json.dumps(_memory(argument) if what == "memory" else _growth(int(argument))))
        return
    about, threads = machine.description(), choose_threads(None)
    console.print(machine.markdown(about), highlight=False)
    rows = [*mnist(), *round_against_bare_loop(threads, arguments.repeats), *million(), *peak_memory()]
    grown = growth()
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed.json").write_text(json.dumps({"machine": about, "rows": rows, "growth": grown}, indent=2) + "\n")
    draw(grown, RESULTS / "growth.svg")
    (RESULTS / "speed.md").write_text(markdown(rows, grown, about))
    console.print(f"written: {RESULTS / 'speed.md'}")


if __name__ == "__main__":
    main()
