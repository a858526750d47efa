"""Two half-moons, seen by clients that each know mostly one of them: a Flower app with a model and data of its own.

flwr run examples/flower --stream --federation-config num-supernodes=8
"""

from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from torch import nn

from heteroselect.flower import HeteroSelectStrategy, answer

server = ServerApp()
client = ClientApp()


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))


def moons(seed: int, share: float, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Points of two half-moons, of which `share` are on the upper one."""
    rng = np.random.default_rng(seed)
    y = (rng.random(count) > share).astype(np.int64)
    angle, noise = np.pi * rng.random(count), 0.1 * rng.normal(size=(count, 2))
    upper = np.stack([np.cos(angle), np.sin(angle)], 1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
    return (np.where(y[:, None] == 0, upper, lower) + noise).astype(np.float32), y


@client.train()
@client.query()
def reply(message: Message, context: Context) -> Message:
    """All that a client does: hand over its model and its data."""
    number = int(context.node_config["partition-id"])
    memory = Path(str(context.run_config["memory"])) if context.run_config["memory"] else None
    return answer(message, context, model=network, data=moons(number, 0.9 if number % 2 else 0.1), memory=memory)


@server.main()
def main(grid: Grid, context: Context) -> None:
    run, (x, y) = context.run_config, moons(1000, 0.5, 1000)

    def evaluate(_: int, arrays: ArrayRecord) -> MetricRecord:
        model = network()
        model.load_state_dict(arrays.to_torch_state_dict())
        with torch.no_grad():
            found = model(torch.from_numpy(x)).argmax(1).numpy()
        return MetricRecord({"accuracy": float((found == y).mean())})

    strategy = HeteroSelectStrategy(
        network,
        method="heteroselect",
        clients=int(run["clients"]),
        selected=int(run["selected"]),
        rounds=int(run["rounds"]),
        settings={"method.lr.start": 0.3, "method.solver.steps": 40, "method.allocate.average": 0.5},
    )
    result = strategy.start(
        grid, ArrayRecord(network().state_dict()), num_rounds=int(run["rounds"]), evaluate_fn=evaluate
    )
    last = result.evaluate_metrics_serverapp[int(run["rounds"])]
    print(f"accuracy {last['accuracy']:.3f}, sent {sum(one.bytes.up for one in strategy.records)} bytes")
