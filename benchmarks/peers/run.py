"""One FedAvg job here and on the frameworks a user would pick instead. Run it with `make bench-peers`."""

import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import heteroselect
from heteroselect.data import sources
from heteroselect.runs.experiment import prepare
from heteroselect.settings.config import load
from peers.common import BATCH, CLIENTS, FOLDER, JOB, JOBS, SEED, SELECTED, Job, job_named
from peers.ours import settings
from peers.watch import Watched, watch

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
LIMIT = 900.0  # seconds a job may take
OURS = "heteroselect"


@dataclass(frozen=True)
class Framework:
    """`package` is its name on PyPI; `command` what Python is asked to run."""

    name: str
    package: str
    command: tuple[str, ...]
    threads: int | None = None  # of torch's; None: as many as are fastest for the job


TORCHRUN = (
    "-m",
    "torch.distributed.run",
    "--nproc-per-node=2",
    f"--log-dir={tempfile.gettempdir()}",
    "-m",
    "peers.pfl_job",
)
FRAMEWORKS = (
    Framework(OURS, "heteroselect", ("-m", "peers.ours"), 1),
    Framework("pfl", "pfl", ("-m", "peers.pfl_job")),
    Framework("pfl, 2 processes", "pfl", TORCHRUN, 1),
    Framework("FedLab", "fedlab", ("-m", "peers.fedlab_job")),
    Framework("Flower on Ray", "flwr", ("-m", "peers.flower_job"), 1),
)


def source(job: Job, folder: Path) -> tuple[dict[str, str], str]:
    """Where the data of a job lies (name and folder), and what to call it; random images if it is nowhere."""
    if job.data == "mnist":
        return {"name": "mnist", "dir": ""}, "MNIST as shipped"
    for place in [*sources.data_folders(None), ROOT.parent / "shared" / "data"]:
        try:
            sources.load(job.data, place)
            return {"name": job.data, "dir": str(place.resolve())}, "real CIFAR-10"
        except heteroselect.HeteroSelectError:
            continue
    rng = np.random.default_rng(SEED)
    arrays: dict[str, Any] = {}
    for part, count in (("train", 50_000), ("test", 10_000)):
        arrays[f"x_{part}"] = rng.integers(0, 256, (count, 3, 32, 32), np.uint8)
        arrays[f"y_{part}"] = np.arange(count) % 10
    np.savez(folder / "random.npz", **arrays)
    return {"name": str(folder / "random.npz"), "dir": ""}, "random images of CIFAR-10's shape"


def deal(job: Job, folder: Path) -> str:
    """Write the clients' examples where all jobs find them, dealt out as our own run deals them."""
    where, title = source(job, folder)
    federation = prepare(load({}, changes=settings(job, where))).federation
    pixels = federation.pixels
    assert pixels is not None
    np.save(folder / "x.npy", np.concatenate([part.x.numpy() for part in federation.clients]))
    np.save(folder / "y.npy", np.concatenate([part.y.numpy() for part in federation.clients]))
    np.save(folder / "x_test.npy", federation.test.x.numpy())
    np.save(folder / "y_test.npy", federation.test.y.numpy())
    ends = np.cumsum([len(part) for part in federation.clients]).tolist()
    about = {"mean": pixels.mean, "std": pixels.std, "ends": ends, "source": where}
    (folder / "data.json").write_text(json.dumps(about), encoding="utf-8")
    return title


def environment(job: Job, folder: Path, framework: Framework) -> dict[str, str]:
    """Private folders, no telemetry, nothing listening beyond this machine."""
    private = folder / "private"
    shutil.rmtree(private, ignore_errors=True)
    private.mkdir()
    return {
        **os.environ,
        FOLDER: str(folder),
        JOB: job.name,
        "PYTHONPATH": str(ROOT / "benchmarks"),
        "FLWR_HOME": str(private),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "PYTHONWARNINGS": "ignore",
        "OMP_NUM_THREADS": str(framework.threads or job.threads),
        "GOMP_SPINCOUNT": "20000",  # a thread that waits for its partner must not take the core the partner needs
    }


def one(job: Job, folder: Path, framework: Framework) -> dict[str, Any]:
    """One job in a fresh process: what it took, or why it could not be run."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    busy = os.getloadavg()[0]
    command = [sys.executable, *framework.command]
    seen = watch(command, environment(job, folder, framework), folder / "log.txt", LIMIT)
    if not report.exists():
        last = [line for line in seen.output.splitlines() if line.strip()][-1:]
        return {"error": f"exit code {seen.code}: {''.join(last)[:200]}"}
    return measured(json.loads(report.read_text(encoding="utf-8")), seen) | {"load_before": busy}


def measured(report: dict[str, Any], seen: Watched) -> dict[str, Any]:
    """The first round pays for the start, and the last of ours for the evaluation: neither is among the rounds."""
    ends = report["ends"]
    seconds = np.diff(ends)[:-1].tolist()
    median = statistics.median(seconds)
    return {
        "round_seconds": median,
        "startup_seconds": ends[0] - seen.started - median,
        "peak_megabytes": seen.peak_bytes / 1e6 if seen.peak_bytes else None,
        "processes": seen.most_processes,
        "accuracy": report["accuracy"],
        "settings": report["settings"],
        "rounds": seconds,
    }


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The least of the repeats, each figure for itself: what the code takes, not what the machine was doing."""
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]
    figures = {
        key: min((run[key] for run in good if run[key] is not None), default=None)
        for key in ("round_seconds", "startup_seconds", "peak_megabytes")
    }
    medians = [run["round_seconds"] for run in good]
    loads = [run["load_before"] for run in good]
    return good[0] | figures | {"round_seconds_of_repeats": medians, "load_before": loads, "repeats": len(good)}


def installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    about: dict[str, Any] = {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load_average_before": [round(value, 2) for value in os.getloadavg()],
        "date": time.strftime("%Y-%m-%d"),
    }
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        about["cpu"] = names[0] if names else about["cpu"]
    if meminfo.exists():
        about["memory_gb"] = round(int(meminfo.read_text().split()[1]) / 2**20)
    packages = ("torch", "numpy", "heteroselect", "pfl", "fedlab", "flwr", "ray")
    return about | {"versions": {name: installed(name) for name in packages}}


COLUMNS = ("", "s a round", "ratio", "start-up, s", "ratio", "peak memory, MB", "ratio", "accuracy")


def rows(figures: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A line for each framework; ratios are theirs to ours, so that above 1 we are better."""
    us, lines = figures[OURS], []
    for name, found in figures.items():
        if "error" in found:
            lines.append([name, found["error"]] + [""] * (len(COLUMNS) - 2))
            continue
        cells = [name]
        for key, form in (("round_seconds", ".3f"), ("startup_seconds", ".1f"), ("peak_megabytes", ",.0f")):
            mine, theirs = us.get(key), found[key]
            cells.append(format(theirs, form) if theirs is not None else "not measured")
            cells.append(f"{theirs / mine:.2f}" if mine and theirs is not None else "")
        lines.append([*cells, f"{found['accuracy']:.1%}"])
    return lines


def console_table(title: str, lines: list[list[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column else "left")
    for line in lines:
        table.add_row(*line)
    return table


def markdown(about: dict[str, Any], jobs: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in about["versions"].items())
    lines = [
        "# One FedAvg job here and elsewhere",
        "",
        "Written by `make bench-peers`.",
        "",
        f"- Machine: {about['cpu']}, {about['cores']} cores, {about.get('memory_gb', '?')} GB; {about['system']}; "
        f"load average before the first job {about['load_average_before']}; {about['date']}.",
        f"- Versions: Python {about['python']}, {versions}.",
        f"- The job: {CLIENTS} clients, {SELECTED} a round, batch {BATCH}, plain SGD, no compression, IID; nothing is "
        "evaluated in the timed part. All get the same examples as bytes in memory, the same way to make batches "
        "of them (no DataLoader), and the same network; colour images have their channels together in memory. What "
        "our engine does on top (the weights of convolutions lie so as well, which a peer's user has to ask torch for) "
        "counts as ours.",
        "- Seconds a round: median of a run without its first and last round. Start-up: from the start of the process "
        "to the end of the first round, less a round. Peak memory: the greatest sum of proportional set sizes over "
        "all processes of a job. Each is the least of the runs, each run a fresh process, the "
        "frameworks taking turns. Ratios are to ours: above 1 we are better.",
        "- Accuracy of the last model on the test set shows that all learnt the same; it is not a result.",
    ]
    for name, found in jobs.items():
        lines += [
            "",
            f"## {JOBS[name].title}",
            "",
            f"Data: {found['data']}; {found['runs']} runs of {found['rounds']} rounds.",
            "",
        ]
        lines += ["| " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * (len(COLUMNS) - 1)]
        lines += ["| " + " | ".join(line) + " |" for line in rows(found["frameworks"])]
        lines += ["", "Settings, medians of the runs, and the load average before each:", ""]
        for framework, figures in found["frameworks"].items():
            if "error" not in figures:
                medians = ", ".join(f"{value:.3f}" for value in figures["round_seconds_of_repeats"])
                loads = ", ".join(f"{value:.1f}" for value in figures["load_before"])
                lines.append(f"- {framework}: {figures['settings']}; {medians} s a round; load {loads}")
    return "\n".join(lines) + "\n"


def bench(job: Job, console: Console) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="peers-") as name:
        folder = Path(name)
        data = deal(job, folder)
        runs: dict[str, list[dict[str, Any]]] = {framework.name: [] for framework in FRAMEWORKS}
        for repeat in range(job.repeats):
            for framework in FRAMEWORKS:
                if installed(framework.package) is None:
                    runs[framework.name].append({"error": "not installed"})
                    continue
                console.print(f"{job.name}, {framework.name}, run {repeat + 1} of {job.repeats} …", style="dim")
                runs[framework.name].append(one(job, folder, framework))
    figures = {name: best(found) for name, found in runs.items()}
    console.print(console_table(f"{job.title} ({data})", rows(figures)))
    return {"data": data, "runs": job.repeats, "rounds": job.rounds, "frameworks": figures}


def main() -> None:
    console = Console() if sys.stdout.isatty() else Console(width=120)
    about = machine()
    wanted = sys.argv[1:] or list(JOBS)
    jobs = {name: bench(job_named(name), console) for name in wanted}
    if wanted == list(JOBS):
        RESULTS.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": about, "jobs": jobs}, indent=1)
        (RESULTS / "peers.json").write_text(text + "\n", encoding="utf-8")
        (RESULTS / "peers.md").write_text(markdown(about, jobs), encoding="utf-8")
        console.print(f"Written to {RESULTS.relative_to(ROOT)}/peers.md and peers.json.")


if __name__ == "__main__":
    main()
