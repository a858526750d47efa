"""FedAvg on Flower's simulation runtime (Ray): its own FedAvg strategy, clients in Ray actors of one core each."""

import os
from functools import cache

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch import nn

from peers.common import CLIENTS, SEED, SELECTED, Data, Report, current, network, sgd

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

client_app = ClientApp()
server_app = ServerApp()


@cache
def at_hand() -> tuple[nn.Module, Data]:
    """Once a process: an actor serves one client after the other."""
    job, folder = current()
    torch.set_num_threads(1)
    data = Data.load(folder)
    return network(job, tuple(data.x.shape[1:])), data


@client_app.train()
def train(message: Message, context: Context) -> Message:
    model, data = at_hand()
    client = int(context.node_config["partition-id"])
    round_number = int(message.content["config"]["server-round"])
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    sgd(model, data, current()[0], client, np.random.default_rng([SEED, round_number, client]))
    content = {
        "arrays": ArrayRecord(model.state_dict()),
        "metrics": MetricRecord({"num-examples": len(data.client(client)[1])}),
    }
    return Message(content=RecordDict(content), reply_to=message)


@server_app.main()
def main(grid: Grid, context: Context) -> None:  # noqa: ARG001
    model, data = at_hand()
    job = current()[0]
    report = Report(f"run_simulation on Ray, {CORES} actors of 1 CPU, 1 torch thread each, telemetry off")

    def ended(round_number: int, arrays: ArrayRecord) -> None:  # noqa: ARG001
        if round_number:  # 0 is before the first
            report.round_ended()

    strategy = FedAvg(
        fraction_train=SELECTED / CLIENTS,
        fraction_evaluate=0.0,
        min_train_nodes=SELECTED,
        min_available_nodes=CLIENTS,
    )
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(model.state_dict()),
        num_rounds=job.rounds,
        train_config=ConfigRecord(),
        evaluate_fn=ended,
    )
    model.load_state_dict(result.arrays.to_torch_state_dict())
    report.write(lambda: data.accuracy(model))


if __name__ == "__main__":
    # by name, so that actors import this module and keep what `at_hand` found
    from peers import flower_job

    run_simulation(
        server_app=flower_job.server_app,
        client_app=flower_job.client_app,
        num_supernodes=CLIENTS,
        backend_config={
            "init_args": {"num_cpus": CORES, "include_dashboard": False},
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
