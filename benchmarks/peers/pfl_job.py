"""FedAvg on Apple's pfl: its simulated backend; started by torchrun, its processes share the cohort."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.pytorch import PyTorchTensorDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam.base import NNTrainHyperParams
from pfl.metrics import Metrics
from pfl.model.pytorch import PyTorchModel
from torch import Tensor, nn

from peers.common import BATCH, CLIENTS, SEED, SELECTED, Data, Report, current, network


class Client(PyTorchTensorDataset):  # type: ignore[misc]
    def __init__(self, number: int, data: Data, steps: int, rng: np.random.Generator) -> None:
        super().__init__(data.client(number), user_id=str(number))
        self.batches = lambda: data.batches(number, steps, rng)

    def iter(self, batch_size: int | None) -> Iterator[tuple[Tensor, Tensor]]:
        """pfl's own would end after one epoch, and never shuffle."""
        return self.batches()


class Network(nn.Module):
    """What pfl wants of a module: a loss and metrics. Nothing is evaluated in the timed part."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        self.inner.train()
        return nn.functional.cross_entropy(self.inner(x), y)

    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        return {}


def main() -> None:
    job, folder = current()
    processes, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    data, model = Data.load(folder), None
    np.random.seed(SEED)  # pfl samples clients with it, the same ones in each process
    rng = np.random.default_rng([SEED, rank])
    clients = [Client(number, data, job.steps, rng) for number in range(CLIENTS)]
    backend = SimulatedBackend(
        training_data=FederatedDataset(clients.__getitem__, get_user_sampler("minimize_reuse", list(range(CLIENTS)))),
        val_data=FederatedDataset(clients.__getitem__, get_user_sampler("minimize_reuse", list(range(CLIENTS)))),
    )
    inner = network(job, tuple(data.x.shape[1:]))
    module = Network(inner)
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    threads = torch.get_num_threads()
    report = Report(f"SimulatedBackend, {processes} process{'es' * (processes > 1)}, torch threads: {threads} each")

    class Clock(TrainingProcessCallback):  # type: ignore[misc]
        def after_central_iteration(self, *_: Any, **__: Any) -> tuple[bool, Metrics]:
            report.round_ended()
            return False, Metrics()

    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=job.rounds,
            evaluation_frequency=job.rounds + 1,
            train_cohort_size=SELECTED,
            val_cohort_size=None,
        ),
        backend,
        model,
        NNTrainHyperParams(
            local_batch_size=BATCH, local_num_epochs=None, local_learning_rate=job.rate, local_num_steps=job.steps
        ),
        callbacks=[Clock()],
        send_metrics_to_platform=False,
    )
    if rank == 0:
        report.write(lambda: data.accuracy(inner))


if __name__ == "__main__":
    main()
