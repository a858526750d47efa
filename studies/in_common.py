"""How much of what clients learn in H steps do they have in common? Trains some clients of a run from its last saved
model, longer and longer, and prints ‖x‖², which a coder's error is proportional to, beside ⟨x_i, x_j⟩ of two different
clients, which is what their mean keeps of it. Adds the rows to studies/in_common.json, and the table to docs/search.md.

    heteroselect run cifar10-lean --out runs/here     # to its end, or stopped at any round
    python studies/in_common.py runs/here
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor

from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Order
from heteroselect.core.moment import Moment
from heteroselect.parts.train import Job
from heteroselect.round.client import Worker
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.folder import read_rounds
from heteroselect.settings.config import load

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- in common: made by studies/in_common.py -->", "<!-- end of in common -->"
LENGTHS = (1, 2, 4)
"""In rounds of the run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parser.parse_args()
    file, page = ROOT / "studies" / "in_common.json", ROOT / "docs" / "search.md"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    found = measured(arguments.folder, arguments.clients)
    rows = together(known, found)
    file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{before}{START}\n{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(table(rows))


def together(known: list[dict[str, Any]], found: dict[str, Any]) -> list[dict[str, Any]]:
    """What is known, with the new measurement in the place of an older one of the same round and seed.

    >>> [(one["round"], one["seed"]) for one in together([{"round": 9, "seed": 1}], {"round": 4, "seed": 1})]
    [(4, 1), (9, 1)]
    >>> together([{"round": 9, "seed": 1, "rate": 0.1}], {"round": 9, "seed": 1, "rate": 0.2})
    [{'round': 9, 'seed': 1, 'rate': 0.2}]
    """

    def place(one: dict[str, Any]) -> tuple[int, int]:
        return int(one["round"]), int(one["seed"])

    return sorted([one for one in known if place(one) != place(found)] + [found], key=place)


def measured(folder: Path, count: int) -> dict[str, Any]:
    """Of so many clients, spread over their numbers, from the model after the last round of the run."""
    torch.set_num_threads(1)
    experiment, t, model = at_its_end(folder)
    start, method = model.vector.clone(), experiment.method
    moment = Moment(t + 1, experiment.config.rounds, read_rounds(folder)[t - 1]["cumulative_seconds"])
    rate, clients = method.lr.eta(moment), experiment.clients()
    learnt: dict[int, list[NDArray[np.float64]]] = {length: [] for length in LENGTHS}
    for k in np.linspace(0, len(clients) - 1, count).astype(int):
        model.vector.copy_(start)
        worker = Worker(clients[k], model, experiment.task, method)
        batches = worker.batches(Order(int(k), t + 1, rate, 1.0, 1.0, 1))
        for before, length in zip((0, *LENGTHS), LENGTHS, strict=False):
            steps = (length - before) * method.solver.steps
            method.solver.run(model, Job(experiment.task.loss, batches, [rate], steps))
            learnt[length].append((model.vector - start).numpy().astype(np.float64))
    lines = [{"steps": length * method.solver.steps, **shares(np.stack(updates))} for length, updates in learnt.items()]
    return {"round": t, "rate": rate, "clients": count, "seed": experiment.config.seed, "lengths": lines}


def at_its_end(folder: Path) -> tuple[Experiment, int, FlatModel]:
    """The experiment, its last round that is saved, and the model there: what it shows where the run has ended."""
    experiment = prepare(load(folder / "config.toml"))
    model = FlatModel(experiment.module)
    saved = Checkpoints(folder).rounds()
    if saved:
        model.vector.copy_(torch.from_numpy(Checkpoints(folder).load(saved[0]).server["weights"]))
        return experiment, saved[0], model
    tensors: dict[str, Tensor] = load_file(folder / "model.safetensors")
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            parameter.copy_(tensors[name])
    return experiment, len(read_rounds(folder)), model


def shares(updates: NDArray[np.float64]) -> dict[str, float]:
    """The mean of ‖x_i‖² and that of ⟨x_i, x_j⟩, i ≠ j.

    >>> shares(np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]]))
    {'whole': 1.6666666666666667, 'common': 0.6666666666666666}
    """
    products, n = updates @ updates.T, len(updates)
    whole = float(np.trace(products))
    return {"whole": whole / n, "common": (float(products.sum()) - whole) / (n * (n - 1))}


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| after round | rate | steps H | ‖x‖² | in common | share |", "|---:|---:|---:|---:|---:|---:|"]
    for row in rows:
        for one in row["lengths"]:
            cells = f"{one['steps']} | {one['whole']:.3g} | {one['common']:.3g} | {one['common'] / one['whole']:.1%}"
            lines.append(f"| {row['round']} | {row['rate']:.3f} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
