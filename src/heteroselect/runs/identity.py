"""The fingerprint of a run that is about to begin or to go on, and whether the run in a folder is that one."""

import hashlib
import platform
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from heteroselect.core.evaluate import Metric, accuracy
from heteroselect.core.part import kind_of
from heteroselect.errors import FolderError, HeteroSelectError
from heteroselect.parts.kinds import is_shipped
from heteroselect.round.method import Method
from heteroselect.runs.digest import LENGTH, digest_of
from heteroselect.runs.experiment import Experiment, source_of
from heteroselect.runs.fingerprint import OWN, UNKNOWN, Fingerprint, deciding, listed
from heteroselect.runs.folder import FINGERPRINT
from heteroselect.runs.worlds import digests_of
from heteroselect.settings import Config
from heteroselect.settings.config import Loaded
from heteroselect.version import __version__


def fingerprint(experiment: Experiment, device: str) -> Fingerprint:
    """The fingerprint of an experiment that was prepared to be identified; before its first round, while what the user
    handed over is as it was handed over."""
    own: dict[str, Any] = {}
    if experiment.task.loss is not torch.nn.functional.cross_entropy:
        own["loss"] = experiment.task.loss
    if (metric := experiment.metric) != Metric.of(accuracy):
        plain = metric == Metric.of(metric.function)  # name and direction follow from the function
        own["metric"] = metric.function if plain else (metric.function, metric.name, metric.higher)
    if experiment.config.world.links == "own":
        own["world"] = experiment.environment.world
    if experiment.config.model.name == "own":
        own["model"] = experiment.module
    digests = {OWN + name: digest_of(one, weights=name != "model" or experiment.trained) for name, one in own.items()}
    labels = hashlib.sha256()
    for client in experiment.federation.clients:
        labels.update(client.y.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        labels.update(str(tuple(client.y.shape)).encode())
    drawn = {"clients": labels.hexdigest()[:LENGTH], "weights": experiment.weights.sha256()[:LENGTH]}
    parts = {"data": experiment.federation.sha256[:LENGTH], **digests}
    return _fingerprint(experiment.config, experiment.method, parts, drawn, device)


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
    return _fingerprint(loaded.config, loaded.method, {} if data is None else {"data": data}, {}, device)


def _fingerprint(
    config: Config, method: Method, parts: dict[str, str], drawn: dict[str, str], device: str
) -> Fingerprint:
    """With digests of the user's own parts, where no digest of a file says what they are. A shipped part is its role,
    its kind and its settings, all of which stand in the settings already: its file may move."""
    settings = deciding(config.model_dump())
    for role, part in method.parts():
        filed = {"method.source", f"method.{role}.source"} & settings.keys()
        if not is_shipped(role, part) and not filed:
            parts[f"{OWN}method.{role}"] = digest_of(part)
    parts |= {name: digest[:LENGTH] for name, digest in digests_of(config.world).items()}
    python = ".".join(platform.python_version_tuple()[:2])
    numbers = {"heteroselect": __version__, "torch": str(torch.__version__), "numpy": np.__version__}
    others = {name: version(name) for name in ("scipy", "zstandard", "constriction")}  # they move bits of parts
    return Fingerprint(settings, parts, drawn, {**numbers, "python": python, "device": device, **others})


def unlike(path: Path, plan: Fingerprint, *, versions: bool = True) -> list[str]:
    """How the run in a folder differs from one that is planned, in its `versions` too or not."""
    then = Fingerprint.read(path)
    if then is None:
        return [f"{FINGERPRINT}: not there"]
    then = then if versions else replace(then, versions=plan.versions)
    # a plan whose data set is not at hand says nothing of it; whatever else the run has and the plan has not is its own
    parts = {name: digest for name, digest in then.parts.items() if name != "data" or name in plan.parts}
    found = replace(then, parts=parts, drawn={}).differences(plan)
    more = [f"rounds: {one['from']} → {one['to']} after round {one['after']}" for one in then.extended]
    return found + [f"{name}: {UNKNOWN}" for name in then.unknown] + more


def refuse_another(path: Path, then: Fingerprint, now: Fingerprint, warn: Callable[[str], None]) -> None:
    """A run goes on only as what it is; `warn` is told of what has no digest by which that could be said."""
    if found := then.differences(replace(now, extended=then.extended)):
        raise FolderError(
            f"resume: the run in {path} is of another experiment ({listed(found)}); go on with what it was begun with."
        )
    if unknown := dict.fromkeys((*then.unknown, *now.unknown)):
        names = ", ".join(unknown)
        warn(f"of {names} there is no digest: it has to be yours to know that the run goes on with the same")


def horizon(method: Method) -> list[str]:
    """The parts of a method whose code asks how many rounds there are: their schedules depend on it."""
    found = []
    for role, part in method.parts():
        functions = [one for kind in type(part).__mro__ for one in vars(kind).values() if isinstance(one, FunctionType)]
        if any({"rounds", "progress"} & set(one.__code__.co_names) for one in functions):
            found.append(f"{role} {kind_of(part)}")
    return found
