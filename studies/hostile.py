"""Writes what hostile clients did to each way of aggregating, from the runs of studies/hostile.toml and lies.toml:
studies/hostile.json, docs/results/hostile.svg, and the tables of docs/reliability.md between their two markers.
`make hostile` plays the runs and calls it; without the runs it makes the tables and the figure again from the JSON.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from heteroselect.comparison.over_seeds import FINAL, spread, tail
from heteroselect.comparison.study import Study, read
from heteroselect.runs.folder import finished, read_rounds, read_summary

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- hostile: made by `make hostile` -->", "<!-- end of hostile -->"
KINDS = {
    "flip": "flip, ×10",
    "hidden": "hidden below the screen",
    "gaussian": "Gaussian, ×10",
    "labels": "labels turned",
}


def gathered(study: Study, runs: Path) -> list[dict[str, Any]]:
    """Each run of a study: its row and the values of its axes, its seed, and the mean of its last evaluations."""
    found = []
    for row in study.row:
        for seed in study.seeds:
            for folder in sorted(runs.glob(f"{row.label}, */seed-{seed}")):
                if not finished(folder):
                    raise SystemExit(f"{folder} is not at its end yet")
                first, second = folder.parent.name.removeprefix(f"{row.label}, ").split(", ")
                summary = read_summary(folder)
                found.append(
                    {
                        "row": row.label,
                        "axes": [first, float(second)],
                        "seed": seed,
                        "accuracy": tail(read_rounds(folder)),
                        "model_sha256": summary["model_sha256"],
                    }
                )
    return found


def over(runs: Sequence[Mapping[str, Any]], row: str, first: str, share: float) -> list[float]:
    """The accuracies of the seeds."""
    return [run["accuracy"] for run in runs if run["row"] == row and run["axes"] == [first, share]]


def rows_of(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(run["row"] for run in runs))


def shares_of(runs: Sequence[Mapping[str, Any]]) -> list[float]:
    return sorted({run["axes"][1] for run in runs})


def table(runs: Sequence[Mapping[str, Any]], heads: Mapping[str, str], first: str) -> str:
    """Accuracies by row and share, one block of lines for each value of the first axis."""
    shares = shares_of(runs)
    lines = [f"| {first} | | " + " | ".join(f"{share:.0%} hostile" for share in shares) + " |"]
    lines.append("|---|---|" + "---:|" * len(shares))
    for value, name in heads.items():
        for row in rows_of(runs):
            cells = [spread(over(runs, row, value, share), "%") for share in shares]
            lines.append(f"| {name} | {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def figure(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Accuracy against the share of hostile clients, a panel for each attack."""
    drawn = Figure(figsize=(9.2, 2.9), layout="constrained")
    shares, marks = shares_of(runs), "osD^v"
    for panel, (kind, name) in zip(drawn.subplots(1, len(KINDS), sharey=True), KINDS.items(), strict=True):
        for mark, row in zip(marks, rows_of(runs), strict=True):
            seeds = [[100 * one for one in over(runs, row, kind, share)] for share in shares]
            means = [sum(values) / len(values) for values in seeds]
            (line,) = panel.plot([100 * share for share in shares], means, marker=mark, markersize=4, label=row)
            low, high = [min(values) for values in seeds], [max(values) for values in seeds]
            panel.fill_between([100 * share for share in shares], low, high, color=line.get_color(), alpha=0.15, lw=0)
        panel.set(title=name, xlabel="hostile clients, %", xticks=[100 * share for share in shares], ylim=(0, 100))
    drawn.axes[0].set_ylabel("accuracy, %")
    handles, labels = drawn.axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return drawn


def section(found: Mapping[str, Any]) -> str:
    """The tables as Markdown."""
    hostile, lies, rounds = found["hostile"], found["lies"], found["rounds"]
    seeds = ", ".join(str(seed) for seed in sorted({run["seed"] for run in hostile}))
    return f"""![accuracy against the share of hostile clients, a panel for each attack](results/hostile.svg)

MNIST, FedAvg with whole updates, ten of 100 clients in each of {rounds} rounds; accuracy in % is {FINAL};
mean ± standard deviation over the seeds {seeds} (`make hostile`, {len(hostile)} runs).

{table(hostile, KINDS, "attack")}
Lies: hostile clients claim losses and lengths a thousand times too large, and send what they should
({len(lies)} runs).

{table(lies, {"0.0": "not bounded", "10.0": "at most 10 medians"}, "claims")}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="the folder in which the runs of both studies are")
    runs, kept = parser.parse_args().runs, ROOT / "studies" / "hostile.json"
    if runs is not None:
        studies = {name: read(ROOT / "studies" / f"{name}.toml") for name in ("hostile", "lies")}
        found: dict[str, Any] = {"rounds": studies["hostile"].settings["rounds"]}
        found |= {name: gathered(study, runs / name) for name, study in studies.items()}
        kept.write_text(_compact(found), encoding="utf-8")
    found = json.loads(kept.read_text(encoding="utf-8"))
    with mpl.rc_context({"svg.hashsalt": "heteroselect", "svg.fonttype": "none", "font.size": 8}):
        figure(found["hostile"]).savefig(ROOT / "docs" / "results" / "hostile.svg", metadata={"Date": None})
    page = ROOT / "docs" / "reliability.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(START)
    page.write_text(f"{before}{START}\n{section(found)}{END}{rest.partition(END)[2]}", encoding="utf-8")


def _compact(found: Mapping[str, Any]) -> str:
    """JSON with one run on a line."""
    parts = [f' "rounds": {found["rounds"]}']
    for name in ("hostile", "lies"):
        lines = ",\n".join(f"  {json.dumps(run)}" for run in found[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
