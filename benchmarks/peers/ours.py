"""FedAvg on this package, through its public `run`."""

import json

import heteroselect
from peers.common import BATCH, CLIENTS, SEED, SELECTED, Job, Report, current

# What makes the method plain FedAvg: everybody equally likely, equally loud, everything sent, nothing remembered.
FEDAVG = {
    "method.score.loss_weight": 0.0,
    "method.score.diversity_weight": 0.0,
    "method.score.fairness_weight": 0.0,
    "method.score.staleness_weight": 0.0,
    "method.allocate.rule": "uniform",
    "method.allocate.ceiling": "none",
    "method.allocate.warmup_rounds": 0,
    "method.allocate.average": 1.0,
    "method.allocate.amplitude": 0.0,
    "method.allocate.minimum": 1.0,
    "method.train.momentum": 0.0,
    "method.train.proximal": 0.0,
    "method.train.clip": 0.0,
    "method.train.rate_decay": 0.0,
    "method.compress.memory": "none",
    "method.compress.curvature_layers": 0,
    "method.aggregate.weights": "uniform",
    "method.aggregate.momentum": 0.0,
}


def settings(job: Job, data: dict[str, str]) -> dict[str, object]:
    """`data` names the data set and its folder, as the parent found them."""
    return FEDAVG | {
        "clients": CLIENTS,
        "selected": SELECTED,
        "rounds": job.rounds,
        "seed": SEED,
        "evaluate_every": job.rounds,
        "data.name": data["name"],
        "data.dir": data["dir"],
        "data.partition": "iid",
        "data.augment": False,
        "model.name": job.model,
        "method.train.steps": job.steps,
        "method.train.batch": BATCH,
        "method.train.rate": job.rate,
    }


def main() -> None:
    job, folder = current()
    data = json.loads((folder / "data.json").read_text(encoding="utf-8"))["source"]
    report = Report("as it is: a thread a core, one intra-op thread each")
    result = heteroselect.run({}, settings=settings(job, data), watch=lambda _: report.round_ended())
    report.write(lambda: float(result.final_accuracy))


if __name__ == "__main__":
    main()
