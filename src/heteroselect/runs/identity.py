"""The fingerprint of a run that is about to begin or to go on, and whether the run in a folder is that one."""

import hashlib
import platform
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from heteroselect.core.evaluate import Metric, accuracy
from heteroselect.core.part import kind_of
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.kinds import is_shipped
from heteroselect.round.method import Method
from heteroselect.runs.digest import LENGTH, digest_of
from heteroselect.runs.experiment import Experiment, source_of
from heteroselect.runs.fingerprint import NEWER, UNKNOWN, Fingerprint, deciding, listed
from heteroselect.runs.worlds import digests_of
from heteroselect.settings.config import Loaded
from heteroselect.settings.world import WorldSettings
from heteroselect.version import __version__


def fingerprint(experiment: Experiment, device: str) -> Fingerprint:
    """Of an experiment that was prepared to be identified; before its first round, while what the user handed over is
    as it was handed over."""
    own: dict[str, Any] = {}
    if experiment.task.loss is not torch.nn.functional.cross_entropy:
        own["loss"] = experiment.task.loss
    if experiment.metric != Metric.of(accuracy):
        own["metric"] = _told(experiment.metric)
    if "world" in experiment.own:
        own["world"] = experiment.environment.world
    parts = {"data": experiment.federation.sha256[:LENGTH], **_parts(experiment.method, own)}
    if experiment.config.model.name == "own":
        parts["model"] = digest_of(experiment.module, weights=experiment.trained)
    parts |= _files(experiment.config.world)
    labels = hashlib.sha256()
    for client in experiment.federation.clients:
        labels.update(client.y.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        labels.update(str(tuple(client.y.shape)).encode())
    drawn = {"clients": labels.hexdigest()[:LENGTH], "weights": experiment.weights.sha256()[:LENGTH]}
    return Fingerprint(deciding(experiment.config.model_dump()), parts, drawn, _versions(device))


def _files(settings: WorldSettings) -> dict[str, str]:
    return {name: digest[:LENGTH] for name, digest in digests_of(settings).items()}


def _parts(method: Method, others: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the user's own parts and of `others`. A shipped part is its role, its kind and its settings, all of
    which stand in the settings already: its file may move."""
    roles = {f"method.{role}": part for role, part in method.parts() if not is_shipped(role, part)}
    return {name: digest_of(part) for name, part in {**others, **roles}.items()}


def _told(metric: Metric) -> Any:
    """A function alone where name and direction follow from it."""
    return metric.function if metric == Metric.of(metric.function) else (metric.function, metric.name, metric.higher)


def _versions(device: str) -> dict[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    numbers = {"heteroselect": __version__, "torch": str(torch.__version__), "numpy": np.__version__}
    others = {name: version(name) for name in NEWER}
    return {**numbers, "python": python, "device": device, **others}


def planned(loaded: Loaded, device: str, known: dict[Any, str | None]) -> Fingerprint:
    """What is known of the fingerprint of a run from its settings alone, without preparing it: weights follow from
    these. Digests of data sets are kept in `known`; of one that is not there, nothing is said."""
    settings = loaded.config.data
    columns = settings.input_column, settings.label_column, settings.owner_column, settings.partition == "natural"
    key = settings.name, settings.dir, settings.test_fraction, columns
    if key not in known:
        try:
            known[key] = source_of(loaded.config).sha256[:LENGTH]
        except HeteroSelectError:
            known[key] = None
    data = known[key]
    parts = _parts(loaded.method, {}) | ({} if data is None else {"data": data})
    parts |= _files(loaded.config.world)
    return Fingerprint(deciding(loaded.config.model_dump()), parts, {}, _versions(device))


def unlike(path: Path, plan: Fingerprint, *, versions: bool = True) -> list[str] | None:
    """How the run in a folder differs from one that is planned, in its `versions` too or not; None where it was begun
    before there were fingerprints."""
    then = Fingerprint.read(path)
    if then is None:
        return None
    then = then if versions else replace(then, versions=plan.versions)
    # a plan whose data set is not at hand says nothing of it; whatever else the run has and the plan has not is its own
    parts = {name: digest for name, digest in then.parts.items() if name != "data" or name in plan.parts}
    found = replace(then, parts=parts, drawn={}).differences(plan)
    unknown = [f"{name}: {UNKNOWN}" for name, digest in parts.items() if digest == UNKNOWN]
    more = [f"rounds: {one['from']} → {one['to']} after round {one['after']}" for one in then.extended]
    return found + unknown + more


def refuse_another(path: Path, then: Fingerprint | None, now: Fingerprint, warn: Callable[[str], None]) -> None:
    """A run goes on only as what it is; `warn` is told of what has no digest by which that could be said."""
    if then is None:
        return
    if found := then.differences(replace(now, extended=then.extended)):
        raise HeteroSelectError(
            f"resume: the run in {path} is of another experiment ({listed(found)}); allowed is what it was begun with."
        )
    if unknown := [name for name, digest in {**then.parts, **then.drawn}.items() if digest == UNKNOWN]:
        warn(f"of {', '.join(unknown)} there is no digest: nobody can say whether the run goes on with the same")


def horizon(method: Method) -> list[str]:
    """The parts of a method whose code asks how many rounds there are: their schedules depend on it."""
    found = []
    for role, part in method.parts():
        functions = [one for kind in type(part).__mro__ for one in vars(kind).values() if isinstance(one, FunctionType)]
        if any({"rounds", "progress"} & set(one.__code__.co_names) for one in functions):
            found.append(f"{role} {kind_of(part)}")
    return found
