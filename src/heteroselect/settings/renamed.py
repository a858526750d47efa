"""Old names of settings: what is typed with one is refused with the new name, what a run wrote with one is read."""

from collections.abc import Mapping
from typing import Any

RENAMED = {
    "method.choose": "method.second_selection",
    "method.rate": "method.lr",
    "method.work": "method.local_steps",
    "method.train": "method.solver",
    "method.memory": "method.error_feedback",
    "method.values": "method.quantize",
    "method.wait": "method.async_mode",
    "method.server": "method.server_optimizer",
    "method.down": "method.downlink",
    "method.screen": "method.outlier_filter",
    "method.average": "method.model_average",
}
"""The new name of each setting or group of settings that had another one; a group stands for all that is in it."""

REMOVED: dict[str, Any] = {
    "world.encode_share": 0.15,
    "world.forward_share": 1 / 3,
    "world.links_keep": 0.5,
    "world.table_gflop": 0.6,
    "simulate.checkpoint_seconds": 60.0,
    "simulate.checkpoint_dir": "",
}
"""The value of each setting that is a constant now; that of a kind of part stands under `method.ROLE.KIND.SETTING`."""


def hint(key: str, kind: str = "") -> str | None:
    """Say what became of a setting, by its key and the kind of its part; None where it never had another name.

    >>> hint("method.rate.start")
    'method.rate is now method.lr; set method.lr.start'
    """
    old = _renamed(key)
    if old is not None:
        return f"{old} is now {RENAMED[old]}; set {RENAMED[old]}{key.removeprefix(old)}"
    full = _of_kind(key, kind)
    return f"{key} is no setting any more but always {_shown(REMOVED[full])}; leave it out" if full in REMOVED else None


def current(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a run, by dotted name, under the names of today; those that became constants are left out,
    unless the run had another value.

    >>> current({"rounds": 5, "method.memory.decay": "static"})
    {'rounds': 5, 'method.error_feedback.decay': 'static'}
    """
    found = {}
    for key, value in settings.items():
        old = _renamed(key)
        found[key if old is None else RENAMED[old] + key.removeprefix(old)] = value
    kinds = {key.removesuffix(".kind"): str(value) for key, value in found.items() if key.endswith(".kind")}
    full = {key: _of_kind(key, kinds.get(key.rpartition(".")[0], "")) for key in found}
    return {key: value for key, value in found.items() if full[key] not in REMOVED or value != REMOVED[full[key]]}


def current_state(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return what parts keep, named `role.array`, under the roles of today."""
    named = current({f"method.{name}": array for name, array in arrays.items()})
    return {key.removeprefix("method."): array for key, array in named.items()}


def _renamed(key: str) -> str | None:
    """The old name at the beginning of a key."""
    return next((old for old in RENAMED if key == old or key.startswith(f"{old}.")), None)


def _of_kind(key: str, kind: str) -> str:
    group, _, name = key.rpartition(".")
    return f"{group}.{kind}.{name}" if kind and group.startswith("method.") else key


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "empty"
