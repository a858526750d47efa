"""The MNIST experiment with three seeds: the README's table and picture. Run it with `make results`.

Writes docs/results/mnist/<method>-<seed>.json (each run's summary), docs/results/mnist.svg (seed 42), and the
table of README.md between its two markers.
"""

import json
from pathlib import Path

import heteroselect
from heteroselect.report.figure import draw_run
from heteroselect.report.tables import shown

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
RUNS = [("heteroselect", 42), ("heteroselect", 43), ("heteroselect", 44), ("heteroselect-as-run", 42)]
COLUMNS = {
    "rounds_to_target": "rounds to 90 %",
    "seconds_to_target": "simulated s to 90 %",
    "megabytes_to_target": "MB to 90 %, values only",
    "wire_megabytes_to_target": "MB to 90 %, real bytes",
    "peak_accuracy": "peak",
}
START, END = "<!-- results: made by `make results` -->", "<!-- end of results -->"


def main() -> None:
    (RESULTS / "mnist").mkdir(parents=True, exist_ok=True)
    for method, seed in RUNS:
        result = heteroselect.run("mnist", method=method, seed=seed)
        path = RESULTS / "mnist" / f"{method}-{seed}.json"
        path.write_text(json.dumps(result.summary, indent=2) + "\n")
        print(f"{path.relative_to(ROOT)}: peak {result.peak_accuracy:.2%}, {result.wall_seconds:.1f} s", flush=True)
        if (method, seed) == RUNS[0]:
            draw_run(result.summary, result.rounds, result.config.paper, RESULTS / "mnist.svg")
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    after = rest.partition(END)[2]
    readme.write_text(f"{before}{START}\n{table()}{END}{after}")


def table() -> str:
    """The summaries in docs/results/mnist beside the paper's row, as Markdown."""
    preset = heteroselect.load("mnist")
    head = ["", *COLUMNS.values()]
    paper = [shown(field, getattr(preset.paper[0], field, None)) for field in COLUMNS]
    rows = [["the paper, seed 42", *(cell.replace("not reached", "not counted") for cell in paper)]]
    for method, seed in RUNS:
        summary = json.loads((RESULTS / "mnist" / f"{method}-{seed}.json").read_text())
        rows.append([f"`{method}`, seed {seed}", *(shown(field, summary[field]) for field in COLUMNS)])
    lines = [head, ["---", *["---:"] * len(COLUMNS)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
