"""FedAvg on this package, through its public `run`."""

import json

import heteroselect
from peers.common import BATCH, CLIENTS, SEED, SELECTED, Job, Report, current

# FedAvg in full, as the peers have it: plain SGD at a constant rate, everybody counts the same.
FEDAVG = {
    "method.name": "fedavg",
    "method.solver.momentum": 0.0,
    "method.solver.clip": 0.0,
    "method.lr.decay": 0.0,
    "method.weigh.kind": "uniform",
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
        "method.solver.steps": job.steps,
        "method.solver.batch": BATCH,
        "method.lr.start": job.rate,
    }


def main() -> None:
    job, folder = current()
    data = json.loads((folder / "data.json").read_text(encoding="utf-8"))["source"]
    report = Report("as it is: a thread a core, one intra-op thread each")
    result = heteroselect.run({}, settings=settings(job, data), watch=lambda _: report.round_ended())
    report.write(lambda: float(result.final_accuracy))


if __name__ == "__main__":
    main()
