"""The numbers behind the paper's figures: our runs and the authors' logs, read and reckoned. Nothing here draws."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from heteroselect.comparison.figures import Floats, Lines
from heteroselect.comparison.over_seeds import tail
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.curves import Band, Curve
from heteroselect.comparison.study import plan
from heteroselect.comparison.study import read as read_study
from heteroselect.paper.replay import read_log
from heteroselect.runs.folder import CONFIG, read_rounds, read_summary, whole_rounds
from heteroselect.settings import PaperRow

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ("table1-mnist", "table2", "psi", "mu", "stress", "table1", "table3")
CONTROL = "control without the score"
PARTS = {"loss": "V", "diversity": "D", "fairness": "F", "staleness": "St"}
"""The parts of the score, and their letters in the paper and in the authors' logs."""
POINTS = (1, 10, 20, 50, 100)
"""Rounds at which figures.json gives the parts of the score."""


@dataclass(frozen=True)
class Run:
    """A run, finished or not; the summary of one that is not is empty."""

    seed: int
    lines: Lines
    summary: Mapping[str, Any]
    clients: int
    rounds: int


Rows = dict[str, list[Run]]


@dataclass(frozen=True)
class Log:
    """A log of the authors, its rounds with the names of our rounds.jsonl."""

    dataset: str
    psi: float
    mu: float
    seed: int
    variant: str
    clients: int
    lines: Lines


@dataclass(frozen=True)
class Material:
    """All that the figures are drawn from: finished runs by study and row, unfinished ones, what the paper says of a
    row, and the authors' logs."""

    finished: Mapping[str, Rows]
    unfinished: Mapping[str, Rows] = field(default_factory=dict)
    paper: Mapping[str, Mapping[str, PaperRow]] = field(default_factory=dict)
    logs: Sequence[Log] = ()

    def rows(self, study: str, *labels: str) -> Rows:
        """The rows of a study that have a finished run, in the order of `labels`, or all of them."""
        found = self.finished.get(study, {})
        return {label: found[label] for label in labels or found if found.get(label)}

    def log(self, dataset: str, **wanted: Any) -> Log | None:
        """The log of the paper's primary setting, or of one that differs from it as `wanted`."""
        asked = {"dataset": dataset, "psi": 0.4, "mu": 0.1, "seed": 42, "variant": "adaptive"} | wanted
        return next((log for log in self.logs if all(getattr(log, key) == asked[key] for key in asked)), None)


def logged_line(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A round of the authors' log under the names of our rounds.jsonl."""
    return {
        "round": int(entry["round"]),
        "accuracy": float(entry["test_acc"]),
        "cumulative_seconds": float(entry["cum_time_s"]),
        "bytes_up_paper": 1e6 * float(entry["sim_traffic_mb"]),
        "selected": [int(client) for client in entry["selected"]],
        "densities": [float(density) for density in entry["theta_k"]],
        "bandwidth_mbps": [float(speed) for speed in entry["bw_mbps_sel"]],
        "score_parts": {part: float(entry[f"score_{letter}_mean"]) for part, letter in PARTS.items()},
    }


def read_logs(folder: Path) -> list[Log]:
    """The authors' logs in a folder, by name."""
    found = []
    for path in sorted(folder.glob("*.json")):
        log = read_log(path)
        config, clients = log["config"], int(log["fl_config"]["num_clients"])
        about = config["dataset"], config["psi"], log["summary"]["mu"], config["seed"]
        lines = [logged_line(entry) for entry in log["rounds"]]
        found.append(Log(*about, config.get("variant", "adaptive"), clients, lines))
    return found


def read_run(path: Path, seed: int, done: bool) -> Run:
    """The run in a folder; of one that has not finished, the whole rounds."""
    config = tomllib.loads((path / CONFIG).read_text(encoding="utf-8"))
    lines = read_rounds(path) if done else whole_rounds(path)
    return Run(seed, lines, read_summary(path) if done else {}, config["clients"], config.get("rounds", len(lines)))


def gather(runs: Path, logs: Path | None) -> Material:
    """All runs of the studies below `runs`, and the logs; prints which rows have fewer seeds than planned.

    A run that two studies share lies in the folder of one of them, and is found there.
    """
    finished: dict[str, Rows] = {name: {} for name in STUDIES}
    unfinished: dict[str, Rows] = {name: {} for name in STUDIES}
    paper: dict[str, dict[str, PaperRow]] = {}
    for name in STUDIES:
        study = read_study(ROOT / "studies" / f"{name}.toml")
        paper[name] = {row.label: row.paper[0] for row in study.row if row.paper}
        cells = plan(study, runs / name).cells
        for cell in cells:
            if cell.done:
                finished[name].setdefault(cell.method, []).append(read_run(cell.path, cell.seed, True))
            elif (cell.path / CONFIG).is_file() and (run := read_run(cell.path, cell.seed, False)).lines:
                unfinished[name].setdefault(cell.method, []).append(run)
        planned = {label: sum(cell.method == label for cell in cells) for label in (cell.method for cell in cells)}
        short = {label: len(finished[name].get(label, [])) for label in planned}
        if texts := [
            f"{label} {short[label]} of {planned[label]}" for label in planned if short[label] < planned[label]
        ]:
            print(f"{name}: finished seeds: {'; '.join(texts)}.")
    return Material(finished, unfinished, paper, read_logs(logs) if logs else [])


def deviation(found: Sequence[Curve]) -> Band:
    """The mean of the curves and one standard deviation (n - 1) below and above it, at the x that all of them have.

    >>> band = deviation([Curve(np.array([1.0, 2.0]), np.array([1.0, 5.0])), Curve(np.array([1.0]), np.array([3.0]))])
    >>> band.x.tolist(), band.mean.tolist(), (band.high - band.low).round(3).tolist()
    ([1.0], [2.0], [2.828])
    """
    if not found:
        return Band(*(np.empty(0) for _ in range(4)))
    shared = found[0].x
    for curve in found[1:]:
        shared = np.intersect1d(shared, curve.x)
    read = np.array([curve.y[np.isin(curve.x, shared)] for curve in found])
    mean, sigma = read.mean(axis=0), spread(read)
    return Band(shared, mean, mean - sigma, mean + sigma)


def spread(read: Floats) -> Floats:
    """The standard deviation over the first axis, zero where it has one entry."""
    return np.asarray(read.std(axis=0, ddof=1) if len(read) > 1 else np.zeros(read.shape[1:]), dtype=np.float64)


def trailing(curve: Curve, width: int = 5) -> Curve:
    """Each value as the mean of it and up to `width` - 1 values before it.

    >>> trailing(Curve(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 9.0])), 2).y.tolist()
    [2.0, 3.0, 6.5]
    """
    sums = np.concatenate([[0.0], np.cumsum(curve.y)])
    ends = np.arange(1, len(curve.y) + 1)
    starts = np.maximum(0, ends - width)
    return Curve(curve.x, (sums[ends] - sums[starts]) / (ends - starts))


def cut(curve: Curve, start: float, end: float) -> Curve:
    """The points of a curve from `start` to `end`."""
    inside = (curve.x >= start) & (curve.x <= end)
    return Curve(curve.x[inside], curve.y[inside])


def difference(one: Sequence[Run], other: Sequence[Run]) -> list[float]:
    """The last accuracies of `one` less those of `other`, for each seed that both have."""
    mine, theirs = last_accuracies(one), last_accuracies(other)
    return [mine[seed] - theirs[seed] for seed in mine if seed in theirs]


def shared_seeds(rows: Rows) -> Rows:
    """The rows with those seeds only that all of them have."""
    shared = set.intersection(*({run.seed for run in runs} for runs in rows.values())) if rows else set()
    return {label: [run for run in runs if run.seed in shared] for label, runs in rows.items()}


def unchanged(runs: Sequence[Run], others: Sequence[Run]) -> int:
    """How many seeds have the same selections, densities and accuracies in every round of both."""
    mine, theirs = ({run.seed: [_course(line) for line in run.lines] for run in some} for some in (runs, others))
    return sum(seed in theirs and mine[seed] == theirs[seed] for seed in mine)


def _course(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["selected"], line["densities"], line["accuracy"]


def last_accuracies(runs: Sequence[Run]) -> dict[int, float]:
    """The mean of the last evaluations of each seed."""
    found = {run.seed: tail(run.lines) for run in runs}
    return {seed: value for seed, value in found.items() if value is not None}


def sorted_counts(lines: Lines, clients: int) -> Floats:
    """How often each client was selected, the most frequent first.

    >>> sorted_counts([{"selected": [0, 2]}, {"selected": [2]}], 3).tolist()
    [2.0, 1.0, 0.0]
    """
    return np.sort(curves.times_selected(lines, clients).astype(np.float64))[::-1]


def binomial_counts(clients: int, rounds: int, share: float) -> Floats:
    """The expected counts, the highest first, of clients that each take part in a round with chance `share`.

    The expected i-th highest of K counts is the sum over m = 1, 2, … of the chance that i or more of them are at
    least m.

    >>> binomial_counts(2, 1, 0.5).tolist()
    [0.75, 0.25]
    """
    reach = stats.binom.sf(np.arange(rounds), rounds, share)  # P(count >= m) for m = 1 … rounds
    places = np.arange(1, clients + 1)
    return np.asarray(stats.binom.sf(places[:, None] - 1, clients, reach[None, :]).sum(axis=1), dtype=np.float64)


def selection(counts: Sequence[Floats]) -> dict[str, float]:
    """The lowest and the highest count and the standard deviation over clients, each a mean over seeds."""
    return {
        "min": float(np.mean([one.min() for one in counts])),
        "max": float(np.mean([one.max() for one in counts])),
        "deviation": float(np.mean([one.std() for one in counts])),
    }


def binomial_selection(clients: int, rounds: int, share: float) -> dict[str, float]:
    """The same of the binomial: its expected lowest and highest count, and its standard deviation."""
    counts = binomial_counts(clients, rounds, share)
    sigma = float(np.sqrt(rounds * share * (1 - share)))
    return {"min": float(counts[-1]), "max": float(counts[0]), "deviation": sigma}


def parts_at(runs: Sequence[Lines], points: Sequence[int] = POINTS) -> dict[str, dict[str, float]]:
    """The means of the score's parts at some rounds, mean over seeds; a round that a seed has not is left out."""
    found: dict[str, dict[str, float]] = {}
    for t in points:
        lines = [line for lines in runs for line in lines if line["round"] == t]
        if len(lines) == len(runs) > 0:
            parts = {part: [line["score_parts"].get(part) for line in lines] for part in PARTS}
            found[str(t)] = {part: float(np.mean(some)) for part, some in parts.items() if None not in some}
    return found


def mean_of_selected(runs: Sequence[Lines], key: str) -> float:
    """The mean of a figure over all selected clients, rounds and seeds."""
    return float(np.mean([value for lines in runs for line in lines for value in line[key] if value is not None]))


def bytes_by_kind(runs: Sequence[Lines]) -> dict[str, dict[str, float]]:
    """Megabytes of a whole run by kind, mean over seeds, and the share of each kind in all of them."""
    total = {key: sum(line[f"bytes_{key}"] for lines in runs for line in lines) / 1e6 / len(runs)
             for key in ("up_paper", "up", "down", "scoring", "calibration")}  # fmt: skip
    megabytes = {
        "values": total["up_paper"],
        "positions and headers": total["up"] - total["up_paper"],
        "down": total["down"],
        "scoring": total["scoring"],
        "calibration": total["calibration"],
    }
    whole = sum(megabytes.values())
    return {"megabytes": megabytes, "share": {kind: value / whole for kind, value in megabytes.items()}}


def rounded(value: Any, digits: int = 5) -> Any:
    """The same with every float at `digits` significant digits, and what is only rounding error as zero.

    >>> rounded({"a": [1 / 3, 123456.7, -1e-17], "n": 3})
    {'a': [0.33333, 123460.0, 0.0], 'n': 3}
    """
    if isinstance(value, Mapping):
        return {key: rounded(one, digits) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one, digits) for one in value]
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-12 else float(f"{value:.{digits}g}")
    return value


def log_name(log: Log) -> str:
    """What a log is of, in words.

    >>> log_name(Log("mnist", 0.4, 0.1, 42, "adaptive", 100, []))
    'mnist, ψ = 0.4, μ = 0.1, seed 42, adaptive'
    """
    return f"{log.dataset}, ψ = {log.psi:g}, μ = {log.mu:g}, seed {log.seed}, {log.variant}"


def numbers(material: Material) -> dict[str, Any]:
    """What the captions need, by kind, study and row."""
    counted = {
        study: {label: {"seeds": len(runs)} | selection([sorted_counts(run.lines, run.clients) for run in runs])
                for label, runs in rows.items()}
        for study, rows in material.finished.items() if rows
    }  # fmt: skip
    scored = material.rows("table1-mnist", "heteroselect", "heteroselect-as-run")
    whole = material.rows("table1-mnist", "heteroselect", CONTROL)
    return {
        "selection": counted
        | {"logs": {log_name(log): selection([sorted_counts(log.lines, log.clients)]) for log in material.logs}}
        | {"Bin(100, 0.1)": binomial_selection(100, 100, 0.1)},
        "score_parts": {label: parts_at(lines_of(runs)) for label, runs in scored.items()}
        | {log_name(log): parts_at([log.lines]) for log in material.logs},
        "last_accuracy": {
            study: {label: _last(runs) for label, runs in material.rows(study).items()}
            for study in ("table2", "psi", "mu")
        },
        "stress": {label: _stressed(label, material.rows("stress")) for label in material.rows("stress")},
        "bytes": {label: bytes_by_kind(lines_of(runs)) for label, runs in whole.items()},
    }


def _stressed(label: str, rows: Rows) -> dict[str, float]:
    """The mean density and bandwidth of who was selected, the seconds, and how many seeds go as without stress."""
    runs, calm = rows[label], rows.get("no stress, control" if label.endswith(", control") else "no stress", [])
    return {
        "seeds": len(runs),
        "theta": mean_of_selected(lines_of(runs), "densities"),
        "bandwidth_mbps": mean_of_selected(lines_of(runs), "bandwidth_mbps"),
        "seconds": float(np.mean([run.lines[-1]["cumulative_seconds"] for run in runs])),
        "seeds unchanged by stress": unchanged(runs, calm),
    }


def lines_of(runs: Sequence[Run]) -> list[Lines]:
    return [run.lines for run in runs]


def _last(runs: Sequence[Run]) -> dict[str, float]:
    """The mean and the standard deviation over seeds of the last accuracy."""
    found = np.array(list(last_accuracies(runs).values()))
    return {"seeds": len(found), "mean": float(found.mean()), "deviation": float(spread(found))}
