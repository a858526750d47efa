"""Writes docs/results.md, and the table of README.md between its two markers, from the files that the studies left:
studies/results.json, studies/theory.json and studies/figures.json. Run it with `make results`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from heteroselect.runs.grid import shown

ROOT = Path(__file__).resolve().parents[1]
START, END = "<!-- results: made by `make results` -->", "<!-- end of results -->"
CLOCKS = {"paper": "the paper's clock", "uplink": "real payloads", "everything": "everything"}

Row = Mapping[str, Any]


def main() -> None:
    found = {name: read(ROOT / "studies" / f"{name}.json") for name in ("results", "theory", "figures")}
    (ROOT / "docs" / "results.md").write_text(page(**found))
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(), found["results"]))


def read(path: Path) -> dict[str, Any]:
    """The content of a file of results; nothing where a study has not been run yet."""
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def with_table(readme: str, results: Row) -> str:
    """The README with its table made again."""
    before, _, rest = readme.partition(START)
    return f"{before}{START}\n{first_table(results)}{END}{rest.partition(END)[2]}"


def rows_of(results: Row, study: str) -> dict[str, list[Row]]:
    """The runs of a study by the name of their row, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for run in results.get("runs", []):
        if run["study"] == study:
            found.setdefault(run["row"], []).append(run)
    return found


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    parts = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in parts)


def over(runs: Sequence[Row], key: str, unit: str = "") -> str:
    """Mean ± standard deviation of one figure over the seeds."""
    return shown([run[key] for run in runs], unit)


def seconds(runs: Sequence[Row], clock: str) -> str:
    """The same of the seconds to the target by another clock; † where the method would have decided otherwise by it."""
    if not all(clock in run["seconds_to_target_by_clock"] for run in runs):
        return "—"
    text = shown([run["seconds_to_target_by_clock"][clock] for run in runs], "")
    return text + ("†" if clock != "paper" and runs[0]["decides_by_clock"] and text != "not reached" else "")


def label(name: str, runs: Sequence[Row]) -> str:
    return name + ("*" if runs[0]["reconstruction"] else "")


def first_table(results: Row) -> str:
    """The README's table: the paper's rows beside ours, CIFAR-10 first."""
    text = ""
    for study, title, target in (("table1", "CIFAR-10", "70 %"), ("table1-mnist", "MNIST", "90 %")):
        found = rows_of(results, study)
        if not found:
            continue
        heads = [title, "seeds", f"rounds to {target}", "simulated s", "s, all charged", "MB, values", "MB, real", "peak"]
        lines = []
        for name, runs in found.items():
            for one in runs[0]["paper"]:
                lines.append([f"the paper, {one['source']}", *paper_cells(one)])
            cells = [str(len(runs)), over(runs, "rounds_to_target"), seconds(runs, "paper"), seconds(runs, "everything")]
            cells += [over(runs, "megabytes_to_target"), over(runs, "wire_megabytes_to_target")]
            lines.append([f"`{label(name, runs)}`", *cells, over(runs, "peak_accuracy", "%")])
        text += table(heads, lines) + "\n"
    return text.rstrip("\n") + "\n"


def paper_cells(one: Row) -> list[str]:
    """A row of the paper in the columns of the README's table."""
    numbers = [one.get(key) for key in ("rounds_to_target", "seconds_to_target", "megabytes_to_target")]
    rounds, time, sent = ("" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in numbers)
    peak = f"{100 * one['peak_accuracy']:.2f}" if "peak_accuracy" in one else ""
    return ["", rounds, time, "", sent, "", peak]


def page(results: Row, theory: Row, figures: Row) -> str:
    """The whole of docs/results.md."""
    parts = [INTRO, in_a_minute(results, figures), cifar(results), study(results, "table1-mnist", TABLE1_MNIST)]
    parts += [clocks(results), study(results, "table2", TABLE2), study(results, "mu", MU), study(results, "psi", PSI)]
    parts += [study(results, "stress", STRESS), mechanism(figures), theory_part(theory), CLAIMS, not_run(results)]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


def study(results: Row, name: str, text: str) -> str:
    """One study: what it asks, its table, and its claims."""
    found = rows_of(results, name)
    if not found:
        return ""
    heads = ["", "accuracy, last five, %", "peak, %", "rounds to target", "s", "MB, values", "MB, real", "beside the paper"]
    lines = []
    for row, runs in found.items():
        cells = [over(runs, "last_accuracy", "%"), over(runs, "peak_accuracy", "%"), over(runs, "rounds_to_target")]
        cells += [over(runs, key) for key in ("seconds_to_target", "megabytes_to_target", "wire_megabytes_to_target")]
        lines.append([label(row, runs), *cells, runs[0]["verdict"] or ""])
    first = next(iter(found.values()))
    seeds = sorted({run["seed"] for runs in found.values() for run in runs})
    wall = sum(run["wall_seconds"] for runs in found.values() for run in runs) / 60
    made = f"`{first[0]['command']}`: {sum(map(len, found.values()))} runs, seeds {seeds[0]} to {seeds[-1]}, {wall:.0f} minutes."
    why = [f"{label(row, runs)}: {runs[0]['why']}" for row, runs in found.items() if runs[0]["why"]]
    return "\n".join([text.strip("\n"), "", table(heads, lines), made, *why, "", claims(results, name)])


def claims(results: Row, study: str) -> str:
    """The claims of a study, with what the runs say of them."""
    heads = ["claim", "difference (95 %)", "seeds", "verdict"]
    lines = []
    for one in results.get("claims", []):
        if one["study"] != study:
            continue
        scale, unit = (100, " points") if "accuracy" in one["figure"] else (1, UNITS[one["figure"]])
        half = "" if one["half_width"] is None else f" ± {scale * one['half_width']:.2f}"
        lines.append([one["text"], f"{scale * one['difference']:+.2f}{half}{unit}", str(one["seeds"]), f"**{one['verdict']}**"])
    return table(heads, lines) if lines else ""


UNITS = {
    "rounds_to_target": " rounds",
    "seconds_to_target": " s",
    "megabytes_to_target": " MB",
    "wire_megabytes_to_target": " MB",
}


def clocks(results: Row) -> str:
    """The same runs by three clocks, and everything that was sent until the target."""
    found = rows_of(results, "table1-mnist")
    if not found:
        return ""
    heads = ["", *(f"s, {name}" for name in CLOCKS.values()), "MB up", "MB down", "MB scoring"]
    sent = ("wire_megabytes_to_target", "down_megabytes_to_target", "scoring_megabytes_to_target")
    lines = [
        [label(row, runs), *(seconds(runs, clock) for clock in CLOCKS), *(over(runs, key) for key in sent)]
        for row, runs in found.items()
    ]
    return f"{CLOCKS_TEXT}\n\n{table(heads, lines)}"


def in_a_minute(results: Row, figures: Row) -> str:
    """Three questions and their answers."""
    verdicts = {(one["study"], one["text"]): one for one in results.get("claims", [])}
    lines = ["## In one minute", ""]
    headline = rows_of(results, "table1").get("heteroselect-as-run")
    if headline:
        lines += [f"- **Does the headline hold?** CIFAR-10, the authors' settings: {headline[0]['verdict']}. {headline[0]['why']}"]
    else:
        lines += ["- **Does the headline hold?** The CIFAR-10 runs have not come to their end; see what was not run, below."]
    earned = [one for (study, _), one in verdicts.items() if study in ("table1-mnist", "psi") and "control" in one["than"]]
    if earned:
        count = {word: sum(one["verdict"] == word for one in earned) for word in ("holds", "not told apart", "refuted")}
        lines += [
            f"- **What does the score earn?** Against the same method without the score (uniform draw, equal densities, equal "
            f"weights), over {len(earned)} comparisons on MNIST with five seeds each: better in {count['holds']}, worse in "
            f"{count['refuted']}, not told apart in {count['not told apart']}."
        ]
    runs = rows_of(results, "table1-mnist").get("heteroselect")
    fedavg = rows_of(results, "table1-mnist").get("fedavg")
    if runs and fedavg:
        lines += [
            f"- **What does honest accounting change?** To the target on MNIST HeteRo-Select takes {seconds(runs, 'paper')} s by the "
            f"paper's clock and {seconds(runs, 'everything')} s where everything is charged (FedAvg: "
            f"{seconds(fedavg, 'paper')} and {seconds(fedavg, 'everything')}); it sends {over(runs, 'wire_megabytes_to_target')} "
            f"MB up, and its scoring sends {over(runs, 'scoring_megabytes_to_target')} MB down."
        ]
    return "\n".join(lines)


def cifar(results: Row) -> str:
    return study(results, "table1", TABLE1)


def mechanism(figures: Row) -> str:
    """The study of scores, fairness and bytes: figures made from the runs above."""
    return MECHANISM if figures else ""


def theory_part(theory: Row) -> str:
    return THEORY if theory else ""


def not_run(results: Row) -> str:
    there = rows_of(results, "table1")
    missing = [name for name in CIFAR_ROWS if name not in there]
    lines = ["## What was not run, and what it would cost", ""]
    if missing:
        lines += [
            f"- CIFAR-10 ({', '.join(missing)}): up to 100 rounds each, about a minute per round on two cores with scoring and "
            "three quarters of a minute without. `heteroselect study studies/table1.toml` runs or continues them."
        ]
    return "\n".join([*lines, NOT_RUN.strip("\n")])
