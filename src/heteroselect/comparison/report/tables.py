"""Tables and lists for the terminal and the docs: a run beside the paper, a curve in one line, settings, methods."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from heteroselect.core.measure import ACCURACY, Measure

if TYPE_CHECKING:
    from heteroselect.round.method import Method
    from heteroselect.settings import Config, PaperRow, Setting

    Kind = tuple[str, str, list[Setting]]
    """a role, a kind of it, and the settings of that kind"""

NOTHING = "—"
VALUES_ONLY = ("megabytes_to_target", "total_megabytes")
"""Figures by the paper's count, of values at 32 bits each."""

BLOCKS = "▁▂▃▄▅▆▇█"

ROLES = {
    "score": "how informative is each client?",
    "select": "who takes part?",
    "second_selection": "who of those who trained may send?",
    "allocate": "how much may each client send?",
    "lr": "what is the local learning rate?",
    "local_steps": "how many local steps does each client take?",
    "solver": "what does a client do with its data?",
    "privacy": "what does a client hide?",
    "error_feedback": "what does a client keep of what it did not send?",
    "compress": "what of an update is sent?",
    "quantize": "what is a kept value sent as?",
    "async_mode": "when does the server step?",
    "weigh": "how much does each update count?",
    "aggregate": "how do single updates become one?",
    "server_optimizer": "what is added to the model?",
    "downlink": "how does the model get to clients?",
    "outlier_filter": "which updates are refused?",
    "calibrate": "where do batch-norm statistics come from?",
    "model_average": "which model is evaluated and saved?",
}
"""The roles of a method, in the order of a round."""

_ROWS = {
    "peak_accuracy": "peak accuracy",
    "final_accuracy": "final accuracy",
    "rounds_to_target": "rounds to target",
    "seconds_to_target": "simulated seconds to target",
    "megabytes_to_target": "MB up to target (values only)",
    "wire_megabytes_to_target": "MB up to target (real bytes)",
    "total_seconds": "simulated seconds in all",
    "total_megabytes": "MB up in all (values only)",
    "total_wire_megabytes": "MB up in all (real bytes)",
    "bytes_down": "MB down in all (models to train)",
    "bytes_scoring": "MB in all for scoring (both ways)",
    "bytes_calibration": "MB in all for calibration (both ways)",
    "client_accuracy_mean": "accuracy on a client's own labels",
    "client_accuracy_worst_tenth": "… of the worst tenth of clients",
    "client_accuracy_std": "… standard deviation over clients",
    "client_accuracy_never_selected": "… of clients that were never selected",
    "unseen_accuracy": "accuracy on unseen owners",
    "participation_jain": "evenness of participation (Jain)",
    "bytes_jain": "evenness of bytes sent (Jain)",
    "rounds_run": "rounds run",
    "parameters": "parameters",
    "wall_seconds": "wall seconds",
}


_WHERE_KNOWN = (
    "client_accuracy_std",
    "client_accuracy_never_selected",
    "unseen_accuracy",
    "participation_jain",
    "bytes_jain",
    "bytes_down",
    "bytes_scoring",
    "bytes_calibration",
)
"""Rows that not every run has."""
_IN_BYTES = ("bytes_down", "bytes_scoring", "bytes_calibration")
"""Figures that a summary has in bytes, and people read in MB."""


def result_table(summary: Mapping[str, Any], paper: "Sequence[PaperRow]") -> Table:
    """Our figures, and the paper's beside them where it gives any."""
    name = summary.get("title", summary["method"])
    measure = Measure.of(summary)
    title = f"{name} on {summary['dataset']}, seed {summary['seed']}, target {measure.short(summary['target'])}"
    status = summary.get("status", "finished")
    title += f", clock {summary['charge']}" if "charge" in summary else ""
    title += ", validation examples" if summary.get("evaluated_on") == "validation" else ""
    title += "" if status == "finished" else f" ({status})"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    table.add_column("this run", justify="right", style="bold")
    for row in paper:
        table.add_column(row.source, justify="right", max_width=30)
    labels = {**_ROWS, "peak_accuracy": measure.peak, "final_accuracy": f"final {measure.name}"}
    if summary.get("client_accuracy_of") == "own examples":
        labels["client_accuracy_mean"] = "accuracy on a client's own examples"
    labels["unseen_accuracy"] = f"{measure.name} on {summary.get('unseen_owners')} unseen owners"
    for field, label in labels.items():
        nothing = (None, 0) if field == "bytes_calibration" else (None,)  # only models with batch norm have any
        if field in _WHERE_KNOWN and summary.get(field) in nothing:
            continue
        table.add_row(label, shown(field, figure(summary, field), measure), *(_paper(field, row) for row in paper))
    return table


def _paper(field: str, row: "PaperRow") -> str:
    """A figure of the paper; where it names no round the target was never reached, else it is just not given."""
    value = getattr(row, field, None)
    return "" if value is None and field != "rounds_to_target" else shown(field, value)


def figure(summary: Mapping[str, Any], field: str) -> Any:
    """A figure of a run; a dash where the paper counts values of 32 bits and the run sent others."""
    few_bits = not summary.get("sends_float32", True)
    value = NOTHING if few_bits and field in VALUES_ONLY else summary.get(field)
    return value / 1e6 if field in _IN_BYTES and isinstance(value, int | float) else value


def shown(field: str, value: Any, measure: Measure = ACCURACY) -> str:
    """A figure for people; `measure` is what the model was evaluated by."""
    if value == NOTHING:
        return NOTHING
    if value is None:
        return "not reached" if field.endswith("to_target") else "—"
    if "accuracy" in field:
        return (ACCURACY if field.startswith("client_") else measure).text(value)
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


def presets_table(presets: "Mapping[str, Config]") -> Table:
    """The ready experiments."""
    heads = ("preset", "data", "partition", "model", "method", "clock", "target", "paper's peak")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for head in heads:  # a name that is cut short cannot be typed
        table.add_column(head, no_wrap=head not in ("partition", "paper's peak"))
    for name, config in presets.items():
        peak = f"{config.paper[0].peak_accuracy:.2%}" if config.paper and config.paper[0].peak_accuracy else ""
        data = config.data
        detail = {
            "dominant": f"dominant {data.dominant_fraction:g}",
            "missing": f"{data.missing_classes} missing classes",
            "dirichlet": f"Dirichlet({data.dirichlet_alpha:g})",
        }.get(data.partition, data.partition)
        row = (name, data.name, detail, config.model.name, config.method_name, config.world.charge)
        table.add_row(*row, f"{config.target:.0%}", peak)
    return table


def parts_text(method: "Method", *, whole: bool = False) -> str:
    """Per role its kind, and of its settings those that are not the kind's own defaults (or the `whole` of them)."""
    from heteroselect.core.part import declared, kind_of

    lines = []
    for role, part in method.parts():
        found = {name: (getattr(part, name), one.default) for name, one in declared(type(part)).items()}
        settings = [f"{name}={_shown(value)}" for name, (value, default) in found.items() if whole or value != default]
        lines.append(f"  {role:16} {kind_of(part):24} {' '.join(settings)}".rstrip())
    needs = ", ".join(sorted(method.needs)) or "nothing of its clients but their updates"
    return "\n".join([*lines, f"  {'needs':16} {needs}"])


def settings_text(settings: "Iterable[Setting]") -> str:
    """A list for the terminal, with the keys that `--set` takes."""
    return "\n".join(f"{one.key} = {_shown(one.default)}    ({one.allowed})\n    {one.meaning}" for one in settings)


def kinds_text(kinds: "Iterable[Kind]") -> str:
    """The same of kinds of parts, role by role."""
    parts = []
    for role, same in groupby(kinds, lambda kind: kind[0]):
        parts.append(f"method.{role}: {ROLES[role]}\n")
        for _, kind, settings in same:
            brings = _brings(role, kind)
            text = f"method.{role}.kind = {kind}" + (f"    ({brings})" if brings else "")
            parts.append("\n".join(filter(None, [text, settings_text(settings)])) + "\n")
    return "\n".join(parts).rstrip()


def settings_page(settings: "Iterable[Setting]") -> str:
    """The list of settings as a Markdown table."""
    return _page(_row(one, one.key) for one in settings)


def kinds_page(kinds: "Iterable[Kind]") -> str:
    """The same of kinds of parts: a table per role."""
    parts = []
    for role, same in groupby(kinds, lambda kind: kind[0]):
        rows = []
        for _, kind, settings in same:
            rows.append([f'**`kind = "{kind}"`**', "", "", _brings(role, kind)])
            rows += [_row(one, one.key.rpartition(".")[2]) for one in settings]
        parts.append(f"### `[method.{role}]`: {ROLES[role]}\n\n{_page(rows)}")
    return "\n\n".join(parts)


def _row(setting: "Setting", name: str) -> list[str]:
    return [f"`{name}`", _shown(setting.default), setting.allowed, setting.meaning]


def _page(rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(["| setting | default | allowed | meaning |", "|---|---|---|---|", *lines])


def _brings(role: str, kind: str) -> str:
    """What a kind brings to other roles when it is chosen by name."""
    from heteroselect.core.traits import traits_of
    from heteroselect.parts.kinds import KINDS

    brought = []
    for other, settings in traits_of(KINDS[role][kind]()).brings.items():
        more = ", ".join(f"{name} {_shown(value)}" for name, value in settings.items() if name != "kind")
        brought.append(f"{other} {settings['kind']}" + (f" with {more}" if more else ""))
    return f"brings {', '.join(brought)}" if brought else ""


def _shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
