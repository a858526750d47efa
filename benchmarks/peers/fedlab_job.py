"""FedAvg on FedLab: its standalone pipeline, one client after the other in one process."""

import random
import sys
from collections.abc import Iterator
from unittest.mock import MagicMock

import numpy as np
import torch
from torch import Tensor

from peers.common import BATCH, CLIENTS, SEED, SELECTED, Data, Report, current, network


def allow_without_torchvision() -> str:
    """FedLab imports torchvision for the data sets it knows by name, which this job does not use; a torchvision
    built for another torch (as that of PyPI is beside a CPU build) cannot even be imported."""
    try:
        import torchvision  # noqa: F401

        return ""
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules["torchvision"] = MagicMock()
        return ", an empty stand-in for torchvision, which cannot be imported here"


def main() -> None:
    about_torchvision = allow_without_torchvision()
    from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
    from fedlab.contrib.algorithm.basic_server import SyncServerHandler
    from fedlab.contrib.dataset.basic_dataset import FedDataset
    from fedlab.core.standalone import StandalonePipeline

    job, folder = current()
    data = Data.load(folder)
    random.seed(SEED)  # it samples clients with it
    rng = np.random.default_rng(SEED)
    report = Report(
        f"SGDSerialClientTrainer in one process, {torch.get_num_threads()} torch threads{about_torchvision}"
    )

    class Clients(FedDataset):  # type: ignore[misc]
        def get_dataloader(self, id: int, batch_size: int, type: str = "train") -> Iterator[tuple[Tensor, Tensor]]:
            return data.batches(id, job.steps, rng)

    class Pipeline(StandalonePipeline):  # type: ignore[misc]
        def evaluate(self) -> None:
            """Called after each round; nothing is evaluated in the timed part."""
            report.round_ended()

    model = network(job, tuple(data.x.shape[1:]))
    handler = SyncServerHandler(model, job.rounds, SELECTED / CLIENTS)
    trainer = SGDSerialClientTrainer(model, CLIENTS)
    trainer.setup_dataset(Clients())
    trainer.setup_optim(epochs=1, batch_size=BATCH, lr=job.rate)
    Pipeline(handler, trainer).main()
    report.write(lambda: data.accuracy(handler.model))


if __name__ == "__main__":
    main()
