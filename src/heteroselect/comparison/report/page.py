"""One self-contained page: charts, tables and text in a single file that needs no network."""

import re
from collections.abc import Sequence
from html import escape
from statistics import fmean

from heteroselect.comparison.figures import FIGURES
from heteroselect.comparison.report import curves
from heteroselect.comparison.report.chart import chart, stroke
from heteroselect.comparison.report.html import Html, listed, page, picture, row, section, table
from heteroselect.comparison.report.load import Comparison, Group, Run
from heteroselect.comparison.report.pictures import embedded
from heteroselect.core.measure import Measure
from heteroselect.settings import PaperRow

_SECTIONS = {
    "accuracy": (
        "",
        "The mean over seeds, with the range from the lowest to the highest seed as a band, as far as all seeds go; "
        "the dashed line is the target. A click in the legend hides a method, a double click shows it alone. Drag over "
        "a part to enlarge it, and double click to see the whole. MB are on a logarithmic axis where methods differ by "
        "more than a factor of ten.",
    ),
    "bars": (
        "What it takes to reach the target",
        "Simulated seconds and megabytes sent by clients until the target was first reached: the median seed, with the "
        "range of the seeds. A seed that never arrived counts as later than all others. “Values only” is the paper's "
        "count, 4 bytes per kept value; “real bytes” is the length of the payloads.",
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
        "Empty where a client was not selected: the weight it had in the aggregate, how much of its update it sent, "
        "and its uplink. One run of each of the first six methods, that of its lowest seed.",
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
        "A round's simulated seconds as the average selected client spent them, and what all wait for: scoring, "
        "calibration, and that anybody is there. The mean over rounds and seeds.",
    ),
    "waited_for": (
        "Who was waited for",
        "How often each client was the last whose answer a round waited for, over all seeds. With equal chances all "
        "clients would be at about the same height.",
    ),
    "speeds": (
        "Links and devices",
        "What all clients had, selected or not: the median, the middle half and the range from 5 to 95 % of the "
        "clients, as the mean over rounds and seeds.",
    ),
    "available": (
        "Who was there",
        "Left: how many clients were available when a round began. Right: which of them, in the first run.",
    ),
}


def render(comparison: Comparison, command: str) -> str:
    """The whole page as text; `command` is what made it."""
    title = f"{comparison.dataset}: {_count(len(comparison.groups), 'method')} compared"
    if len(comparison.groups) == 1:
        title = f"{comparison.groups[0].label} on {comparison.dataset}"
    charts = embedded(comparison)
    body = [section("Result", "", *_results(comparison), listed([*comparison.table.notes(), *comparison.left_out]))]
    for name, (heading, caption) in _SECTIONS.items():
        if name in charts:
            drawn = picture(charts[name], heading or comparison.measure.title)
            if name == "accuracy":
                drawn = f"{chart(comparison)}<noscript>{drawn}</noscript>"
            shown = f'<div id="plot-{name}">{drawn}</div>'
            body.append(section(heading or comparison.measure.title, caption, shown))
    body += [_classes(comparison), _events(comparison), _configs(comparison)]
    return page(title, _lead(comparison), body, command, script=True)


def _lead(comparison: Comparison) -> str:
    runs = sum(len(group.runs) for group in comparison.groups)
    target = comparison.measure.text(comparison.target)
    return (
        f"{_count(runs, 'run')} on {comparison.dataset}, target {target}. {comparison.table.clock()} Seconds "
        "are simulated. Point at a curve to read it, drag over a part to enlarge it; a click on the head of a column "
        "sorts a table."
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _results(comparison: Comparison) -> list[str]:
    """The table of the comparison in three, with the paper's figures below."""
    shown, places = comparison.table, {group.name: place for place, group in enumerate(comparison.groups)}
    columns, (heads, *lines) = list(shown.columns()), shown.cells()
    parts = []
    for group in shown.groups():
        body = [
            row([Html(stroke(places[one.method]) + escape(cells[0])), *(cells[at] for at in group[1:])])
            for one, cells in zip(shown.rows, lines, strict=True)
        ]
        fields = [columns[at].field for at in group[1:]]
        papers = [(paper.source, _of_paper(paper, fields, comparison.measure)) for paper in comparison.paper]
        body += [row([f"the paper: {source}", *given], kind="paper") for source, given in papers if any(given)]
        name = columns[group[1]].group
        parts.append(f"<h3>{escape(name.capitalize())}</h3>" + table([heads[at] for at in group], body, "sortable"))
    return parts


def _of_paper(paper: PaperRow, fields: Sequence[str], measure: Measure) -> list[str]:
    """Where the paper names no round to target it never reached it; what else it leaves out it does not give."""
    cells = []
    for field in fields:
        value = getattr(paper, field, None)
        never = paper.rounds_to_target is None and hasattr(paper, field) and field.endswith("to_target")
        cells.append(("not reached" if never else "") if value is None else FIGURES[field].text(value, measure))
    return cells


def _classes(comparison: Comparison) -> str:
    """How good the models are on single classes in the end; empty where no run has it."""
    rows = []
    for group in comparison.groups:
        if values := by_class(group):
            ends = (min(values, key=values.__getitem__), max(values, key=values.__getitem__))
            strip = "".join(
                f'<span class="cell" style="--part:{value:.0%}" title="class {number}: {value:.2%}"></span>'
                for number, value in values.items()
            )
            cells = [Html(f"{values[one]:.2%}<small>class {one}</small>") for one in ends]
            rows.append(row([group.label, *cells, Html(f'<span class="strip">{strip}</span>')]))
    caption = (
        "Accuracy on the examples of each class at the last evaluation, the mean over seeds. In the strip each class "
        "is a cell, in the order of their numbers: the stronger its colour, the higher, from 0 % to 100 %."
    )
    return section("Classes", caption, table(["method", "worst", "best", "all classes"], rows)) if rows else ""


def by_class(group: Group) -> dict[int, float]:
    """The accuracy of each class that has test examples at the last evaluation, mean over seeds; of seeds that did not
    record it, or not for the same classes, there is nothing to say."""
    ends = []
    for lines in group.lines:
        found = next((line["class_accuracy"] for line in reversed(lines) if line.get("class_accuracy")), None)
        ends.append({number: value for number, value in enumerate(found or ()) if value is not None})
    if not all(one.keys() == ends[0].keys() for one in ends):
        return {}
    return {number: fmean(one[number] for one in ends) for number in ends[0]}


def _events(comparison: Comparison) -> str:
    counts = {group.label: curves.events_by_kind(group.lines) for group in comparison.groups}
    kinds = sorted({kind for found in counts.values() for kind in found})
    if not kinds:
        return ""
    rows = [row([label, *(f"{found.get(kind, 0):,}" for kind in kinds)]) for label, found in counts.items()]
    caption = "How often each kind of event happened, over all rounds and seeds."
    return section("Events", caption, table(["method", *kinds], rows))


def _configs(comparison: Comparison) -> str:
    """The settings and the surroundings of each run; runs that differ in the seed alone are told once."""
    found: dict[tuple[str, str, str], list[Run]] = {}
    for group in comparison.groups:
        for run in group.runs:
            text = re.sub(rf"(?m)^seed = {run.seed}$", "seed = …", run.config_text)
            made = ", ".join(f"{key} {value}" for key, value in run.summary.get("environment", {}).items())
            found.setdefault((group.label, text, made or "environment not recorded"), []).append(run)
    parts = []
    for (label, text, made), runs in found.items():
        seeds = ", ".join(str(run.seed) for run in runs)
        places = "<br>".join(escape(line) for line in (*(str(run.path) for run in runs), made))
        config = escape(runs[0].config_text if len(runs) == 1 else text)
        parts.append(
            f"<details><summary>{escape(label)}, seed{'s' * (len(runs) > 1)} {seeds}</summary>"
            f'<p class="caption">{places}</p><pre>{config}</pre></details>'
        )
    caption = "Every setting of each run, and what it ran on; heteroselect run config.toml plays it again."
    return section("Settings", caption, *parts)
