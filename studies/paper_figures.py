"""The paper's figures with our own runs, and with the authors' logs where they are given.

    python studies/paper_figures.py --runs runs --logs DIR

Reads the runs of the studies table1-mnist, table2, psi, mu, stress (MNIST), table1 (CIFAR-10) and table3 below --runs,
which `heteroselect study studies/NAME.toml --out RUNS/NAME` makes, and writes docs/results/paper-1-resource.svg to
paper-7-stress.svg and studies/figures.json, the numbers that their captions need. A figure or a panel whose runs are
not there yet is left out, with a sentence. The paper's fifth figure (Tiny-ImageNet) has no run of ours; in its place
stands the ψ sweep of its Table II.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from paper_numbers import (
    CONTROL,
    ROOT,
    Log,
    Material,
    Rows,
    Run,
    binomial_counts,
    binomial_selection,
    cut,
    deviation,
    difference,
    gather,
    last_accuracies,
    numbers,
    rounded,
    selection,
    shared_seeds,
    sorted_counts,
    trailing,
    unchanged,
)

from heteroselect.comparison.figures import Floats
from heteroselect.comparison.over_seeds import Arrivals, interval, tail
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.curves import Band, Curve
from heteroselect.comparison.report.pictures import RECONSTRUCTED
from heteroselect.comparison.report.style import GRID, INK, PAPER, QUIET, Look, look
from heteroselect.files import write_whole

LOOKS = {
    "heteroselect": look(0), "heteroselect-as-run": look(7), CONTROL: look(6), "fedavg": look(1), "optrate": look(2),
    "flexcom": look(3), "adasample": look(4), "fedcg": look(5),
}  # fmt: skip
STROKES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
PART_NAMES = {
    "loss": "V (loss)",
    "diversity": "D (diversity)",
    "fairness": "F (fairness)",
    "staleness": "St (staleness)",
}

TABLE_1 = {
    "FedAvg†": (15_199, 15_932), "OptRate†": (6_193, 9_697), "FlexCom†": (2_674, 5_334),
    "AdaSample†": (11_984, 6_968), "FedCG†": (2_480, 5_170), "HeteRo-Select": (2_030, 2_906),
}  # fmt: skip
"""The paper's Table I, CIFAR-10 to 70 %: MB and seconds; † it quotes from the paper of FedCG."""
TABLE_2_PSI = {0.0: 0.7261, 0.2: 0.7368, 0.4: 0.7303, 0.6: 0.6691, 0.8: 0.5702}
"""The paper's Table II, CIFAR-10, seed 42: final accuracy at each ψ."""

CIFAR100 = "CIFAR-100, ResNet9, ten rounds"
"""The row of Table III's study."""
COMPRESSION = {"primary": "score-proportional", "uniform compression": "uniform compression"}
PROXIMAL = {"μ = 0": "μ = 0", "μ = 0.01": "μ = 0.01", "primary": "μ = 0.1", "μ = 0.5": "μ = 0.5"}
"""The rows of the two ablations, and what they are called in the figure."""
ABLATION_LOOKS = {
    "score-proportional": look(0), "uniform compression": look(1), "μ = 0": look(2), "μ = 0.01": look(4),
    "μ = 0.1": look(0), "μ = 0.5": look(3),
}  # fmt: skip

STRESS = {
    "no stress": look(0), "authors' formula": Look(look(1).colour, "dash"), "permuted": Look(look(2).colour, "dot"),
}  # fmt: skip
"""The rows of the stress study, with strokes that show where they lie on each other."""

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "heteroselect", "svg.fonttype": "none", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 9, "axes.titlelocation": "left", "axes.grid": True, "axes.axisbelow": True, "grid.color": GRID,
    "grid.linewidth": 0.6, "legend.frameon": False, "legend.fontsize": 8,
}  # fmt: skip
WIDTH = 9.0


# ---- figures


def resource(material: Material) -> Figure | None:
    """MB and seconds to the target per method: MNIST, and CIFAR-10 with the paper's bars where we have runs of it."""
    ours, cifar = material.rows("table1-mnist"), material.rows("table1")
    if not ours:
        return None
    mnist = [_bar(label, runs) for label, runs in ours.items()]
    for label, row in material.paper.get("table1-mnist", {}).items():
        mnist.append(Bar(f"the paper, {label}", PAPER, (_one(row.megabytes_to_target), _one(row.seconds_to_target))))
    blocks = [("MNIST to 90 %", mnist)]
    if cifar:
        theirs = [Bar(f"the paper, {label}", PAPER, (_one(mb), _one(s))) for label, (mb, s) in TABLE_1.items()]
        blocks.append(("CIFAR-10 to 70 %", [*(_bar(label, runs) for label, runs in cifar.items()), *theirs]))
    else:
        print("paper-1-resource: no CIFAR-10 run has finished; its bars are left out.")
    figure = _figure(0.5 + sum(0.55 + 0.24 * len(bars) for _, bars in blocks))
    panels = figure.subplots(
        len(blocks), 2, squeeze=False, sharey="row", height_ratios=[len(bars) for _, bars in blocks]
    )
    for (title, bars), pair in zip(blocks, panels, strict=True):
        for place, (panel, name) in enumerate(
            zip(pair, ("MB sent by clients (values only)", "simulated s"), strict=True)
        ):
            _draw_bars(panel, bars, place)
            panel.set(xlabel=f"{name} to target", xlim=(0, None), title=title if place == 0 else "")
    notes = [f"dots: seeds; a bar is the median seed, where one that never arrives is later than all ({_seeds(ours)})"]
    notes += [RECONSTRUCTED] if any(bar.label.endswith("*") for bar in mnist) else []
    notes += ["† quoted by the paper from that of FedCG"] if cifar else []
    figure.supxlabel("; ".join(notes), fontsize=7.5, x=0.01, ha="left")
    return figure


@dataclass(frozen=True)
class Bar:
    """A method's bars: for MB and for seconds, what each seed took to the target."""

    label: str
    colour: str
    reached: tuple[Arrivals, Arrivals]


def _bar(label: str, runs: Sequence[Run]) -> Bar:
    summaries = [run.summary for run in runs]
    star = "*" if any(summary.get("reconstruction") for summary in summaries) else ""
    megabytes, seconds = (
        Arrivals(tuple(summary.get(f"{axis}_to_target") for summary in summaries), (None,) * len(runs))
        for axis in ("megabytes", "seconds")
    )
    return Bar(label + star, _look(label).colour, (megabytes, seconds))


def _one(value: float | None) -> Arrivals:
    return Arrivals((value,), (None,))


def _draw_bars(panel: Axes, bars: Sequence[Bar], place: int) -> None:
    """Draw one figure of all bars, with a dot for each seed where there are several."""
    for row, bar in enumerate(bars):
        reached = bar.reached[place].reached
        middle, _, _, note = curves.bar_of(bar.reached[place])
        panel.barh(row, middle, height=0.72, color=bar.colour, alpha=0.55 if bar.colour != PAPER else 0.4)
        if len(reached) > 1:
            heights = row + np.linspace(0.2, -0.2, len(reached))
            panel.plot(reached, heights, "o", ms=3, color=INK, alpha=0.7, mew=0)
        text = f"{middle:,.3g}" if middle < 1000 else f"{middle:,.0f}"
        text = "  ".join(part for part in (text if middle else "", note) if part)
        furthest = max(reached, default=0.0)
        panel.annotate(text, (furthest, row), (5, 0), textcoords="offset points", va="center", fontsize=8)
    panel.set_yticks(range(len(bars)), [bar.label for bar in bars])
    panel.set_ylim(len(bars) - 0.4, -0.6)
    panel.grid(axis="y", visible=False)
    panel.margins(x=0.18)
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.4g}" if value < 1000 else f"{value:,.0f}")


def mnist_time(material: Material) -> Figure | None:
    """MNIST accuracy against simulated seconds: the beginning as it was evaluated, and the rest smoothed."""
    rows = material.rows("table1-mnist")
    if not rows:
        return None
    log, end = material.log("mnist"), 300.0
    figure = _figure(4.2)
    early, late = figure.subplots(1, 2)
    for label, runs in rows.items():
        star = "*" if any(run.summary.get("reconstruction") for run in runs) else ""
        found = [curves.accuracy(run.lines, "seconds") for run in runs]
        _band(early, curves.band([cut(curve, 0, end) for curve in found], 80), _look(label), label + star)
        smooth = [trailing(curve) for curve in found]
        _band(late, curves.band([cut(curve, end / 2, np.inf) for curve in smooth], 80), _look(label), label + star)
    if log is not None:
        theirs = curves.accuracy(log.lines, "seconds")
        _theirs(early, cut(theirs, 0, end), "the authors' log, seed 42")
        _theirs(late, cut(trailing(theirs), end / 2, np.inf), "the authors' log, seed 42")
    target = next(iter(rows.values()))[0].summary["target"]
    early.set(title=f"(a) the first {end:.0f} s", xlim=(0, end), ylim=_zoom(early, 45.0))
    late.set(
        title=f"(b) from {end / 2:.0f} s on, means of five evaluations", xlim=(end / 2, None), ylim=_zoom(late, end)
    )
    for panel in (early, late):
        panel.axhline(target, color=QUIET, lw=0.8, ls="--")
        panel.set_xlabel("simulated seconds")
        _percent(panel)
    early.set_ylabel("test accuracy, MNIST")
    return _legend(figure, f"lines: means, bands: lowest to highest ({_seeds(rows)})", columns=5)


def bands(material: Material) -> Figure | None:
    """Accuracy against round: CIFAR-10 as far as it is, MNIST with the authors' settings, mean ± 1σ, and the first
    rounds of CIFAR-100."""
    drawn = [draw for draw in (_cifar10_bands, _mnist_bands, _cifar100_bands) if draw(material, None)]
    if not drawn:
        return None
    places = "AA;BC" if len(drawn) == 3 else "AB"[: len(drawn)]  # the first of three has most lines, and its own row
    figure = _figure(6.8 if len(drawn) == 3 else 3.9)
    for draw, panel in zip(drawn, figure.subplot_mosaic(places).values(), strict=True):
        draw(material, panel)
    return figure


def _mnist_bands(material: Material, panel: Axes | None) -> bool:
    """Whether there is something to draw; into `panel`, where it is given."""
    rows, log = material.rows("table1-mnist", "heteroselect-as-run"), material.log("mnist")
    if not rows:
        print("paper-3-bands: no MNIST run of heteroselect-as-run has finished; its panel is left out.")
    elif panel is not None:
        runs = rows["heteroselect-as-run"]
        label = f"heteroselect-as-run, {_seeds(rows)}"
        _band(panel, deviation([curves.accuracy(run.lines) for run in runs]), look(0), label)
        if log is not None:
            _theirs(panel, curves.accuracy(log.lines), "the authors' log, seed 42")
        _finish(panel, "MNIST, mean ± 1σ", runs[0].summary["target"], _zoom(panel, 3.0))
    return bool(rows)


def _cifar10_bands(material: Material, panel: Axes | None) -> bool:
    rows = _as_far_as_they_are(material, "table1")
    if not rows:
        print("paper-3-bands: there is no CIFAR-10 run, finished or not; its panel is left out.")
    elif panel is not None:
        asked = ("cifar10", 0.4, 0.1, "adaptive")
        logs = [one for one in material.logs if (one.dataset, one.psi, one.mu, one.variant) == asked]
        for style, one in zip(("--", ":"), logs, strict=False):
            _theirs(panel, curves.accuracy(one.lines), f"the authors' log, seed {one.seed}", style)
        for label, runs in rows.items():
            name = f"{label}, seed {runs[0].seed}{progress(runs[0])}"
            _band(panel, deviation([curves.accuracy(run.lines) for run in runs]), _look(label), name)
        _finish(panel, "CIFAR-10", 0.7, None)
    return bool(rows)


def _cifar100_bands(material: Material, panel: Axes | None) -> bool:
    runs = _as_far_as_they_are(material, "table3").get(CIFAR100)
    log = next((one for one in material.logs if one.dataset == "cifar100"), None)
    if not runs:
        print("paper-3-bands: there is no CIFAR-100 run, finished or not; its panel is left out.")
    elif panel is not None:
        ours = deviation([curves.accuracy(run.lines) for run in runs])
        _band(panel, ours, look(0), f"heteroselect-as-run, seed {runs[0].seed}")
        if log is not None:
            _theirs(panel, cut(curves.accuracy(log.lines), 1, len(ours.x)), "the authors' log, seed 42")
        _finish(panel, f"CIFAR-100, the first {len(ours.x)} of 100 rounds", None, None)
    return bool(runs)


def _as_far_as_they_are(material: Material, study: str) -> Rows:
    """The rows of a study that have a run, finished or not."""
    finished = material.rows(study)
    return finished | {
        label: runs for label, runs in material.unfinished.get(study, {}).items() if label not in finished
    }


def progress(run: Run) -> str:
    """How far a run is that has not come to its end, and nothing of one that has.

    >>> progress(Run(42, [{"round": 1}], {}, 100, 100))
    ' (1 of 100 rounds so far)'
    """
    return "" if run.summary else f" ({len(run.lines)} of {run.rounds} rounds so far)"


def ablations(material: Material) -> Figure | None:
    """Score-proportional against uniform compression, and μ: ours on MNIST, and the authors' logs of CIFAR-10."""
    ours = {
        "compression": _named(shared_seeds(material.rows("table2", *COMPRESSION)), COMPRESSION),
        "proximal coefficient μ": _named(shared_seeds(material.rows("mu", *PROXIMAL)), PROXIMAL),
    }
    for name in [name for name, rows in ours.items() if not any(rows.values())]:
        print(f"paper-4-ablations: no run for {name} has finished; its panel is left out.")
    ours = {name: rows for name, rows in ours.items() if any(rows.values())}
    if not ours:
        return None
    primary = material.log("cifar10")
    logs = {
        "compression": {
            COMPRESSION["primary"]: primary,
            "uniform compression": material.log("cifar10", variant="uniform"),
        },
        "proximal coefficient μ": {"μ = 0": material.log("cifar10", mu=0.0), "μ = 0.1": primary},
    }
    figure = _figure(5.9 if material.logs else 3.4)
    panels = figure.subplots(2 if material.logs else 1, len(ours), squeeze=False)
    for place, (name, rows) in enumerate(ours.items()):
        for label, runs in rows.items():
            smooth = [trailing(curves.accuracy(run.lines)) for run in runs]
            _band(panels[0][place], deviation(smooth), ABLATION_LOOKS[label], label)
        _finish(panels[0][place], f"({'ab'[place]}) {name}: MNIST, {_seeds(rows)}", None, _zoom(panels[0][place], 9.0))
        if not material.logs:
            continue
        panel, start = panels[1][place], 50.0 if name == "compression" else 10.0
        for label, log in logs[name].items():
            smooth = [trailing(curves.accuracy(log.lines))] if log else []
            _band(panel, deviation(smooth), ABLATION_LOOKS[label], label)
        _finish(panel, f"({'cd'[place]}) {name}: authors' logs, CIFAR-10", None, _zoom(panel, start))
        panel.set_xlim(left=start)
    figure.supxlabel("means of five evaluations; bands: ± 1σ over seeds; the logs are of seed 42", fontsize=7.5, x=0.01,
                     ha="left")  # fmt: skip
    return figure


def _named(rows: Rows, names: Mapping[str, str]) -> Rows:
    return {names.get(label, label): runs for label, runs in rows.items()}


def psi(material: Material) -> Figure | None:
    """The last accuracy against ψ, with the score and without, their difference, and the paper's on CIFAR-10."""
    scored = {share: material.finished.get("psi", {}).get(f"ψ = {share}", []) for share in TABLE_2_PSI}
    control = {share: material.finished.get("psi", {}).get(f"ψ = {share}, control", []) for share in TABLE_2_PSI}
    if not any(scored.values()):
        return None
    figure = _figure(3.9)
    levels, pairs, paper = figure.subplots(1, 3, width_ratios=(1.2, 1.2, 1))
    for rows, name, shift in ((scored, "heteroselect", -0.012), (control, CONTROL, 0.012)):
        last = {share: list(last_accuracies(runs).values()) for share, runs in rows.items()}
        _dots(levels, last, _look(name), name, shift)
    gaps = {share: [100 * gap for gap in difference(scored[share], control[share])] for share in TABLE_2_PSI}
    _dots(pairs, gaps, look(2), "difference, paired by seed, with its 95 % interval", 0.0)
    for share, some in gaps.items():
        if (found := interval(some)) is not None and found.low is not None and found.high is not None:
            ends = [[found.mean - found.low], [found.high - found.mean]]
            pairs.errorbar(share, found.mean, yerr=ends, color=look(2).colour, lw=1.0, capsize=3)
    pairs.axhline(0, color=INK, lw=0.8)
    paper.plot(
        list(TABLE_2_PSI), list(TABLE_2_PSI.values()), "o--", color=PAPER, ms=4, lw=1.2, label="Table II, seed 42"
    )
    logs = [log for log in material.logs if (log.dataset, log.mu, log.variant) == ("cifar10", 0.1, "adaptive")]
    for log in logs:
        paper.plot(log.psi, tail(log.lines), "x", color=INK, ms=5, label="authors' logs, last five evaluations")
    levels.set(title="(a) last accuracy, MNIST", ylabel="test accuracy")
    pairs.set(title="(b) heteroselect less control, MNIST", ylabel="percentage points")
    paper.set(title="(c) the paper, CIFAR-10", ylabel="final test accuracy")
    for panel in (levels, pairs, paper):
        panel.set(xlabel="ψ, share of the dominant class", xticks=list(TABLE_2_PSI))
    for panel in (levels, paper):
        _percent(panel)
    return _legend(
        figure,
        f"last accuracy: mean of the last five evaluations; dots: seeds ({_seeds(material.rows('psi'))})",
        columns=3,
    )


def _dots(panel: Axes, values: Mapping[float, Sequence[float]], style: Look, label: str, shift: float) -> None:
    """Draw a dot for each seed at each x, and a line through the means."""
    there = {x: some for x, some in values.items() if some}
    means = [float(np.mean(some)) for some in there.values()]
    panel.plot([x + shift for x in there], means, "_-", ms=11, mew=1.6, lw=1.1, color=style.colour, label=label)
    for x, some in there.items():
        panel.plot([x + shift] * len(some), some, "o", ms=3.2, color=style.colour, alpha=0.5, mew=0)


def mechanism(material: Material) -> Figure | None:
    """The means of the score's parts per round, and how often each client was selected."""
    rows = material.rows("table1-mnist", "heteroselect", CONTROL)
    if "heteroselect" not in rows:
        return None
    figure = _figure(4.3)
    parts, counts = figure.subplots(1, 2)
    _draw_parts(parts, rows["heteroselect"], material.log("cifar10"))
    _draw_counts(counts, rows, material.log("cifar10"))
    return figure


def _draw_parts(panel: Axes, runs: Sequence[Run], log: Log | None) -> None:
    """Draw the mean of each part over all clients: our seeds with their range, and the authors' log dashed."""
    for index, (part, name) in enumerate(PART_NAMES.items()):
        _band(panel, curves.band([curves.score_part(run.lines, part) for run in runs]), look(index), name)
        if log is not None:
            theirs = curves.score_part(log.lines, part)
            panel.plot(theirs.x, theirs.y, color=look(index).colour, lw=1.0, ls="--", alpha=0.9)
    handles = list(panel.get_legend_handles_labels()[0])
    handles += [Line2D([], [], color=INK, lw=1.2, label="ours, MNIST")]
    handles += [Line2D([], [], color=INK, lw=1.0, ls="--", label="authors' log, CIFAR-10")] if log else []
    panel.legend(handles=handles, loc="upper right", ncols=3, columnspacing=1.2, handlelength=1.6)
    panel.set(title="(a) parts of the score, mean over all clients", xlabel="round", ylabel="part", ylim=(-0.02, 1.25))


def _draw_counts(panel: Axes, rows: Rows, log: Log | None) -> None:
    """Draw the rounds of each client in descending order, the binomial's expectation, and the paper's two bounds."""
    for label, runs in rows.items():
        each = [sorted_counts(run.lines, run.clients) for run in runs]
        name = "uniform draw (control)" if label == CONTROL else label
        _ranked(panel, each, _look(label), f"{name}, MNIST: {_from_to(selection(each))}")
    run = rows["heteroselect"][0]
    share = len(run.lines[0]["selected"]) / run.clients
    shape = run.clients, len(run.lines), share
    name = f"Bin({len(run.lines)}, {share:g}), expected: {_from_to(binomial_selection(*shape))}"
    panel.plot(np.arange(1, run.clients + 1), binomial_counts(*shape), color=INK, lw=1.2, ls=":", label=name)
    if log is not None:
        theirs = sorted_counts(log.lines, log.clients)
        name = f"authors' log, CIFAR-10, seed 42: {_from_to(selection([theirs]))}"
        _ranked(panel, [theirs], Look(look(1).colour, "dash"), name)
    for level, place, name in ((5, "left", "the paper's minimum: 5"), (16, "right", "the paper's maximum: 16")):
        panel.axhline(level, color=QUIET, lw=0.7, ls="--")
        panel.annotate(name, (1 if place == "left" else run.clients, level), (0, 2), textcoords="offset points",
                       fontsize=7.5, ha=place, color=PAPER)  # fmt: skip
    panel.set(title=f"(b) rounds per client, sorted; mean and range of {_seeds(rows)}", xlim=(0, run.clients + 1),
              xlabel="client, most often selected first", ylabel="rounds")  # fmt: skip
    panel.set_ylim(0, 1.4 * max(panel.get_ylim()[1], 16))
    panel.legend(loc="upper right", title="lowest to highest count, σ over clients; mean of seeds", title_fontsize=8,
                 alignment="left")  # fmt: skip


def _from_to(found: Mapping[str, float]) -> str:
    return f"{found['min']:.3g} to {found['max']:.3g}, σ {found['deviation']:.2f}"


def _ranked(panel: Axes, each: Sequence[Floats], style: Look, label: str) -> None:
    """Draw the mean of sorted counts and the range over seeds."""
    read, places = np.array(each), np.arange(1, len(each[0]) + 1, dtype=np.float64)
    _band(panel, Band(places, read.mean(axis=0), read.min(axis=0), read.max(axis=0)), style, label)


def stress(material: Material) -> Figure | None:
    """Accuracy against round and against cumulative MB, without stress, with the authors' formula, and permuted."""
    rows = shared_seeds(material.rows("stress", *STRESS))
    if not any(rows.values()):
        return None
    figure = _figure(3.9)
    left, right = figure.subplots(1, 2, sharey=True)
    for label, runs in rows.items():
        by_round = [trailing(curves.accuracy(run.lines)) for run in runs]
        by_traffic = [trailing(curves.accuracy(run.lines, "megabytes")) for run in runs]
        _band(left, deviation(by_round), STRESS[label], label)
        _band(right, curves.band(by_traffic, 100), STRESS[label], label)
    for panel in (left, right):
        panel.get_lines()[0].set(linewidth=3.5, alpha=0.45)  # what lies on the first row can be seen
    limits = _zoom(left, 4.0)
    _finish(left, "(a) by round; band: ± 1σ", None, limits)
    _finish(right, "(b) by traffic; band: lowest to highest seed", None, limits)
    left.set_ylabel("test accuracy, MNIST")
    right.set(xlabel=curves.AXES["megabytes"], ylabel="")
    calm = rows.get("no stress", [])
    same = [label for label, runs in rows.items() if runs is not calm and unchanged(runs, calm) == len(runs)]
    note = f"; the same runs as without stress but for the seconds: {', '.join(same)}" if same else ""
    return _legend(figure, f"heteroselect, means of five evaluations ({_seeds(rows)}){note}", columns=4)


FIGURES: dict[str, Callable[[Material], Figure | None]] = {
    "paper-1-resource": resource,
    "paper-2-mnist-time": mnist_time,
    "paper-3-bands": bands,
    "paper-4-ablations": ablations,
    "paper-5-psi": psi,
    "paper-6-mechanism": mechanism,
    "paper-7-stress": stress,
}


# ---- drawing


def _figure(height: float) -> Figure:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _look(label: str) -> Look:
    return LOOKS.get(label, look(0))


def _band(panel: Axes, band: Band, style: Look, label: str) -> None:
    """Draw a mean and its band; nothing where there is none."""
    if len(band.x) == 0:
        return
    panel.plot(band.x, band.mean, color=style.colour, ls=STROKES[style.dash], lw=1.3, label=label)
    if bool((band.high > band.low).any()):
        panel.fill_between(band.x, band.low, band.high, color=style.colour, alpha=0.14, lw=0)


def _theirs(panel: Axes, curve: Curve, label: str, stroke: str = "--") -> None:
    panel.plot(curve.x, curve.y, color=INK, lw=1.1, ls=stroke, label=label)


def _percent(panel: Axes) -> None:
    panel.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def _finish(panel: Axes, title: str, target: float | None, limits: tuple[float, float] | None) -> None:
    """Give a panel of accuracy against rounds its title, axes, target and legend."""
    if target is not None:
        panel.axhline(target, color=QUIET, lw=0.8, ls="--")
    panel.set(title=title, xlabel="round", ylabel="test accuracy", xlim=(0, None))
    if limits is not None:
        panel.set_ylim(*limits)
    _percent(panel)
    if panel.get_legend_handles_labels()[0]:
        panel.legend(loc="lower right")


def _zoom(panel: Axes, start: float) -> tuple[float, float]:
    """The range of all lines and bands of a panel from x = `start` on, with a margin."""
    drawn = [np.asarray(line.get_xydata(), dtype=np.float64) for line in panel.get_lines()]
    drawn += [np.asarray(path.vertices) for band in panel.collections for path in band.get_paths()]
    return margin([float(y) for points in drawn for x, y in points if x >= start])


def margin(values: Iterable[float], share: float = 0.08) -> tuple[float, float]:
    """The lowest and the highest value, with a share of the range added at both ends.

    >>> margin([1.0, 2.0], 0.5)
    (0.5, 2.5)
    """
    found = list(values) or [0.0, 1.0]
    low, high = min(found), max(found)
    room = share * ((high - low) or 1.0)
    return low - room, high + room


def _seeds(rows: Rows) -> str:
    """How many seeds the rows have, in words."""
    found = sorted({len(runs) for runs in rows.values() if runs})
    if not found:
        return "no run yet"
    return f"{found[0]} seed{'s' * (found[0] != 1)}" if len(found) == 1 else f"{found[0]} to {found[-1]} seeds"


def _legend(figure: Figure, title: str, columns: int) -> Figure:
    """Put one legend above all panels."""
    found: dict[str, Artist] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
        if (own := panel.get_legend()) is not None:
            own.remove()
    figure.legend(found.values(), found.keys(), loc="outside upper left", ncols=columns, title=title, alignment="left",
                  title_fontsize=8)  # fmt: skip
    return figure


def draw(material: Material, out: Path) -> list[Path]:
    """Write every figure that there are runs for, and return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, make in FIGURES.items():
        # a fixed salt and no date: the same runs give the same file
        with rc_context(STYLE):
            figure = make(material)
            if figure is None:
                print(f"{name}: no run for it has finished; it is left out.")
                continue
            figure.savefig(out / f"{name}.svg", metadata={"Date": None})
        written.append(out / f"{name}.svg")
    return written


def main(words: Sequence[str] | None = None) -> None:
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(description=about, epilog=more, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs", help="folder with a folder of runs per study")
    parser.add_argument("--logs", type=Path, help="folder of the authors' logs; without it only our runs are drawn")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results", help="folder for the figures")
    parser.add_argument("--numbers", type=Path, default=ROOT / "studies" / "figures.json", help="file for the numbers")
    given = parser.parse_args(words)
    material = gather(given.runs, given.logs)
    for path in draw(material, given.out):
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    write_whole(given.numbers, (json.dumps(rounded(numbers(material)), indent=1, ensure_ascii=False) + "\n").encode())
    print(given.numbers)


if __name__ == "__main__":
    main()
