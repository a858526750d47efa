"""What a person sees in the terminal: a run beside the paper, a curve in one line, lists."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from heteroselect.settings import Config, PaperRow, Setting

BLOCKS = "▁▂▃▄▅▆▇█"

_ROWS = {
    "peak_accuracy": "peak accuracy",
    "final_accuracy": "final accuracy",
    "rounds_to_target": "rounds to target",
    "seconds_to_target": "simulated seconds to target",
    "megabytes_to_target": "MB to target (values only)",
    "wire_megabytes_to_target": "MB to target (real bytes)",
    "total_seconds": "simulated seconds in all",
    "total_megabytes": "MB in all (values only)",
    "total_wire_megabytes": "MB in all (real bytes)",
    "client_accuracy_mean": "accuracy on a client's own labels",
    "client_accuracy_worst_tenth": "… of the worst tenth of clients",
    "rounds_run": "rounds played",
    "parameters": "parameters",
    "wall_seconds": "wall seconds",
}


def result_table(summary: Mapping[str, Any], paper: Sequence[PaperRow]) -> Table:
    """Our figures, and the paper's beside them where it gives any."""
    title = f"{summary['method']} on {summary['dataset']}, seed {summary['seed']}, target {summary['target']:.0%}"
    status = summary.get("status", "finished")
    title += "" if status == "finished" else f" ({status})"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("this run", justify="right", style="bold")
    for row in paper:
        table.add_column(row.source, justify="right", max_width=30)
    for field, label in _ROWS.items():
        table.add_row(label, shown(field, summary.get(field)), *(_paper(field, row) for row in paper))
    return table


def _paper(field: str, row: PaperRow) -> str:
    """A figure of the paper; where it names no round the target was never reached, else it is just not given."""
    value = getattr(row, field, None)
    if value is None and field == "rounds_to_target":
        return "not reached"
    return "" if value is None else shown(field, value)


def shown(field: str, value: Any) -> str:
    if value is None:
        return "not reached" if field.endswith("to_target") else "—"
    if "accuracy" in field:
        return f"{value:.2%}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.1f}"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """A curve as one line of text; each sign is the last value of its stretch.

    >>> sparkline([0.0, 0.5, 1.0])
    '▁▅█'
    """
    if not values:
        return ""
    count = min(width, len(values))
    picked = [values[(i + 1) * len(values) // count - 1] for i in range(count)]
    low, high = min(picked), max(picked)
    span = high - low or 1.0
    return "".join(BLOCKS[min(int((v - low) / span * len(BLOCKS)), len(BLOCKS) - 1)] for v in picked)


def presets_table(presets: Mapping[str, Config]) -> Table:
    table = Table()
    for column in ("preset", "data", "partition", "model", "target", "the paper's peak"):
        table.add_column(column)
    for name, config in presets.items():
        peak = f"{config.paper[0].peak_accuracy:.2%}" if config.paper and config.paper[0].peak_accuracy else ""
        data = config.data
        detail = {
            "dominant": f"dominant class, {data.dominant_fraction:g}",
            "missing": f"{data.missing_classes} missing classes",
            "dirichlet": f"Dirichlet({data.dirichlet_alpha:g})",
        }.get(data.partition, data.partition)
        table.add_row(name, data.name, detail, config.model.name, f"{config.target:.0%}", peak)
    return table


def settings_text(settings: Sequence[Setting]) -> str:
    """A list for the terminal, as it would stand in a file."""
    return "\n".join(f"{one.key} = {_value(one)}    ({one.allowed})\n    {one.meaning}" for one in settings)


def settings_page(settings: Sequence[Setting]) -> str:
    """The same list as Markdown."""
    cells = [[f"`{one.key}`", _value(one), one.allowed, one.meaning] for one in settings]
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells]
    return "\n".join(["| setting | default | allowed | meaning |", "|---|---|---|---|", *rows])


def _value(setting: Setting) -> str:
    return str(setting.default).lower() if isinstance(setting.default, bool) else str(setting.default)
