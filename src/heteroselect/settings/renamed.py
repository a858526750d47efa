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
    "method.compress.curvature.probes": 1,
    "method.compress.curvature.floor": 1e-6,
    "method.compress.curvature.ranking": "global",
    "method.compress.curvature.scope": "model",
    "method.compress.curvature.damping": "floor",
    "method.compress.random-k.rounding": "ceil",
    "method.compress.random-k.scaled": False,
    "method.compress.threshold.sample": 0.01,
    "method.quantize.uniform.bucket": 0,
    "method.downlink.steps.storage": True,
    "method.error_feedback.error.keep_unweighted": False,
    "method.score.informativeness.staleness_gamma": 0.5,
    "method.score.informativeness.consensus_keep": 0.9,
    "method.select.adasample.cold": "average",
    "method.select.adasample.floor": 1e-3,
    "method.select.balanced.norm": 0.0,
    "method.select.balanced.age": 0.0,
    "method.select.balanced.floor": 0.2,
    "method.select.balanced.dimensions": 8,
    "method.select.delta.diversity": 1.0,
    "method.select.divfl.unseen": "first",
    "method.select.fedcg.minimum": 0.005,
    "method.select.fedcg.unseen": "first",
    "method.select.fedcor.dimensions": 15,
    "method.select.fedcor.noise": 0.01,
    "method.select.fedcor.samples": 10,
    "method.select.fedcor.age": 0.8,
    "method.select.fedcor.first_epochs": 1000,
    "method.select.fedcor.epochs": 100,
    "method.select.fedcor.rate": 0.01,
    "method.select.fedcs.overhead": 0.0,
    "method.select.fedcs.candidates": 0,
    "method.select.fedcs.uploads": "parallel",
    "method.select.fedstas.spread": "deviation",
    "method.select.fedstas.unseen": "first",
    "method.select.oort.explore": 0.9,
    "method.select.oort.explore_decay": 0.98,
    "method.select.oort.explore_minimum": 0.2,
    "method.select.oort.bonus": 0.1,
    "method.select.oort.clip": 95.0,
    "method.select.oort.cut": 0.95,
    "method.select.oort.window": 20,
    "method.select.oort.pace": 0.0,
    "method.select.oort.flat": 0.1,
    "method.select.oort.sharp": 5.0,
    "method.select.rbcs-f.optimism": 1.0,
    "method.select.rbcs-f.ridge": 1.0,
    "method.select.rl.keep": 0.9,
    **{f"method.allocate.{kind}.index": "after-warmup" for kind in ("uniform", "score", "waterfill")},
    **{f"method.allocate.{kind}.exact": False for kind in ("uniform", "score", "waterfill")},
    "method.allocate.flexcom.rounds": "none",
    "method.allocate.optrate.decay": 5.0,
    "method.allocate.optrate.importance": "constant",
    "method.allocate.optrate.gamma": 8.0,
    "method.allocate.optrate.caution": 100.0,
    "method.allocate.fedcg.plan": "stated",
    "method.allocate.fedband.defer": 0.3,
    "method.solver.scaffold.momentum": 0.0,
    "method.solver.scaffold.proximal": 0.0,
    "method.solver.feddyn.momentum": 0.0,
    "method.solver.fedsol.adaptive": True,
    "method.solver.fedsol.temperature": 3.0,
    "method.solver.calibrated.proximal": 0.0,
    "method.weigh.variance.spread": 1.0,
    "method.aggregate.geometric-median.iterations": 10,
    "method.aggregate.geometric-median.smoothing": 1e-6,
    "method.model_average.exponential.ramp": 10.0,
    "method.model_average.tail.rounds": 0,
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
