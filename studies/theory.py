"""The paper's two theorems, measured along real MNIST runs. Run it with `make theory` (a few minutes).

Plays the preset mnist with the method heteroselect as shipped, once for each seed, and looks at some rounds from the
model before them: which clients the score prefers (theorem 1), what sharing the budget by score leaves unsent (theorem
2), and how far the aggregate of the selected is from that of all. A look changes nothing of the run. Writes
studies/theory.json and docs/results/theory-*.svg; `python studies/theory.py --figures` draws from the file alone.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import rankdata

from heteroselect.comparison.report.style import INK, look
from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.flat import FlatModel, Weights
from heteroselect.core.messages import Order
from heteroselect.core.moment import Moment
from heteroselect.core.state import by_role
from heteroselect.data.batches import to_inputs
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.parts.aggregate import Equal, Inverse
from heteroselect.parts.allocate.density import proportional
from heteroselect.parts.allocate.waterfill import waterfill
from heteroselect.parts.compress import Update
from heteroselect.parts.score import Scores
from heteroselect.parts.select import Cohort, SelectionContext, Softmax, Uniform
from heteroselect.round.client import Pending, Worker
from heteroselect.round.method import Weigher
from heteroselect.round.stages import Observation, Plan, RoundContext
from heteroselect.round.stages.observe import observe_and_score
from heteroselect.round.stages.select import select_and_allocate
from heteroselect.runs.api import choose_threads
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.loop import Engine, play, simulated
from heteroselect.runs.progress import Progress
from heteroselect.runs.result import Line, Result
from heteroselect.settings.config import load

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PICTURES = ROOT / "studies" / "theory.json", ROOT / "docs" / "results"
SEEDS = (42, 43, 44, 45, 46)
ROUNDS = (1, 2, 5, 10, 20, 40, 60, 80, 100)
DRAWS = 10_000

Matrix = NDArray[np.float64]
Measured = dict[str, float | None]
"""Numbers of one round by name; None where there is nothing to measure."""
Columns = dict[str, list[float | None]]
"""The same of all rounds of a run."""


# Theorem 1: E[B_sel²] ≤ B²


def heterogeneity(gradients: Matrix) -> Reals:
    """b_k² = ‖∇L_k − ∇f‖², where ∇f is the mean of the rows."""
    found: Reals = ((gradients - gradients.mean(0)) ** 2).sum(1)
    return found


def inclusion(logits: Reals, size: int, nodes: int = 100) -> Reals:
    """π_k: how likely each is among `size` drawn one after the other in proportion to exp(logit), none twice.

    Such a draw takes the first `size` of independent exponential clocks with rates r_k ∝ exp(logit). In x = exp(−time),
    π_k = ∫₀¹ r_k·x^(r_k−1)·P(fewer than `size` of the others have rung) dx. It is integrated numerically over y with
    x = y⁴, which makes it smooth at 0 as well.
    """
    if size == len(logits):
        return np.ones(size)
    rates = np.exp(logits - logits.max())
    rates /= rates.mean()
    points, widths = np.polynomial.legendre.leggauss(nodes)
    y, widths = (points + 1) / 2, widths / 2
    silent = y[:, None] ** (4 * rates)  # that a clock has not rung
    rung = np.zeros((len(rates), nodes, size))  # for each left out: how likely 0, 1, … of the others have rung
    rung[:, :, 0] = 1
    for other in range(len(rates)):
        stays, moves = silent[None, :, other, None], 1 - silent[None, :, other, None]
        after = rung * stays
        after[:, :, 1:] += rung[:, :, :-1] * moves
        after[other] = rung[other]
        rung = after
    density = 4 * rates[:, None] * y ** (4 * rates[:, None] - 1)
    found: Reals = (density * rung.sum(2)) @ widths
    return found


def rank_correlation(a: Reals, b: Reals) -> float | None:
    """Spearman's; None where either is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


# Theorem 2: Σ E_k(score-proportional θ_k) ≤ Σ E_k(θ_t)


def unsent(v: Reals, kept: int) -> float:
    """E_k = ‖v − top_κ(v)‖²: the energy of all but the `kept` largest coordinates."""
    return float(np.sort(v**2)[: v.size - kept].sum())


def whole(shares: Reals, total: int) -> Counts:
    """Whole numbers close to `shares`, which add up to `total`: the largest remainders are rounded up.

    >>> whole(np.array([1.5, 2.2, 3.3]), 7).tolist()
    [2, 2, 3]
    """
    counts = np.floor(shares + 1e-9).astype(np.int64)
    counts[np.argsort(counts - shares, kind="stable")[: total - counts.sum()]] += 1
    return counts


def shared_error(vectors: Matrix, densities: Reals, total: int) -> float:
    """Σ_k E_k where densities, rescaled to `total` coordinates in all, say how many each client sends."""
    clients, size = vectors.shape
    shares = waterfill(densities, total / size, np.ones(clients), 0.0)
    kept = whole(size * shares, total)
    return sum(unsent(v, int(count)) for v, count in zip(vectors, kept, strict=True))


def common_threshold_error(vectors: Matrix, total: int) -> float:
    """The least Σ_k E_k of `total` coordinates: the largest of all clients together."""
    return unsent(vectors.ravel(), total)


def gains(vectors: Matrix, theta: float) -> Reals:
    """−E_k′(θ): what one more coordinate than the share θ would take off the error of each client."""
    size = vectors.shape[1]
    found: Reals = np.sort(vectors**2, 1)[:, size - 1 - int(theta * size)]
    return found


# The aggregate of the selected, as an estimate of that of all


@dataclass(frozen=True)
class Estimate:
    """The squared error of an estimate of ∇f (with its standard error), and the two parts it is the sum of."""

    error: float
    standard_error: float
    bias2: float
    variance: float


def estimate(weights: Matrix, inner: Matrix) -> Estimate:
    """Of Σ_k a_k ∇L_k as ∇f; each row of `weights` holds the a_k of one draw, 0 for those not drawn, and `inner` the
    inner products of the ∇L_k.

    The bias has the variance of the mean of the draws taken off, so that it may come out a little below zero.
    """
    draws, clients = weights.shape
    deviation = weights - 1 / clients
    errors = ((deviation @ inner) * deviation).sum(1)
    mean = deviation.mean(0)
    variance = (errors.mean() - mean @ inner @ mean) * draws / (draws - 1)
    error = float(errors.mean())
    return Estimate(error, standard_error(errors), error - float(variance), float(variance))


def weight_rows(cohorts: Sequence[Cohort], clients: int, weigh: Callable[[Cohort], Reals]) -> Matrix:
    """The weights of all clients in each draw."""
    rows = np.zeros((len(cohorts), clients))
    for row, cohort in zip(rows, cohorts, strict=True):
        row[cohort.ids] = weigh(cohort)
    return rows


def standard_error(values: Reals) -> float:
    """Of their mean."""
    return float(values.std(ddof=1) / math.sqrt(len(values)))


# A look at a run: what a round is about to do, and what else it might do


class Look:
    """Looks at a run before some of its rounds; `found` is what it saw, `selected` who was about to take part."""

    def __init__(self, experiment: Experiment, rounds: Sequence[int], draws: int) -> None:
        self.experiment, self.rounds, self.draws = experiment, rounds, draws
        self.found: list[Measured] = []
        self.selected: dict[int, list[int]] = {}

    @contextmanager
    def opened(self, progress: Progress) -> Iterator[Engine]:
        """The simulator that a run has anyway, with a look at its first round."""
        with simulated(self.experiment, progress, threads=choose_threads(None)) as engine:
            assert isinstance(engine.clients, Simulator)
            self.progress, self.simulator = progress, engine.clients
            self.before(1)
            yield engine

    def watch(self, line: Line) -> None:
        """After each round: it was the one seen; and a look at the next."""
        seen = self.selected.get(line["round"], line["selected"])
        if seen != line["selected"]:
            raise RuntimeError(f"round {line['round']} selected {line['selected']} where the study saw {seen}")
        self.before(line["round"] + 1)

    def before(self, round: int) -> None:
        if round not in self.rounds:
            return
        one, simulator = self.experiment, self.simulator
        moment, server = Moment(round, one.config.rounds), self.progress.server
        this = RoundContext(moment, server, one.method, simulator, one.environment, one.streams, one.config.selected)
        seen = observe_and_score(this)
        plan = select_and_allocate(this, seen)
        gradients = full_gradients(simulator, server.weights, seen.scores.ids)
        pi = inclusion(seen.scores.total / _softmax(one).tau(moment), this.selected)
        self.selected[round] = plan.cohort.ids.tolist()
        self.found.append(
            selection(seen.scores, pi, gradients)
            | compression(plan, trained(simulator, server.weights, plan.orders))
            | aggregation(this, seen, pi, gradients, self.draws)
        )


def _softmax(experiment: Experiment) -> Softmax:
    assert isinstance(experiment.method.select, Softmax)
    return experiment.method.select


def full_gradients(simulator: Simulator, weights: Weights, clients: Counts) -> Matrix:
    """∇L_k of these clients, each over all of its own data."""

    def one(k: int, model: FlatModel) -> Reals:
        examples, task = simulator.clients[k].examples, simulator.task
        model.module.eval()
        model.backward(task.loss, to_inputs(examples.x, task.pixels, model.device), examples.y.to(model.device))
        return model.gradient.cpu().double().numpy()

    return np.stack(simulator.pool.map(weights, one, clients.tolist()))


@dataclass(frozen=True)
class Offer:
    """What a client learnt (Δ), what it offers to its compressor (v = Δ + e), and what of it is sent."""

    delta: Reals
    v: Reals
    sent: Update


def trained(simulator: Simulator, weights: Weights, orders: Sequence[Order]) -> list[Offer]:
    """What the selected are about to send, from the model and with the error memory that they have."""

    def one(order: Order, model: FlatModel) -> Offer:
        state = by_role(simulator.kept.get(order.client, {}))
        worker = Worker(simulator.clients[order.client], model, simulator.task, simulator.method)
        _, pending = worker.train(order, state)
        assert isinstance(pending, Pending)
        v = pending.offered["residual"].astype(np.float64)
        memory = state.get("error_feedback", {}).get("residual", np.zeros(1))
        return Offer(v - memory, v, pending.sent)

    return simulator.pool.map(weights, one, orders)


def selection(scores: Scores, pi: Reals, gradients: Matrix) -> Measured:
    """Theorem 1: B² of all clients, and what is to be expected of the selected."""
    b2 = heterogeneity(gradients)
    chosen, parts = float(pi @ b2 / pi.sum()), {**scores.parts, "score": scores.total}
    return {
        "selection.B2": float(b2.mean()),
        "selection.B2_selected": chosen,
        "selection.ratio": chosen / float(b2.mean()),
        **{f"selection.rank.{name}": rank_correlation(part, b2) for name, part in parts.items()},
    }


def compression(plan: Plan, offers: Sequence[Offer]) -> Measured:
    """Theorem 2: Σ E_k of several ways to share one budget, relative to equal shares; with Δ alone, too, and with what
    was really sent (by curvature) relative to as many by magnitude. None in a warm-up, which sends everything."""
    theta, densities = plan.allocation.theta, plan.allocation.densities
    names = ("uniform", "score", "allocated", "common", "rank", "score_of_delta", "rank_of_delta", "sent", "budget")
    if plan.allocation.warmup:
        return {f"compression.{name}": None for name in names}
    vectors, deltas = np.stack([one.v for one in offers]), np.stack([one.delta for one in offers])
    clients, size = vectors.shape
    total, equal, by_score = round(clients * theta * size), np.ones(clients), proportional(plan.score, theta)
    uniform = shared_error(vectors, equal, total)
    sent = sum(float(((one.v - one.sent.dense()) ** 2).sum()) for one in offers)
    found = (
        uniform,
        shared_error(vectors, by_score, total) / uniform,
        shared_error(vectors, densities, total) / uniform,
        common_threshold_error(vectors, total) / uniform,
        rank_correlation(plan.score, gains(vectors, theta)),
        shared_error(deltas, by_score, total) / shared_error(deltas, equal, total),
        rank_correlation(plan.score, gains(deltas, theta)),
        sent / sum(unsent(one.v, one.sent.positions.size) for one in offers),
        float(densities.sum()) / (clients * theta),
    )
    return {f"compression.{name}": value for name, value in zip(names, found, strict=True)}


def aggregation(this: RoundContext, seen: Observation, pi: Reals, gradients: Matrix, draws: int) -> Measured:
    """How well the gradients of the selected, weighed in several ways, estimate that of all."""
    method, scores, population, clients = this.method, seen.scores, seen.population, len(gradients)
    rng = this.streams.numpy("study of the theory", round=this.number)
    context = SelectionContext(this.moment, scores.ids, population.only(scores.ids), size=this.selected, rng=rng)
    drawn = [method.select.select(scores.total, context) for _ in range(draws)]
    evenly = [Uniform().select(scores.total, context) for _ in range(draws)]

    def rows(cohorts: Sequence[Cohort], rule: Weigher) -> Matrix:
        return weight_rows(cohorts, clients, lambda c: rule.weights(scores.total[c.ids], c, population))

    weights = {
        "score": rows(drawn, method.weigh),
        "mean": rows(drawn, Equal()),
        "inverse": weight_rows(drawn, clients, lambda c: 1 / (clients * pi[c.ids])),
        "normalised": rows(drawn, Inverse()),
        "uniform": rows(evenly, Equal()),
    }
    inner = gradients @ gradients.T
    found = {name: estimate(one, inner) for name, one in weights.items()}
    b2 = weights["mean"] @ heterogeneity(gradients)
    measured: Measured = {
        "selection.B2_drawn": float(b2.mean()),
        "selection.B2_drawn_standard_error": standard_error(b2),
        "aggregation.gradient2": float((gradients.mean(0) ** 2).sum()),
    }
    for name, one in found.items():
        measured |= {f"aggregation.{name}.{part}": value for part, value in vars(one).items()}
        measured[f"aggregation.{name}.ratio"] = one.error / found["uniform"].error
        measured[f"aggregation.{name}.bias_share"] = one.bias2 / one.error
    return measured


# All seeds, and what they say together


def look_at(
    seed: int, rounds: Sequence[int] = ROUNDS, draws: int = DRAWS, settings: Mapping[str, Any] | None = None
) -> tuple[Columns, Result]:
    """A whole run of that seed: what was measured before some of its rounds, and what the run gave."""
    loaded = load("mnist", method="heteroselect", changes={**(settings or {}), "seed": seed})
    looking = Look(prepare(loaded), rounds, draws)
    result = play(looking.experiment, None, threads=choose_threads(None), watch=looking.watch, engine=looking.opened)
    return {name: [one[name] for one in looking.found] for name in looking.found[0]}, result


def over_seeds(runs: Sequence[Columns]) -> dict[str, dict[str, Any]]:
    """Of each number the mean and the standard deviation over seeds: at each round, and of the runs' own means."""
    return {name: _spread([run[name] for run in runs]) for name in runs[0]}


def _spread(columns: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    table = np.array(columns, np.float64)  # None becomes NaN
    defined = np.array([np.isfinite(column).all() for column in table.T])
    if not defined.any():
        return {"mean": None, "deviation": None, "by_round": []}
    runs, several = table[:, defined].mean(1), int(len(table) > 1)
    rounds = [
        [float(column.mean()), float(column.std(ddof=several))] if known else None
        for column, known in zip(table.T, defined, strict=True)
    ]
    return {"mean": float(runs.mean()), "deviation": float(runs.std(ddof=several)), "by_round": rounds}


def rounded(value: Any) -> Any:
    """Five digits are more than the seeds agree on."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def text(study: Mapping[str, Any]) -> str:
    """The file: a line for each list of numbers."""

    def lines(value: Any, depth: int) -> str:
        if not isinstance(value, Mapping) or not any(isinstance(one, Mapping | list) for one in value.values()):
            return json.dumps(value)
        if "by_round" in value:
            return json.dumps(value)
        inside = ",\n".join(f"{' ' * depth}{json.dumps(key)}: {lines(one, depth + 1)}" for key, one in value.items())
        return f"{{\n{inside}\n{' ' * (depth - 1)}}}"

    return lines(study, 1) + "\n"


def main() -> None:
    runs: dict[str, Any] = {}
    for seed in SEEDS:
        columns, result = look_at(seed)
        about = {name: result.summary[name] for name in ("peak_accuracy", "model_sha256")}
        runs[str(seed)] = rounded(about | {"measured": columns})
        print(f"seed {seed}: peak {result.peak_accuracy:.2%}, {result.wall_seconds:.0f} s", flush=True)
    together = rounded(over_seeds([run["measured"] for run in runs.values()]))
    study = {"preset": "mnist", "method": "heteroselect", "draws": DRAWS, "rounds": list(ROUNDS)}
    RESULTS.write_text(text({**study, "over_seeds": together, "runs": runs}))
    print(RESULTS.relative_to(ROOT))


# Three pictures


def draw() -> None:
    """The pictures, from the file."""
    study = json.loads(RESULTS.read_text())
    for name, picture in {"selection": _selection, "compression": _compression, "aggregation": _aggregation}.items():
        # a fixed salt and no date: the same numbers give the same file
        with rc_context(
            {"svg.hashsalt": "heteroselect", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
        ):
            figure = picture(study)
            FigureCanvasAgg(figure)
            path = PICTURES / f"theory-{name}.svg"
            figure.savefig(path, metadata={"Date": None})
        print(path.relative_to(ROOT))


def _selection(study: Mapping[str, Any]) -> Figure:
    figure, (left, right) = _panels(study, "Theorem 1 on MNIST: how much the selected clients differ from the average")
    _bands(left, study, {"selection.ratio": "drawn by score (the paper)"})
    _mark(left, 1, "uniform draw; theorem 1 claims the score's is at or below")
    left.set(title="heterogeneity of the selected", ylabel="E[B²] of the 10 selected / B² of all 100")
    names = {"score": "S, the score", "loss": "V, loss", "diversity": "D, diversity"}
    names |= {"fairness": "F, fairness", "staleness": "St, staleness"}
    _bands(right, study, {f"selection.rank.{name}": label for name, label in names.items()})
    _mark(right, 0, "no relation")
    right.set(title="what the score goes by", ylabel="rank correlation with b = ‖∇L − ∇f‖", ylim=(-1, 1))
    return _finished(figure)


def _compression(study: Mapping[str, Any]) -> Figure:
    figure, (left, right) = _panels(
        study, "Theorem 2 on MNIST: what stays unsent when one budget is shared among the 10 selected clients"
    )
    _bands(left, study, {"compression.score": "by score, before clipping"})
    _bands(left, study, {"compression.allocated": "by score, as allocated (eq. 8)"}, first=3, stroke="o:")
    _bands(left, study, {"compression.common": "one threshold for all, the least possible"}, first=2)
    _mark(left, 1, "equal shares; theorem 2 claims by score is at or below")
    left.set(title="error of the same number of coordinates", ylabel="squared error / that of equal shares")
    _bands(right, study, {"compression.rank": "of v = Δ + e, which is compressed"}, first=4)
    _bands(right, study, {"compression.rank_of_delta": "of Δ alone, without the error memory"}, first=5)
    _mark(right, 0, "no relation; theorem 2 assumes +1")
    right.set(title="score and gain of one more coordinate", ylabel="rank correlation among the 10", ylim=(-1, 1))
    return _finished(figure)


def _aggregation(study: Mapping[str, Any]) -> Figure:
    figure, (left, right) = _panels(
        study, "Aggregation on MNIST: gradients of 10 selected clients as an estimate of the mean of all 100"
    )
    labels = {"score": "drawn by score, weighted by score (the paper)", "mean": "drawn by score, equal weights"}
    labels |= {
        "inverse": "drawn by score, weights 1/(Kπ)",
        "normalised": "drawn by score, weigh.kind = inverse (sum 1)",
    }
    for panel, number in ((left, "ratio"), (right, "bias_share")):
        _bands(panel, study, {f"aggregation.{name}.{number}": label for name, label in labels.items()})
    _mark(left, 1, "uniform draw, equal weights")
    _mark(right, 0, "unbiased, as the uniform draw")
    left.set(title="squared error", ylabel="E‖estimate − ∇f‖² / that of a uniform draw")
    right.set(title="share of it that is bias, the rest is variance", ylabel="bias² / squared error")
    right.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    return _finished(figure)


def _panels(study: Mapping[str, Any], title: str) -> tuple[Figure, tuple[Axes, Axes]]:
    figure = Figure(figsize=(10, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for panel in (left, right):
        panel.set(xlabel="round (measured at the model before it)", xscale="log")
        panel.set_xticks(study["rounds"], [str(t) if t not in (60, 80) else "" for t in study["rounds"]])
        panel.minorticks_off()
    figure.suptitle(f"{title}\n{study['method']}, mean and range of {len(study['runs'])} seeds", fontsize=10)
    return figure, (left, right)


def _bands(
    panel: Axes, study: Mapping[str, Any], labels: Mapping[str, str], first: int = 0, stroke: str = "o-"
) -> None:
    """A line for each number: its mean, with the range over seeds as a band."""
    for index, (name, label) in enumerate(labels.items(), start=first):
        table = np.array([run["measured"][name] for run in study["runs"].values()], np.float64)
        known, style = ~np.isnan(table).any(0), look(index)
        x, table = np.array(study["rounds"])[known], table[:, known]
        panel.plot(x, table.mean(0), stroke, ms=3, lw=1.4, color=style.colour, label=label)
        panel.fill_between(x, table.min(0), table.max(0), color=style.colour, alpha=0.16, lw=0)
    panel.set_xlim(0.9, max(study["rounds"]) * 1.1)


def _mark(panel: Axes, value: float, meaning: str) -> None:
    """The line that a claim is about."""
    panel.axhline(value, color=INK, lw=0.9, ls="--", label=meaning)


def _finished(figure: Figure) -> Figure:
    """With a legend below each panel, where it hides nothing."""
    for panel in figure.axes:
        panel.title.set_fontsize(9)
        columns = 2 if len(panel.lines) > 5 else 1
        panel.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=columns)
    return figure


if __name__ == "__main__":
    if sys.argv[1:] != ["--figures"]:
        main()
    draw()
