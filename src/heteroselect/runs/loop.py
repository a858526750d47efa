"""The rounds of a run, one after the other, and what they leave behind."""

import platform
import shutil
import time
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from heteroselect import methods
from heteroselect.client import Client
from heteroselect.compress import Kept
from heteroselect.evaluate import client_accuracies, worst_tenth
from heteroselect.flat import FlatModel, Weights
from heteroselect.moment import Moment
from heteroselect.round import Engine, Record, play_round
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import Experiment
from heteroselect.runs.folder import RunFolder, for_people
from heteroselect.runs.progress import STORE, Pace, Progress
from heteroselect.settings import Config
from heteroselect.simulate.engine import Simulator
from heteroselect.version import __version__

Line = dict[str, Any]
KINDS_OF_BYTES = ("up", "down", "scoring", "calibration")


@dataclass(frozen=True, repr=False)
class Result:
    """What a run gave: `summary` and `rounds` are the contents of summary.json and rounds.jsonl."""

    config: Config
    summary: dict[str, Any]
    rounds: list[Line]
    model: dict[str, Tensor]
    folder: Path | None

    def __repr__(self) -> str:
        peak, where = self.summary["peak_accuracy"], f" in {self.folder}" if self.folder else ""
        shown = "none" if peak is None else f"{peak:.2%}"
        return f"<Result of {self.summary['method']}: {len(self.rounds)} rounds, peak accuracy {shown}{where}>"

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["summary"][name]
        except KeyError:
            raise AttributeError(name) from None


class Stage(Engine, Protocol):
    """An engine for a whole run: to be opened and closed, and able to show what the model says of the test set."""

    def __enter__(self) -> "Stage": ...
    def __exit__(self, *exception: object) -> None: ...
    def outputs(self, weights: Weights) -> Tensor: ...


def play(
    experiment: Experiment,
    folder: RunFolder | None,
    *,
    threads: int,
    device: str = "cpu",
    watch: Callable[[Line], None] | None = None,
    found: tuple[Progress, Checkpoints] | None = None,
    stage: Callable[[Progress], Stage] | None = None,
) -> Result:
    """All rounds, or all that are left after those `found`, in the simulator or on another `stage`. Interrupted by
    Ctrl-C, it closes the folder after the last whole round, with a checkpoint."""
    config, path = experiment.config, folder.path if folder else None
    progress, checkpoints = found or (Progress.start(experiment, path), Checkpoints(path) if path else None)
    lines, server, pace = progress.lines, progress.server, Pace(config.simulate)
    status, weights, changed, before = "finished", server.weights, set[int](), progress.seconds
    began = time.perf_counter()

    def save() -> None:
        if folder and checkpoints and changed:
            progress.seconds = before + time.perf_counter() - began
            folder.sync()
            with for_people(folder.path):
                progress.save(checkpoints, changed)
            changed.clear()
            pace.done()

    def here(progress: Progress) -> Stage:
        return simulator(experiment, experiment.clients(), threads=threads, device=device, kept=progress.kept)

    with closing(folder) if folder else nullcontext(), (stage or here)(progress) as engine:
        try:
            for t in range(len(lines) + 1, config.last_round + 1):
                if _reached(lines, config):
                    break
                record = play_round(
                    Moment(t, config.rounds),
                    server,
                    experiment.method,
                    engine,
                    experiment.world,
                    experiment.streams,
                    selected=config.selected,
                    evaluate=t % config.evaluate_every == 0 or t == config.last_round,
                )
                line = _line(record, lines)
                if folder:
                    folder.add_round(line)
                changed.update(record.selected)  # before the line: an interruption in between must not lose them
                lines.append(line)
                weights = server.weights
                if watch:
                    watch(line)
                if pace.due(t) and t < config.last_round:
                    save()
        except KeyboardInterrupt:
            status = "interrupted"
            if server.round == len(lines):  # else it was caught while it moved on, and the last checkpoint stands
                save()
        if status == "finished" and _reached(lines, config):
            status = "stopped at target"
        summary = _summary(experiment, lines, weights) | {
            **_client_figures(experiment, engine, weights),
            "status": status,
            "wall_seconds": before + time.perf_counter() - began,
            "environment": _environment(threads, device),
        }
    flat = FlatModel(experiment.module)
    flat.load(weights)
    if folder:
        folder.finish(summary, flat.state_dict())
        if checkpoints and status != "interrupted":
            checkpoints.clear()
        shutil.rmtree(folder.path / STORE, ignore_errors=True)
    return Result(config, summary, lines, flat.state_dict(), path)


def _reached(lines: Sequence[Line], config: Config) -> bool:
    """Whether the run may end here because the target was held long enough."""
    return bool(lines and config.stop_at_target and _held(lines, config.target) >= config.stop_at_target)


def simulator(
    experiment: Experiment,
    clients: Sequence[Client],
    *,
    threads: int,
    device: str = "cpu",
    kept: MutableMapping[int, Kept] | None = None,
) -> Simulator:
    return Simulator(
        experiment.module,
        clients,
        experiment.federation.test,
        experiment.task,
        experiment.method,
        experiment.metric,
        threads=threads,
        device=device,
        kept=kept,
        streams=experiment.streams,
    )


def _line(record: Record, before: Sequence[Line]) -> Line:
    """A line of rounds.jsonl."""
    fields = dict(vars(record))
    traffic = fields.pop("bytes")
    fields["events"] = [vars(event) for event in record.events]
    elapsed = before[-1]["cumulative_seconds"] if before else 0.0
    fields["cumulative_seconds"] = elapsed + record.seconds
    return fields | {f"bytes_{kind}": amount for kind, amount in vars(traffic).items()}


def _held(lines: Sequence[Line], target: float) -> int:
    """For how many rounds, up to the last, every evaluation has been at the target."""
    since = None
    for line in lines:
        if line["accuracy"] is not None:
            since = None if line["accuracy"] < target else since or line["round"]
    return lines[-1]["round"] - since + 1 if since else 0


def _summary(experiment: Experiment, lines: Sequence[Line], weights: Weights) -> dict[str, Any]:
    config = experiment.config
    evaluated = [line for line in lines if line["accuracy"] is not None]
    reached = next((line for line in evaluated if line["accuracy"] >= config.target), None)
    until = lines[: reached["round"]] if reached else []
    return {
        "method": experiment.method.name,
        "reconstruction": experiment.method.name in methods.REGISTRY
        and methods.REGISTRY[experiment.method.name].reconstruction,
        "dataset": experiment.federation.name,
        "seed": config.seed,
        "rounds": config.rounds,
        "rounds_run": len(lines),
        "target": config.target,
        "peak_accuracy": max((line["accuracy"] for line in evaluated), default=None),
        "final_accuracy": evaluated[-1]["accuracy"] if evaluated else None,
        "rounds_to_target": reached["round"] if reached else None,
        "seconds_to_target": reached["cumulative_seconds"] if reached else None,
        "megabytes_to_target": _megabytes(until, "bytes_up_paper") if reached else None,
        "wire_megabytes_to_target": _megabytes(until, "bytes_up") if reached else None,
        "total_seconds": lines[-1]["cumulative_seconds"] if lines else 0.0,
        "total_megabytes": _megabytes(lines, "bytes_up_paper"),
        "total_wire_megabytes": _megabytes(lines, "bytes_up"),
        **{f"bytes_{kind}": sum(line[f"bytes_{kind}"] for line in lines) for kind in KINDS_OF_BYTES},
        "parameters": len(weights.vector),
        "model_sha256": weights.sha256(),
    }


def _megabytes(lines: Sequence[Line], kind: str) -> float:
    return float(sum(line[kind] for line in lines)) / 1e6


def _client_figures(experiment: Experiment, engine: Stage, weights: Weights) -> dict[str, float | None]:
    """What single clients would see: accuracy on their own label mix, its mean and its worst tenth."""
    federation, found = experiment.federation, None
    if federation.classes is not None:
        labels = [examples.y for examples in federation.clients]
        found = client_accuracies(engine.outputs(weights), federation.test.y, labels, federation.classes)
    return {
        "client_accuracy_mean": sum(found) / len(found) if found else None,
        "client_accuracy_worst_tenth": worst_tenth(found) if found else None,
    }


def _environment(threads: int, device: str) -> dict[str, Any]:
    return {
        "heteroselect": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": threads,
        "device": device,
    }
