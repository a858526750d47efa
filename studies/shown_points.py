"""Which point of the server is worth showing? After single rounds of a run with look-ahead momentum, whose states were
kept, evaluates the point z from which clients start, the model w behind it, and the average of the last w, on the
examples that the run is evaluated on. Adds the rows to studies/shown_points.json, and the table to docs/beyond.md.

    python studies/shown_points.py runs/here FOLDER     # in which server-000016.safetensors is a state after round 16
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.numpy import load_file

from heteroselect.core.flat import Weights
from heteroselect.engines.simulate.pool import Pool
from heteroselect.runs.experiment import prepare
from heteroselect.runs.loop import evaluator
from heteroselect.settings.config import load

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- shown points: made by studies/shown_points.py -->", "<!-- end of shown points -->"
POINTS = ("z", "w", "average")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("states", type=Path)
    arguments = parser.parse_args()
    file, page = ROOT / "studies" / "shown_points.json", ROOT / "docs" / "beyond.md"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[arguments.run.parent.name] = measured(arguments.run, arguments.states)
    file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{before}{START}\n{table(known)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(table(known))


def measured(run: Path, states: Path) -> list[dict[str, Any]]:
    """Of each state the round and the accuracies of its three points."""
    experiment = prepare(load(run / "config.toml"))
    ahead = experiment.method.server_optimizer.rate * experiment.method.server_optimizer.momentum  # type: ignore[attr-defined]  # of look-ahead
    rows = []
    with Pool(experiment.module, threads=2) as pool:
        metric = evaluator(experiment, pool)
        for path in sorted(states.glob("server-*.safetensors")):
            found = points(load_file(path), ahead)
            accuracies = {name: metric.evaluate(Weights(torch.from_numpy(one), {})) for name, one in found.items()}
            rows.append({"round": int(path.stem.partition("-")[2]), **accuracies})
    return rows


def points(state: dict[str, Any], ahead: float) -> dict[str, Any]:
    """z as it is sent out, w = z − λM, and the average that is kept."""
    momentum = state["state.server.momentum"]
    behind = state["weights"] - momentum.dtype.type(ahead) * momentum
    return dict(zip(POINTS, (state["weights"], behind, state["state.average.mean"]), strict=True))


def table(known: dict[str, list[dict[str, Any]]]) -> str:
    """Of each run the mean accuracy of each point over the rounds whose states were kept."""
    lines = ["| run | after rounds | z | w | average |", "|---|---|---:|---:|---:|"]
    for name, rows in known.items():
        means = [f"{100 * sum(row[point] for row in rows) / len(rows):.1f}" for point in POINTS]
        lines.append(f"| {name} | {', '.join(str(row['round']) for row in rows)} | {' | '.join(means)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
