"""One self-contained page: charts, tables and text in a single file that needs no network."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from statistics import fmean

from heteroselect.comparison.over_seeds import (
    Arrivals,
    at_equal_costs,
    equal_costs,
    horizon,
    interval,
    number,
    rank,
    tail,
)
from heteroselect.comparison.report import curves, plots, world_plots
from heteroselect.comparison.report.classes import classes
from heteroselect.comparison.report.curves import to_target
from heteroselect.comparison.report.html import page
from heteroselect.comparison.report.html import row as _row
from heteroselect.comparison.report.html import section as _section
from heteroselect.comparison.report.html import table as _table
from heteroselect.comparison.report.lines import stroke
from heteroselect.comparison.report.load import Comparison, Group, Run
from heteroselect.comparison.report.style import look
from heteroselect.comparison.report.tables import NOTHING, shown
from heteroselect.comparison.table import shown as difference
from heteroselect.comparison.table import without_their_own
from heteroselect.core.measure import Measure
from heteroselect.methods.entry import footnotes
from heteroselect.settings import PaperRow
from heteroselect.world.clock import clock_sentence

_SECTIONS = {
    "accuracy": (
        "",
        "The mean over seeds, with the range from the lowest to the highest seed as a band; the dashed line is the "
        "target. A click in the legend hides a method in all four panels, a double click shows it alone. Drag over a "
        "part to enlarge it, and double click to see the whole. A curve goes as far as all its seeds do.",
    ),
    "bars": (
        "What it takes to reach the target",
        "Simulated seconds and megabytes sent by clients until the target was first reached: the median seed, with the "
        "range of the seeds. A seed that never arrived counts as later than all others. “Values only” is the paper's "
        "count, 4 bytes per kept value; “real bytes” is the "
        "length of the payloads.",
    ),
    "score_parts": (
        "Parts of the score",
        "What the score is made of, as the mean over all clients in each round; methods that do not score are absent.",
    ),
    "selections": (
        "How often clients were selected",
        "The share of the clients that took part in so many rounds, over all seeds, beside what an even draw gives.",
    ),
    "clients": (
        "Clients and rounds",
        "One cell a client and round, empty where the client was not selected: the weight it had in the aggregate, how "
        "much of its update it sent, and its uplink. One run of each method, that of its lowest seed.",
    ),
    "traffic": (
        "Bytes by kind",
        "All that crossed the links in real bytes. Scoring is the price of asking clients that are not selected.",
    ),
    "memory": (
        "Error memory",
        "How much of the clients' updates waits to be sent: the norm of the error memory, over rounds.",
    ),
    "seconds_spent": (
        "Where the seconds went",
        "A round's simulated seconds as the average selected client spent them: computing, sending, fetching, and "
        "waiting for the last answer; and what all wait for, which is scoring, calibration, and that anybody is there. "
        "The mean over rounds and seeds.",
    ),
    "waited_for": (
        "Who was waited for",
        "How often each client was the last whose answer a round waited for, those most waited for first, over all "
        "seeds. With equal chances all clients would be at about the same height.",
    ),
    "speeds": (
        "Links and devices",
        "What all clients had, selected or not: the median, the middle half and the range from 5 to 95 % of the "
        "clients, as the mean over rounds and seeds.",
    ),
    "available": (
        "Who was there",
        "Left: the share of the clients that were available when a round began. Right: one cell a client and round, "
        "filled where the client was available, in the first run.",
    ),
}

_COLUMNS = {
    "last_accuracy": "final (mean of the last evaluations)",
    "accuracy_at_equal_bytes": "at equal MB sent up",
    "accuracy_at_equal_seconds": "at equal seconds",
    "peak_accuracy": "peak",
    "rounds_to_target": "rounds to target",
    "seconds_to_target": "simulated s to target",
    "megabytes_to_target": "MB to target (values only)",
    "wire_megabytes_to_target": "MB to target (real bytes)",
}

_UNITS = {"rounds": "rounds", "seconds": "s", "wire_megabytes": "MB real", "megabytes": "MB of values"}


def render(comparison: Comparison, command: str) -> str:
    """The whole page as text; `command` is what made it."""
    charts = plots.drawn(comparison) | world_plots.drawn(comparison)
    title = f"{comparison.dataset}: {_count(len(comparison.groups), 'method')} compared"
    if len(comparison.groups) == 1:
        title = f"{comparison.groups[0].label} on {comparison.dataset}"
    body = [_section("Result", "", _results(comparison), *_notes(comparison))]
    for name, chart in charts.items():
        heading, caption = _SECTIONS[name]
        body.append(
            _section(heading or comparison.measure.title, caption, f'<div id="plot-{name}">{chart.html()}</div>')
        )
    body += [classes(comparison), _events(comparison), _environments(comparison), _configs(comparison)]
    return page(title, _lead(comparison), body, command, script=True)


def _lead(comparison: Comparison) -> str:
    runs = sum(len(group.runs) for group in comparison.groups)
    target = comparison.measure.text(comparison.target)
    text = f"{_count(runs, 'run')} on {comparison.dataset}, target {target}."
    if comparison.evaluated_on != "test":
        text += f" Every {comparison.measure.name} is that on the {comparison.evaluated_on} examples."
    text += f" {clock_sentence(comparison.clocks)}"
    return text + " Seconds are simulated. Point at a chart to read it, drag over a part to enlarge it."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _notes(comparison: Comparison) -> list[str]:
    runs = [run for group in comparison.groups for run in group.runs]
    notes = [*footnotes(run.summary for run in runs)]
    if len(comparison.groups) > 1:
        tables = ({name: run.config.get(name, {}) for name in ("data", "model")} for run in runs)
        notes += without_their_own(zip((str(run.summary["method"]) for run in runs), tables, strict=True))
    items = "".join(f"<li>{escape(note)}</li>" for note in (*notes, *comparison.left_out))
    return [f'<ul class="notes">{items}</ul>'] if items else []


def _results(comparison: Comparison) -> str:
    horizons = {
        axis: horizon(
            to_target(group.summaries, group.lines, axis) for group in comparison.groups if group.counts(axis)
        )
        for axis in curves.AXES
    }
    budgets = equal_costs(lines for group in comparison.groups for lines in group.lines)
    figures = [_accuracies(group, budgets) for group in comparison.groups]
    measure = comparison.measure
    ranks = sorted(range(len(figures)), key=lambda index: rank(figures[index]["last_accuracy"], higher=measure.higher))
    first = comparison.groups[0]
    differences = [_difference(group, first, measure) for group in comparison.groups]
    rows = [
        _result_row(index, comparison.groups[index], figures[index], differences[index], horizons, measure)
        for index in ranks
    ]
    rows += [_paper_row(row) for row in comparison.paper]
    heads = {**_COLUMNS, "peak_accuracy": "peak" if measure.higher else "lowest"}
    return _table(["method", "seeds", *heads.values()], rows) + _section_note(horizons, budgets, measure)


def _accuracies(group: Group, budgets: Mapping[str, float]) -> dict[str, list[float | None]]:
    """What each seed came to: in the end, at equal cost, and at its peak."""
    equal = [at_equal_costs(lines, budgets) for lines in group.lines]
    found = {field: [one[field] for one in equal] for field in equal[0]}
    found["last_accuracy"] = [tail(lines) for lines in group.lines]
    return found | {"peak_accuracy": [summary["peak_accuracy"] for summary in group.summaries]}


def _difference(group: Group, first: Group, measure: Measure) -> list[str]:
    """How much higher it ends than the first, paired by seed; nothing where they share no seed."""
    ends = [{int(run.summary["seed"]): tail(run.rounds) for run in one.runs} for one in (group, first)]
    pairs = [(ends[0][seed], ends[1][seed]) for seed in ends[0] if seed in ends[1]]
    if group is first or not pairs or any(None in pair for pair in pairs):
        return []
    found = interval([mine - other for mine, other in pairs if mine is not None and other is not None])
    if found is None:
        return []
    return [f"{difference(found, 100 if measure.unit == '%' else 1)} to {first.label}"]


def _section_note(horizons: Mapping[str, float | None], budgets: Mapping[str, float], measure: Measure) -> str:
    """What the figures of the table are, and up to where their restricted means go."""
    texts = [f"{number(one)} {_UNITS[axis]}" for axis, one in horizons.items() if one is not None]
    equal = f"{number(budgets['bytes'] / 1e6)} {_UNITS['wire_megabytes']} and {number(budgets['seconds'])} s"
    unlike = "not by the peak" if measure.higher else "the lower the better, and not by the lowest"
    values = "Accuracies" if measure.name == "accuracy" else f"Values of {measure.name}"
    note = f"Ranked by final {measure.name}, {unlike}. Equal is {equal}, the smallest total of all runs. "
    note += f"{values} are means over seeds, figures to target those of the median seed, where a seed that never "
    note += "arrived counts as later than all others; below them the range of the seeds, and by how much a method ends "
    note += "higher than the first, paired by seed, with the 95 % interval (≈: cannot be told apart from zero)."
    if texts:
        note += f" “Restricted” is the mean up to a horizon that all runs have in common: {', '.join(texts)}."
    return f'<p class="caption">{escape(note)}</p>'


def _result_row(
    index: int,
    group: Group,
    figures: Mapping[str, list[float | None]],
    beside: Sequence[str],
    horizons: Mapping[str, float | None],
    measure: Measure,
) -> str:
    cells = []
    for field in _COLUMNS:
        axis = field.removesuffix("_to_target")
        if axis == field:
            cells.append(_over_seeds(field, figures[field], measure, beside if field == "last_accuracy" else ()))
        elif not group.counts(axis):
            cells.append(NOTHING)
        else:
            cells.append(_to_target(field, to_target(group.summaries, group.lines, axis), horizons[axis]))
    return _row([f"{stroke(look(index).css)}{escape(group.label)}", escape(_seeds(group)), *cells])


def _seeds(group: Group) -> str:
    """All in a row as their ends, so that a table stays narrow; else each."""
    seeds = [int(run.summary["seed"]) for run in group.runs]
    in_a_row = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]}–{seeds[-1]}" if in_a_row else group.seeds


def _over_seeds(field: str, values: Sequence[float | None], measure: Measure, more: Sequence[str] = ()) -> str:
    """The mean, and below it the range over seeds and what `more` there is to say; none where a seed lacks the
    figure."""
    there = [value for value in values if value is not None]
    if len(there) < len(values):
        return escape(shown(field, None))
    low, high = min(there), max(there)
    notes = [] if low == high else [f"{shown(field, low, measure)} – {shown(field, high, measure)}"]
    return _with_notes(shown(field, low if low == high else fmean(there), measure), [*notes, *more])


def _to_target(field: str, found: Arrivals, limit: float | None) -> str:
    """The median, and below it the range, how many arrived, and the restricted mean."""
    middle, reached = found.median, found.reached
    if middle is None:
        text = shown(field, None) if found.beyond is None else f"> {number(found.beyond)}"
    else:
        text = shown(field, middle)
    low, high = (shown(field, one) for one in (min(reached, default=0), max(reached, default=0)))
    notes = [f"{low} – {high}" if found.whole else f"from {low}"] if len(set(reached)) > 1 or not found.whole else []
    notes = [*(notes if reached else []), *([found.note] if found.note else [])]
    notes += [f"restricted {number(found.restricted(limit))}"] if limit is not None and len(found.values) > 1 else []
    return _with_notes(text, notes)


def _with_notes(text: str, notes: Sequence[str]) -> str:
    return escape(text) + "".join(f"<small>{escape(note)}</small>" for note in notes)


def _paper_row(row: PaperRow) -> str:
    """Where the paper names no round to target it never reached it; what else it leaves out it does not give."""
    never = "not reached" if row.rounds_to_target is None else ""
    cells = []
    for field in _COLUMNS:
        value = getattr(row, field, None)
        blank = never if field.endswith("to_target") and hasattr(row, field) else ""
        cells.append(escape(blank if value is None else shown(field, value)))
    return _row([escape(f"the paper: {row.source}"), "", *cells], kind="paper")


def _events(comparison: Comparison) -> str:
    counts = {group.label: curves.events_by_kind(group.lines) for group in comparison.groups}
    kinds = sorted({kind for found in counts.values() for kind in found})
    if not kinds:
        return ""
    rows = [_row([escape(label), *(f"{found.get(kind, 0):,}" for kind in kinds)]) for label, found in counts.items()]
    caption = "How often each kind of event happened, over all rounds and seeds."
    return _section("Events", caption, _table(["method", *kinds], rows))


def _environments(comparison: Comparison) -> str:
    """Runs made in the same surroundings are told once."""
    found: dict[str, list[str]] = {}
    for group in comparison.groups:
        for run in group.runs:
            described = ", ".join(f"{key} {value}" for key, value in run.summary.get("environment", {}).items())
            found.setdefault(described or "not recorded", []).append(f"{group.label} (seed {run.summary['seed']})")
    items = [
        f"<p>{escape(described)}<br><span class='caption'>{escape(', '.join(names))}</span></p>"
        for described, names in found.items()
    ]
    return _section("Environment", "", *items)


def _configs(comparison: Comparison) -> str:
    """Runs whose settings differ in the seed alone are told once."""
    found: dict[tuple[str, str], list[Run]] = {}
    for group in comparison.groups:
        for run in group.runs:
            text = re.sub(rf"(?m)^seed = {run.summary['seed']}$", "seed = …", run.config_text)
            found.setdefault((group.label, text), []).append(run)
    parts = []
    for (label, text), runs in found.items():
        seeds = ", ".join(str(run.summary["seed"]) for run in runs)
        places = "<br>".join(escape(str(run.path)) for run in runs)
        config = escape(runs[0].config_text if len(runs) == 1 else text)
        parts.append(
            f"<details><summary>{escape(label)}, seed{'s' * (len(runs) > 1)} {escape(seeds)}</summary>"
            f'<p class="caption">{places}</p><pre>{config}</pre></details>'
        )
    return _section("Settings", "Every setting of each run; heteroselect run config.toml plays it again.", *parts)
