"""The table of a run beside the paper, and its curve in one line, for the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from heteroselect.comparison.figures import COST, FIGURES, NOTHING, SOON, Figure, Lines, Run

if TYPE_CHECKING:
    from heteroselect.settings import PaperRow

BLOCKS = "▁▂▃▄▅▆▇█"

OF_A_RUN = (
    *("peak_accuracy", "final_accuracy", *SOON),
    *("total_seconds", "total_megabytes", *COST[:-1]),
    *("client_accuracy_mean", "client_accuracy_worst_tenth", "client_accuracy_std", "client_accuracy_never_selected"),
    *("unseen_accuracy", "participation_jain", "bytes_jain", "rounds_run", "parameters", "wall_seconds"),
)
"""Figures of a run, in the order in which they are shown."""


def result_table(summary: Mapping[str, Any], lines: Lines, paper: "Sequence[PaperRow]") -> Table:
    """Our figures, and the paper's beside them where it gives any."""
    run, name = Run(summary, lines), summary.get("title", summary["method"])
    measure = run.measure
    title = f"{name} on {summary['dataset']}, seed {summary['seed']}, target {measure.short(summary['target'])}"
    title += f", clock {summary['charge']}" if "charge" in summary else ""
    title += ", validation examples" if summary.get("evaluated_on") == "validation" else ""
    status = summary.get("status", "finished")
    title += "" if status == "finished" else f" ({status})"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("this run", justify="right", style="bold")
    for row in paper:
        table.add_column(row.source, justify="right", max_width=30)
    for one in (FIGURES[name] for name in OF_A_RUN):
        value = one.of(run)
        if value in (None, 0) and not one.end and "accuracy" not in one.name:
            continue  # nothing was scored, or calibrated
        if value is None and one.name in ("client_accuracy_std", "client_accuracy_never_selected", "unseen_accuracy"):
            continue
        few_bits = one.note and not summary.get("sends_float32", True)
        text = NOTHING if few_bits else one.text(value, measure)
        table.add_row(_label(one, run), text, *(_paper(one, row) for row in paper))
    return table


def _label(figure: Figure, run: Run) -> str:
    if figure.name == "client_accuracy_mean" and run.summary.get("client_accuracy_of") == "own examples":
        return "accuracy on a client's own examples"
    if figure.name == "unseen_accuracy":
        return f"{run.measure.name} on {run.summary.get('unseen_owners')} unseen owners"
    return figure.title(run.measure)


def _paper(figure: Figure, row: "PaperRow") -> str:
    """A figure of the paper; where it names no round the target was never reached, else it is just not given."""
    value = getattr(row, figure.name, None)
    return "" if value is None and figure.name != "rounds_to_target" else figure.text(value)


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
