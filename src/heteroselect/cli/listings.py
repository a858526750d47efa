"""The lists of presets, settings, kinds and methods, for the terminal and the docs."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from heteroselect.core.part import Declared
    from heteroselect.round.method import Method
    from heteroselect.settings import Config

    Kind = tuple[str, str, list[Declared]]
    """a role, a kind of it, and the settings of that kind"""

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


def settings_text(settings: "Iterable[Declared]") -> str:
    """A list for the terminal, with the keys that `--set` takes."""
    return "\n".join(f"{one.name} = {_shown(one.default)}    ({one.allowed})\n    {one.meaning}" for one in settings)


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


def settings_page(settings: "Iterable[Declared]") -> str:
    """The list of settings as a Markdown table."""
    return _page(_row(one, one.name) for one in settings)


def kinds_page(kinds: "Iterable[Kind]") -> str:
    """The same of kinds of parts: a table per role."""
    parts = []
    for role, same in groupby(kinds, lambda kind: kind[0]):
        rows = []
        for _, kind, settings in same:
            rows.append([f'**`kind = "{kind}"`**', "", "", _brings(role, kind)])
            rows += [_row(one, one.name.rpartition(".")[2]) for one in settings]
        parts.append(f"### `[method.{role}]`: {ROLES[role]}\n\n{_page(rows)}")
    return "\n\n".join(parts)


def _row(setting: "Declared", name: str) -> list[str]:
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
