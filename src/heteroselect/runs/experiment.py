"""From settings (and a user's own model, data or method) to everything a run needs."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heteroselect import methods, models
from heteroselect.client import Client, Task
from heteroselect.compress import TopK
from heteroselect.data import sources
from heteroselect.data.batches import to_inputs
from heteroselect.data.examples import Pixels
from heteroselect.data.federation import Federation, deal, own_federation, own_source
from heteroselect.errors import HeteroSelectError
from heteroselect.evaluate import Metric, accuracy
from heteroselect.flat import FlatModel, Loss, Weights
from heteroselect.method import Compressor, Method
from heteroselect.population import Population
from heteroselect.round import Server
from heteroselect.settings import Config, MethodSettings
from heteroselect.streams import Draws, Streams, drawing_from, seeded_construction, watch_draws
from heteroselect.world import Clock, Devices, Faults, Links, MeasuredLinks, World
from heteroselect.world.clock import time_budget


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
    world: World
    streams: Streams

    def clients(self) -> list[Client]:
        """The clients as they are before the first round, with nothing remembered."""
        return [Client(k, examples, self.streams) for k, examples in enumerate(self.federation.clients)]

    def server(self) -> Server:
        sizes = np.array([len(examples) for examples in self.federation.clients])
        return Server(self.weights, Population.new(sizes))


def prepare(
    config: Config,
    *,
    model: Callable[[], nn.Module] | nn.Module | None = None,
    data: Any = None,
    test: Any = None,
    method: Method | Callable[[MethodSettings], Method] | None = None,
    loss: Loss | None = None,
    metric: Metric | None = None,
    device: str = "cpu",
) -> Experiment:
    streams = Streams(config.seed)
    config, federation = _federation(config, streams, data, test)
    if federation.classes is None and (loss is None or metric is None):
        raise HeteroSelectError("loss: targets that are not class numbers need a loss and a metric of their own.")
    config, module = _module(config, federation, streams, model)
    flat = FlatModel(module, device)
    config, chosen = method_of(config, method)
    loss = loss or nn.functional.cross_entropy
    task = Task(loss, *_dry_run(flat, federation, loss, chosen.compress))
    return Experiment(
        config=config,
        method=chosen,
        federation=federation,
        module=module,
        weights=FlatModel(module).weights(),
        task=task,
        metric=metric or accuracy,
        world=world_of(config, chosen, flat.layout.size, streams),
        streams=streams,
    )


def method_of(config: Config, own: Method | Callable[[MethodSettings], Method] | None) -> tuple[Config, Method]:
    """The method that the settings name, or the user's own, under a name of its own; the settings note which method
    they are of."""
    if own is None:
        return config, methods.build(config.method)
    chosen = own if isinstance(own, Method) else own(config.method)
    if chosen.name in methods.REGISTRY and chosen != methods.build(config.method):
        raise HeteroSelectError(
            f"method: {chosen.name!r} is taken; allowed is any other name for a method of your own."
        )
    update = {"name": chosen.name, "base": config.method.name if chosen.name != config.method.name else ""}
    return config.model_copy(update={"method": config.method.model_copy(update=update)}), chosen


def _federation(config: Config, streams: Streams, data: Any, test: Any) -> tuple[Config, Federation]:
    """The clients' data; where the user brought it, the config says "own" and how many clients there are."""
    own: dict[str, Any] = {"data": config.data.model_copy(update={"name": "own"}), "paper": ()}
    if isinstance(data, list):
        federation = own_federation(data, test)
        config = _checked(config.model_copy(update=own | {"clients": len(data)}))
        return config, federation
    if data is not None:
        source = own_source(data, test, config.data.test_fraction, streams)
        config = config.model_copy(update=own)
    elif config.data.name == "own":
        raise HeteroSelectError(
            'data.name: "own" is data handed over in Python; from the command line it cannot be run again.'
        )
    else:
        folder = Path(config.data.dir).expanduser() if config.data.dir else None
        source = sources.load(config.data.name, folder, test_fraction=config.data.test_fraction, seed=config.seed)
    settings = config.data
    federation = deal(
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
    return config, federation


def _checked(config: Config) -> Config:
    if config.selected > config.clients:
        raise HeteroSelectError(
            f"selected: allowed is at most the number of clients, which is {config.clients}, not {config.selected}."
        )
    return config


def _module(
    config: Config, federation: Federation, streams: Streams, model: Callable[[], nn.Module] | nn.Module | None
) -> tuple[Config, nn.Module]:
    if model is None and config.model.name == "own":
        raise HeteroSelectError(
            'model.name: "own" is a model handed over in Python; from the command line it cannot be run again.'
        )
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


def _dry_run(model: FlatModel, federation: Federation, loss: Loss, compress: Compressor) -> tuple[Pixels | None, Draws]:
    """Two examples through model and loss, before anything is spent on a run that cannot go on: in which order
    the model takes images, how it draws random numbers, and whether its curvature can be probed."""
    pixels, weights = federation.pixels, model.weights()

    def call() -> None:
        x, y = to_inputs(federation.test.x[:2], pixels, model.device), federation.test.y[:2].to(model.device)
        model.module.train()
        loss(model.module(x), y)
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
    if isinstance(compress, TopK) and compress.layers:
        x, y = to_inputs(federation.test.x[:2], pixels, model.device), federation.test.y[:2].to(model.device)
        model.module.train()
        with drawing_from(torch.Generator(model.device), draws):
            compress.curvature(model, loss(model.module(x), y), model.layout.layers, 0.0, torch.Generator(model.device))
    model.load(weights)  # batch norm has counted the two
    return pixels, draws


def world_of(config: Config, method: Method, size: int, streams: Streams) -> World:
    settings = config.world
    low, high = settings.bandwidth_min_mbps, settings.bandwidth_max_mbps
    measured = settings.links == "measured"
    links = MeasuredLinks(low, high, settings.links_keep) if measured else Links(low, high, settings.stress)
    devices = Devices(settings.step_seconds_min, settings.step_seconds_max, settings.devices)
    average = method.allocate.average
    budget = settings.budget_seconds or time_budget(average, size, links.mean, method.train.steps, devices.mean)
    return World(
        links=links,
        step_seconds=devices.step_seconds(config.clients, streams),
        budget_seconds=budget,
        downlinks=Links(settings.downlink_min_mbps, settings.downlink_max_mbps),
        clock=Clock(settings.charge, settings.forward_share),
        faults=Faults(**settings.faults.model_dump(), deadline=settings.deadline),
    )
