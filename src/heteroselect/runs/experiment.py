"""From settings (and a user's own model, data or method) to everything a run needs."""

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from heteroselect import models
from heteroselect.core.arrays import Reals
from heteroselect.core.draws import Draws, drawing_from, seeded_construction, watch_draws
from heteroselect.core.evaluate import Metric, accuracy
from heteroselect.core.flat import FlatModel, Loss, Weights
from heteroselect.core.flops import step_flops
from heteroselect.core.population import Population
from heteroselect.core.streams import Streams
from heteroselect.core.traits import traits_of
from heteroselect.data import sources
from heteroselect.data.batches import to_inputs
from heteroselect.data.examples import Columns, Examples, Pixels, Source
from heteroselect.data.federation import Federation, deal, deal_by_owner, set_aside
from heteroselect.data.own import examples, own_federation, own_source, set_aside_each
from heteroselect.errors import DataError, OwnCodeError, SettingError
from heteroselect.round.client import Client, Task
from heteroselect.round.method import Method, naming
from heteroselect.round.server import Server
from heteroselect.runs.own import Own
from heteroselect.runs.worlds import most_frequent, with_availability, world_of
from heteroselect.settings import Config
from heteroselect.settings.config import Loaded
from heteroselect.world import Attack, Clock, Environment, Faults, World, typical
from heteroselect.world.clock import ENCODE_SHARE, time_budget


@dataclass(frozen=True)
class Experiment:
    """All parts of a run before its first round."""

    config: Config
    method: Method
    federation: Federation
    module: nn.Module
    weights: Weights
    task: Task
    metric: Metric
    environment: Environment
    streams: Streams
    trained: bool = False
    """Whether the model came with its weights, which then are the same for all seeds."""

    def clients(self) -> list[Client]:
        """The clients as they are before the first round, with nothing remembered."""
        return [Client(k, self._examples(k), self.streams) for k in range(len(self.federation.clients))]

    @cached_property
    def _mislabelled(self) -> NDArray[np.bool_]:
        """Who is to train on wrong labels."""
        attack, clients = self.environment.attack, len(self.federation.clients)
        return attack.hostile(clients, self.streams) if attack.kind == "labels" else np.zeros(clients, bool)

    def _examples(self, client: int) -> Examples:
        """The client's data; of a hostile one that is to train on wrong labels, with its labels turned around."""
        examples = self.federation.clients[client]
        if not self._mislabelled[client]:
            return examples
        if self.federation.classes is None:
            raise SettingError("world.attack.kind: labels needs targets that are class numbers; choose another kind.")
        return Examples(examples.x, self.federation.classes - 1 - examples.y)

    def server(self) -> Server:
        sizes = np.array([len(examples) for examples in self.federation.clients])
        return Server(self.weights, Population.new(sizes))


def prepare(loaded: Loaded, own: Own | None = None, *, device: str = "cpu", identify: bool = False) -> Experiment:
    """Everything that a run needs, made from its settings and from what the user handed over; with a digest of its data
    where the run is to be told from others (`identify`)."""
    config, method, own = loaded.config, loaded.method, own or Own()
    streams, metric = Streams(config.seed), Metric.of(own.metric)
    if own.world is not None:
        config = config.model_copy(update={"world": config.world.model_copy(update={"links": "own"}), "paper": ()})
    if metric != Metric(accuracy):
        config = config.model_copy(update={"paper": ()})
    config, federation = _federation(config, streams, own, identify)
    if federation.classes is None and (own.loss is None or own.metric is None):
        raise DataError("loss: targets that are not class numbers need a loss and a metric of their own.")
    config, module = _module(config, federation, streams, own.model)
    flat = FlatModel(module, device)
    if traits_of(method.privacy).hides and flat.weights().has_statistics:
        raise SettingError(
            "method.privacy.kind: clients would send the statistics of batch normalisation as they are; take a model "
            "without it."
        )
    loss, by_class = own.loss or nn.functional.cross_entropy, own.loss is None or metric.function is accuracy
    task = Task(loss, *_dry_run(flat, federation, loss, method, by_class=by_class))
    return Experiment(
        config=config,
        method=method,
        federation=federation,
        module=module,
        weights=FlatModel(module).weights(),
        task=task,
        metric=metric,
        environment=environment_of(
            config,
            method,
            flat.layout.size,
            streams,
            own.world,
            step_flops=partial(_step_flops, flat, federation, task, method.solver.batch),
            labels=partial(most_frequent, federation),
        ),
        streams=streams,
        trained=isinstance(own.model, nn.Module),
    )


def _federation(config: Config, streams: Streams, own: Own, identify: bool) -> tuple[Config, Federation]:
    """The clients' data; where the user brought it, the config says "own" and how many clients there are."""
    data, test = own.data, own.test
    rule = {"partition": "natural"} if isinstance(data, Mapping) else {}
    mine: dict[str, Any] = {"data": config.data.model_copy(update={"name": "own", **rule}), "paper": ()}
    fraction, evaluate = config.data.validation_fraction, config.data.evaluate
    if isinstance(data, list):
        whole: list[Examples] = []
        if fraction and data:
            whole = [examples(part, f"data[{k}]") for k, part in enumerate(data)]
            data, held = set_aside_each(whole, fraction, streams)
            test = held if evaluate == "validation" else test
        federation = own_federation(data, test)
        config = _checked(config.model_copy(update=mine | {"clients": len(data)}))
        if identify:
            # as it was handed over: what is set aside of it comes from the seed
            judged = [] if evaluate == "validation" else [federation.test]
            words = [*(part.sha256 for part in (*(whole or federation.clients), *judged)), federation.pixels]
            federation = replace(federation, sha256=hashlib.sha256(repr(words).encode()).hexdigest())
        return config, federation
    if data is not None:
        source = own_source(data, test, config.data.test_fraction, streams)
        config = config.model_copy(update=mine)
    elif config.data.name == "own":
        raise SettingError('data.name: "own" is data handed over in Python; hand it over again (data=…).')
    else:
        source = source_of(config)
    federation = _dealt(config, set_aside(source, fraction, evaluate, streams), streams, named=data is None)
    if len(federation.clients) != config.clients:
        config = _checked(config.model_copy(update={"clients": len(federation.clients)}))
    return config, replace(federation, sha256=source.sha256) if identify else federation


def _dealt(config: Config, source: Source, streams: Streams, *, named: bool) -> Federation:
    """The examples of a source in the hands of clients, as the settings have it. Owners that were handed over in Python
    are all clients where the settings do not say how many."""
    settings = config.data
    if settings.partition == "natural":
        count = config.clients if named or "clients" in config.model_fields_set else None
        least, unseen = settings.owner_min_examples, settings.unseen_fraction
        found = deal_by_owner(source, count, streams, augment=settings.augment, least=least, unseen=unseen)
        # like the test part, they are not looked at while settings are tuned
        return replace(found, unseen=None) if settings.evaluate == "validation" else found
    return deal(
        source,
        config.clients,
        streams,
        augment=settings.augment,
        rule=settings.partition,
        fraction=settings.dominant_fraction,
        absent=settings.missing_classes,
        alpha=settings.dirichlet_alpha,
        shards_per_client=settings.shards_per_client,
        # the authors drew these two in a way of their own; there is only one way to draw the others
        authors=settings.variant == "authors" and settings.partition in ("dominant", "missing"),
    )


def source_of(config: Config) -> Source:
    """The data set that the settings name."""
    folder = Path(config.data.dir).expanduser() if config.data.dir else None
    settings = config.data
    natural = settings.partition == "natural"
    columns = Columns(settings.input_column, settings.label_column, settings.owner_column, natural)
    return sources.load(settings.name, folder, test_fraction=settings.test_fraction, seed=config.seed, columns=columns)


def _checked(config: Config) -> Config:
    if config.selected > config.clients:
        raise SettingError(
            f"selected: choose at most the number of clients, which is {config.clients}, not {config.selected}."
        )
    return config


def _module(
    config: Config, federation: Federation, streams: Streams, model: Callable[[], nn.Module] | nn.Module | str | None
) -> tuple[Config, nn.Module]:
    if model is None and config.model.name == "own":
        raise SettingError('model.name: "own" is a model handed over in Python; hand it over again (model=…).')
    assert not isinstance(model, str)  # a known model's name is in the settings by now
    if model is not None and config.model.init != "torch":
        raise SettingError("model.init: it has no effect on a model of your own; leave it at torch.")
    if model is None:
        classes = federation.classes or 1
        with seeded_construction(streams):
            module = models.build(config.model.name, federation.shape, classes, dropout=config.model.dropout)
            module = models.kaiming(module) if config.model.init == "kaiming" else module
        # as the images do; it takes a tenth off a step of convolutions
        return config, module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    config = config.model_copy(update={"model": config.model.model_copy(update={"name": "own"}), "paper": ()})
    if isinstance(model, nn.Module):
        return config, deepcopy(model)
    with seeded_construction(streams):
        return config, model()


def _dry_run(
    model: FlatModel, federation: Federation, loss: Loss, method: Method, *, by_class: bool
) -> tuple[Pixels | None, Draws]:
    """Two examples through model and loss, before anything is spent on a run that cannot go on: in which order
    the model takes images, how it draws random numbers, and whether the compressor can work with it. What model and
    loss give is looked at; `by_class` asks for an output for each class."""
    pixels, weights = federation.pixels, model.weights()

    def call() -> None:
        x, y = to_inputs(federation.test.x[:2], pixels, model.device), federation.test.y[:2].to(model.device)
        model.module.train()
        outputs = model.module(x)
        if not isinstance(outputs, Tensor):
            raise OwnCodeError(f"model: it gives a {type(outputs).__name__}; make it give one tensor.")
        if by_class:
            _refuse_few_outputs(outputs, federation)
        _refuse_many_losses(loss(outputs, y))
        model.module.eval()
        model.module(x.clone())

    with torch.no_grad():
        try:
            draws = watch_draws(call)
        except RuntimeError:
            if pixels is None or not pixels.channels_last:
                raise
            pixels = replace(pixels, channels_last=False)
            draws = watch_draws(call)
    if hasattr(method.compress, "curvature"):
        x, y = to_inputs(federation.test.x[:2], pixels, model.device), federation.test.y[:2].to(model.device)
        model.module.train()
        with drawing_from(torch.Generator(model.device), draws), naming("compress"):
            generator = torch.Generator(model.device)
            method.compress.curvature(model, loss(model.module(x), y), model.layout.layers, 0.0, generator)
    model.load(weights)  # batch norm has counted the two
    return pixels, draws


def _refuse_few_outputs(outputs: Tensor, federation: Federation) -> None:
    """A class without an output cannot be learnt, and the loss fails where it first meets one."""
    classes, rank = federation.classes, 1 + federation.test.y.ndim
    if classes is None or (outputs.ndim == rank and outputs.shape[1] >= classes):
        return
    found = outputs.shape[1] if outputs.ndim == rank else f"shape {tuple(outputs.shape[1:])} of"
    lowest = min(int(part.y.min()) for part in (*federation.clients, federation.test) if len(part))
    if lowest and found == classes - lowest:
        raise DataError(
            f"data: class numbers in y are {lowest} to {classes - 1}; number them 0 to {classes - 1 - lowest}, one for "
            f"each of the {found} outputs of the model."
        )
    raise OwnCodeError(
        f"model: it gives {found} outputs per example; make it {classes} or more in one row, for the class numbers "
        f"{lowest} to {classes - 1} in y."
    )


def _refuse_many_losses(value: object) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1:
        given = f"{value.numel()} numbers" if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise OwnCodeError(
            f'loss: it gives {given} for two examples; make it a tensor of one number (reduction="mean").'
        )


def environment_of(
    config: Config,
    method: Method,
    size: int,
    streams: Streams,
    world: World | None = None,
    *,
    step_flops: Callable[[], float] | None = None,
    labels: Callable[[], Reals] | None = None,
) -> Environment:
    """The world of the settings, or the user's own, with its clock, its faults and the time budget of eq. 8. What a
    step takes and which labels clients have is asked for where the world goes by it."""
    settings = config.world
    world = world or world_of(config, streams, step_flops=step_flops, labels=labels)
    world = with_availability(world, settings.availability, config.clients, streams)
    bandwidth, step_seconds = typical(world, config.clients, streams)
    steps = method.passes * method.solver.steps
    budget = settings.budget_seconds or time_budget(method.allocate.average, size, bandwidth, steps, step_seconds)
    return Environment(
        world=world,
        budget_seconds=budget,
        clock=Clock(
            settings.charge, encode_share=ENCODE_SHARE, latency=settings.latency_seconds, loss=settings.packet_loss
        ),
        faults=Faults(**settings.faults.model_dump(), deadline=settings.deadline),
        attack=Attack(**settings.attack.model_dump()),
    )


def _step_flops(model: FlatModel, federation: Federation, task: Task, batch: int) -> float:
    """Operations of a training step on a whole batch."""
    rows = torch.arange(batch) % len(federation.test)
    x, y = to_inputs(federation.test.x[rows], task.pixels, model.device), federation.test.y[rows].to(model.device)
    return step_flops(model, task.loss, x, y, task.draws)
