"""The rounds of a run, one after the other, and what is written of them."""

import hashlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any, Protocol

from safetensors.torch import save
from torch import Tensor

from heteroselect import methods
from heteroselect.core.evaluate import class_accuracies
from heteroselect.core.flat import FlatModel, Weights
from heteroselect.core.measure import Measure
from heteroselect.core.moment import Moment
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.engines.simulate.evaluator import Evaluator as TestSet
from heteroselect.engines.simulate.pool import Pool
from heteroselect.round.round import play_round
from heteroselect.round.server import Clients, Record
from heteroselect.round.shown import shown
from heteroselect.round.step import play_step
from heteroselect.runs.checkpoint import FOLDER as CHECKPOINTS
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import Experiment
from heteroselect.runs.folder import RunFolder, as_user_error, remove
from heteroselect.runs.progress import STORE, Progress
from heteroselect.runs.provenance import environment
from heteroselect.runs.result import Interrupted, Line, Result
from heteroselect.runs.spread import spread
from heteroselect.settings.method import title

KINDS_OF_BYTES = ("up", "down", "scoring", "calibration")
SECONDS = 60.0
"""Wall time that a crash may cost, where checkpoints are not written every so many rounds."""


class Evaluator(Protocol):
    """What the model is worth: its outputs for every test example, and a number that is made of them."""

    def outputs(self, weights: Weights) -> Tensor: ...
    def value(self, outputs: Tensor) -> float: ...
    def on(self, test: Examples) -> "Evaluator": ...


@dataclass(frozen=True)
class Engine:
    """What a run needs of the place it runs in: clients, and somebody who evaluates the model."""

    clients: Clients
    evaluator: Evaluator


Opening = Callable[["Progress"], AbstractContextManager[Engine]]
"""Opens an engine for a run that stands where `Progress` says."""


def play(
    experiment: Experiment,
    folder: RunFolder | None,
    *,
    threads: int,
    device: str = "cpu",
    watch: Callable[[Line], None] | None = None,
    found: tuple[Progress, Checkpoints] | None = None,
    engine: Opening | None = None,
) -> Result:
    """Run all rounds, or all that are left after those `found`, in the simulator or on another `engine`. Interrupted by
    Ctrl-C, it closes the folder after the last whole round, with a checkpoint, and raises Interrupted."""
    path = folder.path if folder else None
    progress, checkpoints = found or (Progress.start(experiment, path), Checkpoints(path) if path else None)
    saver = Saver(progress, folder, checkpoints, experiment.config.simulate.checkpoint_rounds)
    opened = (engine or partial(simulated, experiment, threads=threads, device=device))(progress)
    stopped = None
    with closing(folder) if folder else nullcontext(), opened as running:
        try:
            _rounds(experiment, running, progress, saver, watch)
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
            saver.save()
        status = "stopped at target" if _reached(progress.lines, experiment) else "finished"
        weights = shown(experiment.method, progress.server.state, progress.server.weights)
        summary = _summary(experiment, progress.lines, weights) | {
            **_client_figures(experiment, running.evaluator, weights, progress.lines),
            "status": "interrupted" if stopped else status,
            **(folder.noted if folder else {}),
            "wall_seconds": saver.seconds,
            "environment": environment(threads, device),
        }
    flat = FlatModel(experiment.module)
    flat.load(weights)
    if folder:
        model = save(flat.state_dict())
        summary["model_file_sha256"] = hashlib.sha256(model).hexdigest()
        folder.finish(summary, model)
        if not stopped:
            remove(folder.path / CHECKPOINTS)
        remove(folder.path / STORE)
    result = Result(experiment.config, summary, progress.lines, flat.state_dict(), path)
    if stopped is not None:  # whoever runs one after the other is to stop, and half a run is no result
        raise Interrupted(result) from stopped
    return result


class Saver:
    """Writes checkpoints of a run: what has changed since the last one, when it is due. That is so `often` in rounds,
    or (0) so that a crash costs no more than SECONDS."""

    def __init__(
        self, progress: Progress, folder: RunFolder | None, checkpoints: Checkpoints | None, often: int
    ) -> None:
        self.progress, self.folder, self.checkpoints, self.often = progress, folder, checkpoints, often
        self.changed: set[int] = set()
        self._before, self._began = progress.seconds, time.perf_counter()
        self._saved, self._asked, self._longest = self._began, self._began, 0.0

    @property
    def seconds(self) -> float:
        """Wall time of the run so far."""
        return self._before + time.perf_counter() - self._began

    def save_if_due(self, round: int) -> None:
        """Asked after every round."""
        now = time.perf_counter()
        self._longest, self._asked = max(self._longest, now - self._asked), now
        if round % self.often == 0 if self.often else now - self._saved + self._longest > SECONDS:
            self.save()

    def save(self) -> None:
        if self.folder and self.checkpoints and self.changed:
            self.progress.seconds = self.seconds
            self.folder.sync()
            with as_user_error(self.folder.path):
                self.progress.save(self.checkpoints, self.changed, self.folder)
            self.changed.clear()
            self._saved = self._asked = time.perf_counter()


def _rounds(
    experiment: Experiment,
    engine: Engine,
    progress: Progress,
    saver: Saver,
    watch: Callable[[Line], None] | None,
) -> None:
    """Round after round; each is taken over, at server and clients, only once it has been evaluated."""
    config, lines = experiment.config, progress.lines
    for t in range(len(lines) + 1, config.last_round + 1):
        if _reached(lines, experiment):
            break
        play_next = play_step if experiment.method.async_mode.size else play_round
        played = play_next(
            Moment(t, config.rounds),
            progress.server,
            experiment.method,
            engine.clients,
            experiment.environment,
            experiment.streams,
            selected=config.selected,
        )
        record, by_class = played.record, None
        if t % config.evaluate_every == 0 or t == config.last_round:
            weights = shown(experiment.method, played.server.state, played.server.weights)
            outputs = engine.evaluator.outputs(weights)
            record = replace(record, accuracy=engine.evaluator.value(outputs))
            by_class = class_accuracies(outputs, experiment.federation.test.y, experiment.federation.classes)
        line = _line(record, played.server.now) | {"class_accuracy": by_class}
        with defer_signals():
            engine.clients.acknowledge(played.used)
            progress.uploads.update(played.received)
            progress.server = played.server
            saver.changed.update(played.used)
            if saver.folder:
                saver.folder.add_round(line)
            lines.append(line)
        if watch:
            watch(line)
        if t < config.last_round:
            saver.save_if_due(t)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Signals to end wait until the end of the block: server, clients and log change together or not at all."""
    caught: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # no other thread is interrupted
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda one, frame: caught.append((one, frame)))
    try:
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
    for held, frame in caught[:1]:  # not after an error: what broke in the middle must not be saved
        before[held](held, frame)


@contextmanager
def simulated(experiment: Experiment, progress: Progress, *, threads: int, device: str = "cpu") -> Iterator[Engine]:
    """Clients and evaluator on this machine, which share a pool of threads."""
    with Pool(experiment.module, threads=threads, device=device) as pool:
        clients = Simulator(pool, experiment.clients(), experiment.task, experiment.method, kept=progress.kept)
        yield Engine(clients, evaluator(experiment, pool))


def evaluator(experiment: Experiment, pool: Pool) -> TestSet:
    test, task, metric = experiment.federation.test, experiment.task, experiment.metric
    return TestSet(pool, test, task, metric.function, experiment.streams)


def _reached(lines: Sequence[Line], experiment: Experiment) -> bool:
    """Whether the run may end here because the target was held long enough."""
    config, measure = experiment.config, experiment.metric.measure
    return bool(lines and config.stop_at_target and _held(lines, config.target, measure) >= config.stop_at_target)


def _line(record: Record, now: float) -> Line:
    """A line of rounds.jsonl; `now` is the simulated second after the round."""
    fields = dict(vars(record))
    traffic = fields.pop("bytes")
    fields["scores"] = [score if math.isfinite(score) else None for score in record.scores]
    fields["score_parts"] = {name: mean if math.isfinite(mean) else None for name, mean in record.score_parts.items()}
    fields["events"] = [vars(event) for event in record.events]
    fields["cumulative_seconds"] = now
    return fields | {f"bytes_{kind}": amount for kind, amount in vars(traffic).items()}


def _held(lines: Sequence[Line], target: float, measure: Measure) -> int:
    """For how many rounds, up to the last, every evaluation has been at the target."""
    since = None
    for line in lines:
        if line["accuracy"] is not None:
            since = (since or line["round"]) if measure.reached(line["accuracy"], target) else None
    return lines[-1]["round"] - since + 1 if since else 0


def _summary(experiment: Experiment, lines: Sequence[Line], weights: Weights) -> dict[str, Any]:
    config, entry = experiment.config, methods.REGISTRY.get(experiment.method.name)
    evaluated, measure = [line for line in lines if line["accuracy"] is not None], experiment.metric.measure
    return {
        "method": experiment.method.name,
        "title": title(config.method),
        "reconstruction": entry is not None and entry.reconstruction,
        "leaves_out": "" if entry is None else entry.leaves_out,
        "sends_float32": experiment.method.sends_float32,
        "dataset": experiment.federation.name,
        "evaluated_on": config.data.evaluate,
        "seed": config.seed,
        "rounds": config.rounds,
        "rounds_run": len(lines),
        "target": config.target,
        "metric": measure.as_dict(),
        "peak_accuracy": measure.best(line["accuracy"] for line in evaluated),
        "final_accuracy": evaluated[-1]["accuracy"] if evaluated else None,
        "charge": config.world.charge,
        **_to_target(lines, config.target, measure),
        "total_seconds": lines[-1]["cumulative_seconds"] if lines else 0.0,
        "total_megabytes": _megabytes(lines, "bytes_up_paper"),
        "total_wire_megabytes": _megabytes(lines, "bytes_up"),
        **{f"bytes_{kind}": sum(line[f"bytes_{kind}"] for line in lines) for kind in KINDS_OF_BYTES},
        "parameters": len(weights.vector),
        "model_sha256": weights.sha256(),
    }


def _to_target(lines: Sequence[Line], target: float, measure: Measure) -> dict[str, Any]:
    """What it took until an evaluation was at the target; None where none was."""
    at = (line for line in lines if line["accuracy"] is not None and measure.reached(line["accuracy"], target))
    reached = next(at, None)
    if reached is None:
        kinds = ("rounds", "seconds", "megabytes", "wire_megabytes")
        return dict.fromkeys(f"{kind}_to_target" for kind in kinds)
    until = lines[: reached["round"]]
    return {
        "rounds_to_target": reached["round"],
        "seconds_to_target": reached["cumulative_seconds"],
        "megabytes_to_target": _megabytes(until, "bytes_up_paper"),
        "wire_megabytes_to_target": _megabytes(until, "bytes_up"),
    }


def _megabytes(lines: Sequence[Line], kind: str) -> float:
    return float(sum(line[kind] for line in lines)) / 1e6


def _client_figures(
    experiment: Experiment, evaluator: Evaluator, weights: Weights, lines: Sequence[Line]
) -> dict[str, Any]:
    """What single clients see of the model, how even the run was to them, and its worth to owners who are new to it."""
    federation = experiment.federation
    outputs = None if federation.classes is None else evaluator.outputs(weights)
    found = spread(outputs, federation, lines)
    found["unseen_owners"], found["unseen_accuracy"] = federation.newcomers, None
    if federation.unseen is not None:
        others = evaluator.on(federation.unseen)
        found["unseen_accuracy"] = others.value(others.outputs(weights))
    return found
