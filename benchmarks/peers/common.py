"""The one job that every framework is given, its data, and how a job process reports.

What is not a framework's own is the same for all: the clients' examples (bytes, turned into numbers batch by batch),
the order of batches, the network, plain SGD. So what differs is the framework.
"""

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CLIENTS = 100
SELECTED = 10
BATCH = 32
SEED = 42
FOLDER = "PEERS_FOLDER"  # environment variables: where a job finds its data and leaves its report,
JOB = "PEERS_JOB"  # and which of the two it is


@dataclass(frozen=True)
class Job:
    """`threads` are torch's, for a framework that trains one client after the other: a step of a small model has no
    use for two. `repeats` is how often the whole job is run."""

    name: str
    title: str
    data: str
    model: str
    steps: int
    rate: float
    rounds: int
    repeats: int
    threads: int


JOBS = {
    job.name: job
    for job in (
        Job("mnist", "MNIST, logistic regression, 50 local steps", "mnist", "logistic", 50, 0.05, 32, 3, 1),
        Job("alexnet", "CIFAR-10, AlexNet, 10 local steps", "cifar10", "alexnet", 10, 0.05, 7, 3, 2),
    )
}


def current() -> tuple[Job, Path]:
    """The job of this process, and its folder."""
    return job_named(os.environ[JOB]), Path(os.environ[FOLDER])


def job_named(name: str) -> Job:
    """PEERS_ROUNDS and PEERS_REPEATS cut a job short, to try it out."""
    found = {key: os.environ.get(f"PEERS_{key.upper()}") for key in ("rounds", "repeats")}
    return replace(JOBS[name], **{key: int(value) for key, value in found.items() if value})


@dataclass(frozen=True)
class Data:
    """All clients' examples one after the other in files that processes share; `ends` says where a client stops."""

    x: Tensor
    y: Tensor
    ends: list[int]
    x_test: Tensor
    y_test: Tensor
    scale: Tensor
    shift: Tensor

    @staticmethod
    def load(folder: Path) -> "Data":
        arrays = {name: _mapped(folder / f"{name}.npy") for name in ("x", "y", "x_test", "y_test")}
        about = json.loads((folder / "data.json").read_text(encoding="utf-8"))
        scale = torch.tensor([1 / (255 * s) for s in about["std"]]).view(1, -1, 1, 1)
        shift = torch.tensor([m / s for m, s in zip(about["mean"], about["std"], strict=True)]).view(1, -1, 1, 1)
        return Data(**arrays, ends=about["ends"], scale=scale, shift=shift)

    def client(self, number: int) -> tuple[Tensor, Tensor]:
        part = slice(self.ends[number - 1] if number else 0, self.ends[number])
        return self.x[part], self.y[part]

    def inputs(self, x: Tensor) -> Tensor:
        """Normalised, with the channels of colour images together: convolutions take half the time so."""
        order = torch.channels_last if x.shape[1] > 1 else torch.contiguous_format
        return x.to(dtype=torch.float32, memory_format=order).mul_(self.scale).sub_(self.shift)

    def batches(self, number: int, steps: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Epoch after epoch in a new order, as fast as tensors can give it: no DataLoader, no copy of an example."""
        x, y = self.client(number)
        epochs = -(-steps * BATCH // len(y))
        order = torch.from_numpy(np.concatenate([rng.permutation(len(y)) for _ in range(epochs)]))
        for index in order[: steps * BATCH].split(BATCH):
            yield self.inputs(x.index_select(0, index)), y.index_select(0, index)

    def accuracy(self, model: nn.Module) -> float:
        model.eval()
        with torch.no_grad():
            parts = zip(self.x_test.split(500), self.y_test.split(500), strict=True)
            right = sum(int((model(self.inputs(x)).argmax(1) == y).sum()) for x, y in parts)
        return right / len(self.y_test)


def _mapped(path: Path) -> Tensor:
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def network(job: Job, shape: tuple[int, ...]) -> nn.Module:
    """The same network for all. Only our models are imported, so that a peer does not pay for the rest of us."""
    if "heteroselect" not in sys.modules:
        found = importlib.util.find_spec("heteroselect")
        assert found is not None
        package = ModuleType("heteroselect")
        package.__path__ = list(found.submodule_search_locations or [])
        sys.modules["heteroselect"] = package
    from heteroselect import models

    torch.manual_seed(SEED)
    return models.build(job.model, shape, 10)


def sgd(model: nn.Module, data: Data, job: Job, client: int, rng: np.random.Generator) -> None:
    """A client's local training, for frameworks that leave it to the user."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=job.rate)
    for x, y in data.batches(client, job.steps, rng):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


class Report:
    """When each round ended, and at last how good the model is; written where the parent process looks."""

    def __init__(self, settings: str) -> None:
        self.settings, self.ends = settings, [0.0][:0]

    def round_ended(self) -> None:
        self.ends.append(time.time())

    def write(self, accuracy: Callable[[], float]) -> None:
        done: dict[str, Any] = {"settings": self.settings, "ends": self.ends, "finished": time.time()}
        text = json.dumps(done | {"accuracy": accuracy()})
        (current()[1] / "report.json").write_text(text, encoding="utf-8")
