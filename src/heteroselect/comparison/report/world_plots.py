"""The page's pictures of the world: where the seconds went, who was waited for, links and devices, and who was there.

All of it is read from `world` in the lines of rounds.jsonl; runs of earlier versions have none, and no such picture.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.report import curves
from heteroselect.comparison.report.curves import Floats
from heteroselect.comparison.report.curves import Lines as Lines_
from heteroselect.comparison.report.lines import Lines, Panel, Series
from heteroselect.comparison.report.load import Comparison, Group
from heteroselect.comparison.report.maps import Map, Maps
from heteroselect.comparison.report.plots import Chart, bands, ends, upright
from heteroselect.comparison.report.rows import Mark, Row, RowPanel, Rows, stacked
from heteroselect.comparison.report.scale import Scale
from heteroselect.comparison.report.style import look
from heteroselect.world.note import who_was_there

PARTS = {
    "compute": "computing",
    "up": "sending",
    "down": "fetching",
    "waiting": "waiting for the last",
    "scoring": "scoring",
    "calibration": "calibration",
    "waited": "nobody there",
}
MOST = 500
"""Clients that a chart of single clients has, in falling order."""

SPEEDS = {"up_mbps": "uplink, Mb/s", "down_mbps": "downlink, Mb/s", "step_seconds": "seconds per step"}


def seconds_by_part(runs: Sequence[Lines_]) -> dict[str, float]:
    """Seconds of a round by what they went into, of the average selected client, as the mean over rounds and seeds.
    Their sum is the length of a round. What a client does after the server has stopped waiting does not count."""
    totals = dict.fromkeys(PARTS, 0.0)
    found = notes(runs)
    for note in found:
        spent = {part: np.array(note[part], float) for part in ("compute", "up", "down")}
        whole = np.maximum(sum(spent.values()), 1e-12)
        counted = np.minimum(1.0, note["training"] / whole)
        shares = {part: float((counted * one).mean()) if len(one) else 0.0 for part, one in spent.items()}
        for part, seconds in (shares | {"waiting": note["training"] - sum(shares.values())}).items():
            totals[part] += seconds
        for part in ("scoring", "calibration", "waited"):
            totals[part] += note[part]
    return {part: total / max(1, len(found)) for part, total in totals.items()}


def times_waited_for(runs: Sequence[Lines_], clients: int) -> npt.NDArray[np.int64]:
    """In how many rounds each client was the last that was waited for, over all seeds."""
    count = np.zeros(clients, dtype=np.int64)
    for lines in runs:
        for line in lines:
            note = line.get("world")
            if note and note["took"]:
                took = np.array(note["took"])
                took[took > note["training"] * (1 + 1e-3)] = -1.0  # it came too late, or was not needed any more
                count[line["selected"][int(took.argmax())]] += 1
    return count


def quantiles(runs: Sequence[Lines_], field: str) -> Floats:
    """The five quantiles of a field, as the mean over rounds and seeds."""
    found: Floats = np.array([note[field] for note in notes(runs)], np.float64).mean(axis=0)
    return found


def who_was_there_map(lines: Lines_, clients: int) -> npt.NDArray[np.float32]:
    """1 where a client was available in a round, clients down and rounds across; NaN elsewhere."""
    cells, down, across = curves.empty_map(clients, len(lines)), curves.per_cell(clients), curves.per_cell(len(lines))
    for column, line in enumerate(lines):
        if line.get("world"):
            cells[np.array(who_was_there(line["world"], clients), int) // down, column // across] = 1.0
    return cells


def notes(runs: Sequence[Lines_]) -> list[Mapping[str, Any]]:
    """What the rounds of all seeds have noted."""
    return [line["world"] for lines in runs for line in lines if line.get("world")]


def seconds_spent(comparison: Comparison) -> Rows | None:
    """The parts of a round's seconds, stacked, for each method."""
    groups = _noted(comparison)
    if not groups:
        return None
    amounts = [seconds_by_part(group.lines) for group in groups]
    return stacked([group.label for group in groups], amounts, PARTS, "simulated seconds per round", "s")


def waited_for(comparison: Comparison) -> Lines | None:
    """How often clients were the last, in falling order."""
    series = []
    for index, group in enumerate(comparison.groups):
        count = times_waited_for(group.lines, group.clients)
        if not count.any():
            continue
        order = np.argsort(-count, kind="stable")[:MOST]
        x, share = np.arange(1, len(order) + 1, dtype=np.float64), count[order] / count.sum()
        series.append(Series(index, group.label, look(index).css, x, share, steps=True, who=order.tolist()))
    if not series:
        return None
    x_scale = Scale.over([0.5, max(len(one.x) for one in series) + 0.5])
    y = upright(series, zero=True, percent=True)
    title = "clients, those most waited for first"
    return Lines((Panel(title, "share of the rounds", x_scale, y, tuple(series), whole=True),), 1)


def speeds(comparison: Comparison) -> Rows | None:
    """Boxes of links and of seconds per step, for each method, on scales that are logarithms."""
    groups = _noted(comparison)
    return Rows(tuple(_boxes(comparison, groups, *one) for one in SPEEDS.items())) if groups else None


def _boxes(comparison: Comparison, groups: Sequence[Group], field: str, title: str) -> RowPanel:
    rows, found = [], [quantiles(group.lines, field) for group in groups]
    positive = [float(one) for five in found for one in five if one > 0] or [1.0]
    low, high = min(positive), max(positive)
    for group, five in zip(groups, found, strict=True):
        start, quarter, middle, three, end = (max(low, float(one)) for one in five)
        css = look(comparison.groups.index(group)).css
        marks = (
            Mark("whisker", start, end, css, f"5 to 95 %: {start:,.3g} to {end:,.3g}"),
            Mark("box", quarter, three, css, f"middle half: {quarter:,.3g} to {three:,.3g}"),
            Mark("middle", middle, middle, css),
        )
        rows.append(Row(group.label, marks, f"{middle:,.3g}", f"{start:,.3g} – {end:,.3g}"))
    return RowPanel(title, Scale(low / 1.1, high * 1.1, log=True), tuple(rows))


@dataclass(frozen=True)
class Pair:
    """A chart of lines beside a map."""

    lines: Lines
    map: Map

    def html(self) -> str:
        return f'<div class="panels p2"><div>{self.lines.html()}</div>{Maps({"": [self.map]}).html()}</div>'


def available(comparison: Comparison) -> Pair | None:
    """The share of the clients that were there over time, and who they were; none where everybody always was."""
    if not any(note["there"] is not None for group in comparison.groups for note in notes(group.lines)):
        return None
    first = _noted(comparison)[0]
    series = bands(comparison, _there, "seconds")
    panel = Panel("simulated seconds", "clients available", ends(series), upright(series, zero=True), series)
    lines = first.lines[0]
    cells = who_was_there_map(lines, first.clients)
    shared = curves.per_cell(first.clients), curves.per_cell(len(lines))
    return Pair(Lines((panel,), 1), Map("who was there in the first run", cells, "available", shared, shades=False))


def _there(lines: Lines_) -> curves.Curve:
    return curves.values(lines, lambda line: (line.get("world") or {}).get("available"), "seconds")


def _noted(comparison: Comparison) -> list[Group]:
    return [group for group in comparison.groups if notes(group.lines)]


def drawn(comparison: Comparison) -> dict[str, Chart]:
    """Every chart of the world that this comparison has something for, by the name of its section."""
    makers: Sequence[Callable[[Comparison], Chart | None]] = (seconds_spent, waited_for, speeds, available)
    found = {maker.__name__: maker(comparison) for maker in makers}
    return {name: chart for name, chart in found.items() if chart is not None}
