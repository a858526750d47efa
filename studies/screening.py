"""What was tried for heteroselect2 on CIFAR-10, on examples set aside for validation: one run per idea of
studies/screening.toml, stopped where it had clearly lost.

    python studies/screening.py --play NAME   plays or goes on with one of them, into runs/screening
    python studies/screening.py               collects what is there: studies/screening.json, table in docs/beyond.md

A run takes about half an hour of two cores. Needs CIFAR-10 (`heteroselect data cifar10`).
"""

import argparse
import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

import heteroselect

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- screening: made by studies/screening.py -->", "<!-- end of screening -->"
MARKS = (44, 88, 131, 165, 200, 250, 300, 350, 400, 450)


def main() -> None:
    """Play one row, or collect all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--play", metavar="NAME")
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "screening")
    chosen = parser.parse_args()
    rows = tomllib.loads((ROOT / "studies" / "screening.toml").read_text())
    if chosen.play:
        play(chosen.runs / chosen.play, {**rows["settings"], **rows["row"][chosen.play].get("settings", {})})
        return
    kept = ROOT / "studies" / "screening.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name in rows["row"]:
        log = chosen.runs / name / "rounds.jsonl"
        if log.exists():
            found[name] = figures([json.loads(line) for line in log.read_text().splitlines()])
            found[name]["length"] = length(log.parent)
    kept.write_text(json.dumps(found, indent=1) + "\n")
    page = ROOT / "docs" / "beyond.md"
    before, _, rest = page.read_text().partition(START)
    page.write_text(f"{before}{START}\n{table(rows['row'], found)}\n{END}{rest.partition(END)[2]}")


def play(folder: Path, settings: dict[str, Any]) -> None:
    """Begin a run, or go on with it."""
    if folder.exists():
        heteroselect.resume(folder)
    else:
        heteroselect.run("cifar10-lean", seed=42, settings=settings, out=folder)


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


def table(rows: dict[str, Any], found: dict[str, Any]) -> str:
    """The rows as Markdown."""
    shown = [mark for mark in map(str, MARKS) if any(mark in run["at"] for run in found.values())]
    lines = [
        "| tried | " + " | ".join(f"{mark} s" for mark in shown) + " | where it ended | ‖w‖ |",
        "|---|" + "---:|" * len(shown) + "---|---:|",
    ]
    for name, row in rows.items():
        if name in found:
            run = found[name]
            cells = [f"{100 * run['at'][mark]:.1f}" if mark in run["at"] else "" for mark in shown]
            end = f"{100 * run['accuracy']:.1f} % at {run['seconds']:.0f} s, {run['megabytes']:.0f} MB"
            lines.append(f"| {row['what']} | {' | '.join(cells)} | {end} | {run['length']:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
