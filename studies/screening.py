"""Writes what was tried for heteroselect2 on CIFAR-10, with its accuracy at equal seconds: studies/screening.json, and
the table of docs/search.md, from the runs of studies/screening.toml and screening2.toml that are there, finished or
not.

    heteroselect study studies/screening.toml --only "A, the base"
    python studies/screening.py
"""

import argparse
import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- screening: made by studies/screening.py -->", "<!-- end of screening -->"
MARKS = (44, 88, 131, 165, 200, 250, 300, 350, 400, 450)


def main() -> None:
    """Collect the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "screening")
    runs = parser.parse_args().runs
    files = [ROOT / "studies" / f"{name}.toml" for name in ("screening", "screening2")]
    rows = [row for file in files for row in tomllib.loads(file.read_text())["row"]]
    kept = ROOT / "studies" / "screening.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name in [row["name"] for row in rows]:
        log = runs / name / "seed-42" / "rounds.jsonl"
        rounds = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        if any(line["accuracy"] is not None for line in rounds):
            found[name] = figures(rounds)
            found[name]["length"] = length(log.parent)
    kept.write_text(json.dumps(found, indent=1) + "\n")
    page = ROOT / "docs" / "search.md"
    before, _, rest = page.read_text().partition(START)
    page.write_text(f"{before}{START}\n{table(found)}\n{END}{rest.partition(END)[2]}")


def figures(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """The accuracy at each mark, between the evaluations around it, and where the run ended."""
    megabytes, points = 0.0, []
    for line in rounds:
        megabytes += line["bytes_up"] / 1e6
        if line["accuracy"] is not None:
            points.append((line["cumulative_seconds"], line["accuracy"], megabytes))
    at = {}
    for mark in MARKS:
        for (t, a, _), (u, b, _) in pairwise(points):
            if t <= mark < u:
                at[str(mark)] = round(a + (b - a) * (mark - t) / (u - t), 4)
    seconds, accuracy, sent = points[-1]
    return {"at": at, "rounds": len(rounds), "seconds": seconds, "megabytes": sent, "accuracy": accuracy}


def length(folder: Path) -> float:
    """‖w‖ of the last model that was saved."""
    saved = sorted((folder / "checkpoint").glob("server-*.safetensors"))
    arrays = {"weights": load_file(saved[-1])["weights"]} if saved else load_file(folder / "model.safetensors")
    return float(np.sqrt(sum(np.square(array, dtype=np.float64).sum() for array in arrays.values())))


def table(found: dict[str, Any]) -> str:
    """The rows as Markdown."""
    shown = [mark for mark in map(str, MARKS) if any(mark in run["at"] for run in found.values())]
    lines = [
        "| tried | " + " | ".join(f"{mark} s" for mark in shown) + " | where it ended | ‖w‖ |",
        "|---|" + "---:|" * len(shown) + "---|---:|",
    ]
    for name, run in found.items():
        cells = [f"{100 * run['at'][mark]:.1f}" if mark in run["at"] else "" for mark in shown]
        end = f"{100 * run['accuracy']:.1f} % at {run['seconds']:.0f} s, {run['megabytes']:.0f} MB"
        lines.append(f"| {name} | {' | '.join(cells)} | {end} | {run['length']:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
