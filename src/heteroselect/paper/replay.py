"""Replay: do our rules give the numbers of the authors' own logs?

A log holds who was selected, their scores and their bandwidths. From these alone every τ, η, θ_t, β, θ_k,
second and megabyte of the run follows, computed here by the very parts that a run uses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from heteroselect.core.arrays import Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.errors import HeteroSelectError
from heteroselect.files import parse_json
from heteroselect.parts.allocate import ScoreShare, UniformShare
from heteroselect.parts.compress import ErrorMemory
from heteroselect.parts.select import Cohort, SelectionContext, Softmax
from heteroselect.parts.train import SharedRate
from heteroselect.world.clock import Clock, time_budget
from heteroselect.world.devices import authors_step_seconds
from heteroselect.world.ledger import Messages

# The logs are rounded, so a deviation counts only where it is large both ways.
RELATIVE, ABSOLUTE = 1e-3, 2e-5

QUANTITIES = {
    "tau": "τ",
    "lr_base": "η",
    "theta_t": "θ_t",
    "beta_t": "β",
    "theta_k": "θ_k",
    "sim_time_s": "seconds",
    "sim_traffic_mb": "MB",
}


@dataclass(frozen=True)
class Replay:
    """The largest relative deviation of each quantity over all rounds, and those that are too large."""

    path: Path
    rounds: int
    deviations: dict[str, float]
    failures: dict[str, str]

    @property
    def passed(self) -> bool:
        return not self.failures

    def text(self) -> str:
        """The verdict, and the largest relative deviation of each quantity below it, in Rich's markup."""
        verdict = "[green]agrees[/]" if self.passed else "[red]deviates[/]"
        figures = []
        for quantity, deviation in self.deviations.items():
            text = f"{QUANTITIES[quantity]} {deviation:.1e}"
            broken = self.failures.get(quantity)
            figures.append(f"[red]{text} (first in {broken})[/]" if broken else text)
        return f"{verdict}  {escape(self.path.name)}, {self.rounds} rounds\n        {' · '.join(figures)}"


def replay(path: Path) -> Replay:
    log = read_log(path)
    try:
        return _compare(path, log)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise HeteroSelectError(f"log: {path} is not a log of the authors' format ({what}).") from error


def _compare(path: Path, log: Mapping[str, Any]) -> Replay:
    rules = _Rules.of(log)
    deviations = dict.fromkeys(QUANTITIES, 0.0)
    failures: dict[str, str] = {}
    for entry in log["rounds"]:
        for quantity, ours in rules.round(entry).items():
            logged = np.atleast_1d(np.asarray(entry[quantity], np.float64))
            if logged.shape != ours.shape or not np.isfinite(logged).all():
                raise ValueError(f"{quantity} of round {entry['round']} has not one number per client")
            gap = np.abs(ours - logged)
            relative = gap / np.maximum(np.abs(logged), 1e-12)
            deviations[quantity] = max(deviations[quantity], float(relative.max()))
            if bool(((relative > RELATIVE) & (gap > ABSOLUTE)).any()):
                failures.setdefault(quantity, f"round {entry['round']}")
    return Replay(path, len(log["rounds"]), deviations, failures)


@dataclass(frozen=True)
class _Rules:
    """The settings a log was made with, as parts."""

    rounds: int
    size: int
    steps: int
    select: Softmax
    rate: SharedRate
    allocate: ScoreShare | UniformShare
    step_seconds: Reals
    budget_seconds: float

    @staticmethod
    def of(log: Mapping[str, Any]) -> "_Rules":
        fl, config = log["fl_config"], log["config"]
        size, steps, average = int(log["summary"]["model_params"]), int(fl["local_steps"]), float(fl["theta_total"])
        slow, fast = float(fl["bw_min_mbps"]), float(fl["bw_max_mbps"])
        quick, long = float(fl["comp_min_s"]), float(fl["comp_max_s"])
        # their uniform ablation drops the ceiling together with the score
        uniform = config.get("variant") == "uniform"
        kind: type[UniformShare] | type[ScoreShare] = UniformShare if uniform else ScoreShare
        return _Rules(
            rounds=int(fl["num_rounds"]),
            size=size,
            steps=steps,
            select=Softmax(float(fl["tau_0"])),
            rate=SharedRate(float(fl["local_lr"])),
            allocate=kind(
                average=average,
                amplitude=float(fl["alpha_cos"]),
                floor=float(fl["theta_floor"]),
                warmup="allocated",
                warmup_rounds=int(fl["warmup_rounds"]),
                ceiling="none" if uniform else "paper",
            ),
            step_seconds=authors_step_seconds(int(config["seed"]), int(fl["num_clients"]), quick, long),
            budget_seconds=time_budget(average, size, (slow + fast) / 2 * 1e6, steps, (quick + long) / 2),
        )

    def round(self, entry: Mapping[str, Any]) -> dict[str, Reals]:
        moment = Moment(int(entry["round"]), self.rounds)
        ids = np.asarray(entry["selected"], np.int64)
        scores = np.asarray(entry["scores_sel"], np.float64)
        bandwidth = np.asarray(entry["bw_mbps_sel"], np.float64) * 1e6
        if not ids.shape == scores.shape == bandwidth.shape or ids.size == 0:
            raise ValueError(f"round {moment.round} has not one score and one bandwidth per client")
        if not (
            np.isfinite(scores).all() and (bandwidth > 0).all() and np.isfinite(bandwidth).all() and (ids >= 0).all()
        ):
            raise ValueError(f"round {moment.round} has a client, a score or a bandwidth that cannot be")
        uplinks = np.ones(len(self.step_seconds))
        uplinks[ids] = bandwidth
        everybody = Conditions(
            up=uplinks,
            down=uplinks,
            step_seconds=self.step_seconds,
            available=np.ones(len(uplinks), bool),
            passes=self.steps,
            size=self.size,
            budget_seconds=self.budget_seconds,
        )
        nobody = Population.new(np.ones(len(ids), np.int64))
        context = SelectionContext(moment, ids, nobody, conditions=everybody.only(ids))
        allocation = self.allocate.allocate(scores, Cohort(ids, np.ones(len(ids))), context)
        sent = Messages(self.size, 4 * self.size, ids[:0], ids, allocation.densities, [])
        passes = np.full(len(ids), float(self.steps))
        single = {
            "tau": self.select.tau(moment),
            "lr_base": self.rate.eta(moment),
            "theta_t": allocation.theta,
            "beta_t": ErrorMemory().beta(allocation.theta),
            "sim_time_s": float(Clock("paper").spent(sent, everybody, passes, 0.0).total.max()),
            "sim_traffic_mb": sent.bytes().up_paper / 1e6,
        }
        return {name: np.array([value]) for name, value in single.items()} | {"theta_k": allocation.densities}


def read_log(path: Path) -> Mapping[str, Any]:
    try:
        log = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HeteroSelectError(f"log: {path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise HeteroSelectError(f"log: {path} is torn or not JSON ({error}).") from error
    parts = ("config", "fl_config", "summary", "rounds")
    if not isinstance(log, dict) or any(part not in log for part in parts) or not log["rounds"]:
        raise HeteroSelectError(f"log: {path} is not a log of the authors' format, which has {', '.join(parts)}.")
    return log
