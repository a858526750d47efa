"""Writes docs/results.md, the pages of studies in docs/results, and the two blocks of README.md between their markers,
from what the studies left: studies/results.json, theory.json and figures.json. Its sentences are in
studies/results.toml, and the first page is made by results_front.py. `make results` runs it.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tuning
from numpy.typing import NDArray

from heteroselect.comparison import study as studies
from heteroselect.comparison.claims import change, judge, verdict, visible
from heteroselect.comparison.figures import SOON
from heteroselect.comparison.inference import FEWEST
from heteroselect.comparison.over_seeds import Arrivals, horizon, number, spread
from heteroselect.comparison.table import arrivals

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
CLOCKS = {"paper": "the paper's clock", "uplink": "real payloads", "everything": "everything"}
OURS = "heteroselect2"
VARIANTS = ("heteroselect2, on another CPU", "heteroselect2, light")
"""Rows of our own method with other settings that stand beside it."""


class Pair(NamedTuple):
    """Rows of a study that share a recipe, the control directly above ours, and whose training recipe each has."""

    study: str
    title: str
    rows: Mapping[str, tuple[str, str]]
    """By its row, the name of the method and whose recipe it has."""
    claim: str
    """The claim that compares the last two."""


PAIRS = (
    Pair(
        "recipe",
        "CIFAR-10 to 70 %",
        {"FedAvg with the recipe": ("fedavg", "ours"), OURS: (OURS, "ours")},
        "coding at a fifth of a bit saves seconds, at the same recipe",
    ),
    Pair(
        "beyond-audiomnist",
        "AudioMNIST to 95 %",
        {"fedavg": ("fedavg", "paper's"), "FedAvg with the recipe": ("fedavg", "ours"), OURS: (OURS, "ours")},
        "heteroselect2 takes fewer seconds to 95 % than FedAvg with its recipe",
    ),
)
"""What the README may show: the first of which all rows have the same seeds, and at least three."""

Row = Mapping[str, Any]

PICTURES = {
    "frontier": "seconds and megabytes until 70 % on CIFAR-10, a point for each method",
    "ladder": "seconds and megabytes until 60 % on CIFAR-10, a line for each step from the paper's method to ours",
    "budgets": "seconds and megabytes until 60 % on CIFAR-10, a point for each byte budget and for other methods",
    "paper-1-resource": "accuracy on MNIST against megabytes, a curve for each method",
    "paper-2-mnist-time": "accuracy on MNIST against simulated seconds, a curve for each method",
    "paper-4-ablations": "accuracy on MNIST with each part of the method changed or left out",
    "paper-5-psi": "last accuracy against the share of a client's dominant class",
    "paper-7-stress": "accuracy on MNIST where informative clients have slow links",
    "waiting": "accuracy on MNIST against seconds and megabytes, servers that wait and servers that do not",
    "waiting-audiomnist": "accuracy on AudioMNIST against seconds and megabytes, servers that wait and that do not",
}
"""What the pictures show, for those who cannot see them."""
PAGE = "![a report: table of results, accuracy curves with seed bands](report.png)"
CROSSED = "![final accuracy, seconds and traffic for each pair of selector and compressor](cross/cross.png)"


def main() -> None:
    """Judge the claims again, and write the first page, the pages of studies and topics, and the README's blocks."""
    results = read("results")
    results["claims"] = [one for study in _names(results) for one in claims_of(results, study)]
    (ROOT / "studies" / "results.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    for name, text in pages(sentences(), results, read("theory"), read("figures")).items():
        (DOCS / name).write_text(text, encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_tables(readme.read_text(), results))


def read(name: str) -> dict[str, Any]:
    """What a study left; nothing where it has not been run yet."""
    path = ROOT / "studies" / f"{name}.json"
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content


def sentences() -> Row:
    """The sentences of the page."""
    return tomllib.loads((ROOT / "studies" / "results.toml").read_text())


def with_tables(readme: str, results: Row) -> str:
    """The README with its two blocks made again."""
    first = (ROOT / "docs" / "results" / "first" / "compare.txt").read_text(encoding="utf-8")
    return replaced(replaced(readme, "compare", f"```text\n{first}```\n"), "row", honest_row(results))


def honest_row(results: Row) -> str:
    """Our own method below the control that has its training recipe, everything charged, and the verdict on the two."""
    pair = next((pair for pair in PAIRS if _whole(results, pair)), None)
    if pair is None:
        return "The pairs of `studies/recipe.toml` and `studies/beyond-audiomnist.toml` have not finished.\n"
    found = rows_of(results, pair.study)
    heads = [pair.title, "training recipe", "s, everything charged", "MB in all", "MB up", "runs"]
    lines = [
        [
            *(f"`{name}`", recipe, seconds(found[row], "everything").rstrip("†"), everything_sent(found[row])),
            *(over(found[row], "wire_megabytes_to_target"), str(len(found[row]))),
        ]
        for row, (name, recipe) in pair.rows.items()
    ]
    (judged,) = [one for one in claims_of(results, pair.study) if one["text"] == pair.claim]
    n = _count(judged["seeds"], "seed")
    verdict = f"With the same recipe, `{OURS}` takes {change(judged)} of FedAvg ({n}, **{judged['verdict']}**)."
    late = [f"`studies/{one.study}.toml`" for one in PAIRS[: PAIRS.index(pair)]]
    missing = [f"The pair of {' and '.join(late)}, on CIFAR-10, has not finished."] if late else []
    return table(heads, lines) + "\n" + " ".join([verdict, *missing]) + "\n"


def _whole(results: Row, pair: Pair) -> bool:
    """Whether all rows have the same seeds, and enough of them for a verdict."""
    found = rows_of(results, pair.study)
    seeds = [{run["seed"] for run in found.get(row, [])} for row in pair.rows]
    return len(seeds[0]) >= FEWEST and all(one == seeds[0] for one in seeds)


def replaced(page: str, name: str, made: str) -> str:
    """A page with what stands between its two marks of this name made again."""
    start, end = f"<!-- {name}: made by `make results` -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    return f"{before}{start}\n{made}{end}{rest.partition(end)[2]}"


def _total(figures: Mapping[str, list[float]], kind: str) -> list[float]:
    """The MB of a kind in all; the tables that are kept have it by its former name."""
    return figures[name] if (name := f"total_{kind}_megabytes") in figures else figures[f"{kind}_megabytes"]


def comparison() -> str:
    """A summary of the comparison of ten methods, from what `make compare` left."""
    found = json.loads((ROOT / "docs" / "results" / "compare" / "compare.json").read_text())
    heads = ["MNIST, everything charged", "final, %", f"difference to {found['base']}, points"]
    heads += ["s to 90 %, median seed", "MB sent until 90 %", "MB down and scoring, in all"]
    lines = []
    for row in found["table"]:
        figures, there = row["figures"], row["arrivals"]
        moved = row["differences"].get("last_accuracy")
        less = "" if moved is None else _difference(moved)
        down = [sum(pair) for pair in zip(*(_total(figures, kind) for kind in ("down", "scoring")), strict=True)]
        medians = [there[key]["median"] for key in ("seconds_to_target", "wire_megabytes_to_target")]
        reached = ["not reached" if one is None else number(one) for one in medians]
        cells = [spread(figures["last_accuracy"], "%"), less, *reached, spread(down)]
        lines.append([f"`{row['label']}`", *cells])
    return table(heads, lines) + "\n" + apart(found)


def apart(found: Row) -> str:
    """Who can be told apart from the base in the end and at equal bytes, in a sentence."""
    texts = []
    for key, what in (
        ("last_accuracy", "final accuracy"),
        ("accuracy_at_equal_bytes", "accuracy at equal bytes sent up"),
    ):
        known = [(row["label"], row["differences"][key]) for row in found["table"] if row["differences"].get(key)]
        parts = []
        for word, sign in {"above": 1, "below": -1}.items():
            names = [f"`{name}`" for name, one in known if one["apart"] and sign * one["mean"] > 0]
            verb = "is" if len(names) == 1 else "are"
            parts += [f"{', '.join(names)} {verb} {word} `{found['base']}`"] if names else []
        rest = sum(not one["apart"] for _, one in known)
        parts += [f"{rest} of {len(known)} cannot be told apart from `{found['base']}`"] if rest else []
        texts.append(f"By {what}, {'; '.join(parts)}.")
    return " ".join(texts) + "\n"


def crossing() -> str:
    """Whether selection and compression interact, in a paragraph, from what `make cross` left."""
    found = json.loads((ROOT / "docs" / "results" / "cross" / "cross.json").read_text())
    ways, outcomes = list(found["axes"].values()), found["outcomes"]
    known, means = outcomes["final_accuracy"]["effects"]["interaction"], _means(outcomes, "final_accuracy")
    left = _apart(means)
    row, column = np.unravel_index(np.abs(left).argmax(), left.shape)
    # one pair that is d off leaves d·(1 − 1/R)(1 − 1/C) in its own cell, and spreads the rest over its row and column
    one = left[row, column] ** 2 / np.prod([1 - 1 / count for count in left.shape]) / (left**2).sum()
    without = _apart(np.delete(means, row, axis=0))
    sent = _means(outcomes, "megabytes")
    times = sent[ways[0].index("softmax")] / sent[ways[0].index("uniform")]
    pair, far = f"`{ways[0][row]}` with `{ways[1][column]}`", 100 * left[row, column]
    rest = 100 * np.sqrt((without**2).mean())
    all_pairs, low, high = (100 * known[key] for key in ("value", "low", "high"))
    return (
        f"They do, by {all_pairs:.2f} points in the root mean square over all pairs ({low:.2f} to {high:.2f}), and "
        f"one pair makes {100 * one:.0f} % of its square: {pair} ends {abs(far):.1f} points "
        f"{'below' if far < 0 else 'above'} what the two cost apart. Without `{ways[0][row]}` the root "
        f"mean square is {rest:.2f} points. "
        f"Scoring everybody (`softmax`) multiplies all traffic by {times.min():.1f} to {times.max():.1f}, whatever is "
        "compressed. (Compressors have their own densities: these are not at equal bytes.)\n"
    )


def _means(outcomes: Row, name: str) -> NDArray[np.float64]:
    means: NDArray[np.float64] = np.mean(outcomes[name]["values"], axis=2)
    return means


def _apart(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is left of each pair without the mean effects of its two ways."""
    rows, columns = means.mean(axis=1, keepdims=True), means.mean(axis=0, keepdims=True)
    left: NDArray[np.float64] = means - rows - columns + means.mean()
    return left


def _difference(found: Row) -> str:
    """A paired difference with its interval; ≈ where it cannot be told apart from zero."""
    half = 100 * (found["high"] - found["low"]) / 2
    return ("" if found["apart"] else "≈ ") + f"{100 * found['mean']:+.2f} ± {half:.2f}"


def rows_of(results: Row, study: str) -> dict[str, list[Row]]:
    """The runs of a study by the name of their row, in the order of the study: rows are played in any order."""
    found: dict[str, list[Row]] = {}
    for run in results.get("runs", []):
        if run["study"] == study:
            found.setdefault(run["row"], []).append(run)
    return dict(sorted(found.items(), key=lambda one: _place(study, one[0])))


def _place(study: str, row: str) -> int:
    """Where a row stands in the file of its study; what comes from elsewhere stands above."""
    labels = _labels(study)
    return labels.index(row) if row in labels else -1


@cache
def _labels(study: str) -> list[str]:
    file = ROOT / "studies" / f"{study}.toml"
    return studies.read(file).labels if file.exists() else []


def claims_of(results: Row, study: str, clock: str = "") -> list[Row]:
    """The claims of a study as its file has them, judged by the rows that there are; seconds by the study's own clock,
    or by the one that is named."""
    file = ROOT / "studies" / f"{study}.toml"
    rows = [with_all(run) for run in results.get("runs", []) if run["study"] == study]
    if clock:
        rows = [{**run, "seconds_to_target": run["seconds_to_target_by_clock"][clock]} for run in rows]
    return list(judge(study, studies.read(file).claim, rows)) if rows and file.exists() else []


def with_all(run: Row) -> Row:
    """A run with what it sent both ways until the target, which rows of before do not add up."""
    parts = [run[f"{kind}_megabytes_to_target"] for kind in ("wire", "down", "scoring")]
    return {"all_megabytes_to_target": None if None in parts else sum(parts), **run}


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    parts = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in parts)


def over(runs: Sequence[Row], key: str, unit: str = "") -> str:
    """One figure over the seeds: mean ± standard deviation, or to the target the median and the range."""
    if key in SOON:
        return arrivals(runs, key).text
    return arrived(run[key] for run in runs) if key.endswith("_to_target") else spread([run[key] for run in runs], unit)


def arrived(values: Iterable[float | None]) -> str:
    """The same of figures to the target of which it is not known what the runs took in all."""
    found = tuple(values)
    return Arrivals(found, (None,) * len(found)).text


def seconds(runs: Sequence[Row], clock: str) -> str:
    """The same of the seconds to the target by this clock; † where the method would have decided otherwise by it, —
    where it says nothing: the paper's counts values of 32 bits."""
    if clock == "paper" and not runs[0].get("sends_float32", True):
        return "—"
    text = arrived(run["seconds_to_target_by_clock"].get(clock) for run in runs)
    other = runs[0]["decides_by_clock"] and clock != runs[0].get("ran_with", runs[0].get("charge", "paper"))
    return text + ("†" if other and "not reached" not in text else "")


def label(name: str, runs: Sequence[Row]) -> str:
    """The name of a row, with a star where its rule is a reconstruction."""
    return name + ("*" if runs[0]["reconstruction"] else "")


def pages(texts: Row, results: Row, theory: Row, figures: Row) -> dict[str, str]:
    """Every page by its name below docs: the first one, one for each study, and one for each topic."""
    import results_front

    made = {f"results/{one['name']}.md": study_page(results, one) for one in texts["study"]}
    made["results/clocks.md"] = _clocks(results, texts["text"]["clocks"].strip())
    made["results/methods.md"] = _compared(texts["text"])
    made["results/mechanism.md"] = _joined("# Mechanism and theorems", _mechanism(figures, results), _theory(theory))
    made["results/paper.md"] = _joined(
        "# What the paper says and what we found",
        _findings(texts["finding"], results, theory),
        "## What was not run",
        texts["text"]["not_run"].strip(),
    )
    found = {name: text.strip("\n") + "\n" for name, text in made.items() if text}
    first = results_front.page(texts, results, list(found))
    return {"results.md": first, "evaluation.md": results_front.card(texts, results), **found}


def _joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part)


def _compared(text: Row) -> str:
    """Ten methods beside each other, selectors crossed with compressors, and equal tuning."""
    return _joined(
        "# Ten methods, crossed and tuned",
        "## Ten methods under one clock",
        text["compared"].strip(),
        PAGE,
        comparison(),
        "## Do selection and compression interact?",
        text["crossed"].strip(),
        crossing(),
        CROSSED,
        tuning.section(DOCS / "results"),
    )


def everything_sent(runs: Sequence[Row]) -> str:
    """All megabytes until the target: up, down, and for scoring."""
    kinds = ("wire_megabytes_to_target", "down_megabytes_to_target", "scoring_megabytes_to_target")
    reached = [[run[kind] for kind in kinds] for run in runs]
    return arrived(None if None in parts else sum(parts) for parts in reached)


def study_page(results: Row, text: Row) -> str:
    """One study: what it asks, its pictures, its table, and its claims."""
    found = rows_of(results, text["name"])
    if not found:
        return ""
    every = [run for runs in found.values() for run in runs]
    heads, lines = ["", "final accuracy, %", "peak, %", "rounds to target"], []
    clocks = dict.fromkeys(run.get("charge", "paper") for run in every)
    single = "" if set(clocks) == {"everything"} else " or ".join(CLOCKS[clock] for clock in clocks)
    heads += [*([f"s, {single}"] if single else []), "s, everything charged", "MB in all", "MB up"]
    for row, runs in found.items():
        # where a run ends at its target, its last rounds are still on the way up
        last = "—" if any(run.get("stopped") for run in runs) else over(runs, "last_accuracy", "%")
        cells = [last, over(runs, "peak_accuracy", "%"), over(runs, "rounds_to_target")]
        cells += [over(runs, "seconds_to_target")] if single else []
        cells += [seconds(runs, "everything"), everything_sent(runs), over(runs, "wire_megabytes_to_target")]
        lines.append([label(row, runs), *cells])
    if len({run["preset"] for run in every}) == 1:  # data sets share no horizon
        restrict(found, heads, lines)
    beside = [f"- {label(row, runs)} is **{runs[0]['verdict']}**: {runs[0]['why']}" for row, runs in found.items()]
    beside = [one for one, runs in zip(beside, found.values(), strict=True) if runs[0]["verdict"]]
    pictures = [f"![{PICTURES[name]}]({name}.svg)" for name in text.get("figures", [])]
    quoted = ["Beside the paper's figures:", "\n".join(beside)] if beside else []
    parts = [f"# {text['title']}", text["text"].strip(), *pictures, table(heads, lines), _made(every), *quoted]
    return _joined(*parts, claims_table(claims_of(results, text["name"])), READING)


READING = "[How to read a table](../evaluation.md#how-a-table-is-read) · back to [the results](../results.md)"


def _made(runs: Sequence[Row]) -> str:
    """How many runs a table is made of, how long they took, and by which commands."""
    seeds = sorted({run["seed"] for run in runs})
    wall = max(1.0, sum(run["wall_seconds"] for run in runs) / 60)
    made = f"{_count(len(runs), 'run')}, {_count(len(seeds), 'seed')} ({', '.join(map(str, seeds))}), "
    commands = dict.fromkeys(f"`{run['command']}`" for run in reversed(runs))
    return made + f"{_count(round(wall), 'minute')}: {' and '.join(commands)}."


def claims_table(claims: Sequence[Row]) -> str:
    """Claims with what was measured, the p-value after Holm's correction, and what could have been shown."""
    lines = [
        [one["text"], change(one), str(one["seeds"]), p_text(one["p_holm"]), visible(one), verdict(one)]
        for one in claims
    ]
    heads = ["claim", "change (95 %)", "seeds", "p, Holm", "could show", "verdict"]
    return table(heads, lines) if lines else ""


def p_text(value: float | None) -> str:
    """A p-value to three digits; — where none was computed."""
    return "—" if value is None else "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def restrict(rows: Mapping[str, Sequence[Row]], heads: list[str], lines: Sequence[list[str]]) -> None:
    """Add the restricted means of seconds and MB where some seed of a row with several did not arrive; elsewhere they
    would be plain means, or the horizon."""
    for key, name in (("seconds_to_target", "s"), ("wire_megabytes_to_target", "MB, real")):
        found = [arrivals(runs, key) for runs in rows.values()]
        limit = horizon(found)
        several = [one for runs, one in zip(rows.values(), found, strict=True) if len(runs) > 1]
        if limit is not None and not all(one.whole for one in several):
            if all(one.restricted(limit) == limit for one in found):
                continue  # it would say nothing
            heads.append(f"{name}, mean restricted to {number(limit)}")
            for line, one in zip(lines, found, strict=True):
                line.append(number(one.restricted(limit)))


def _clocks(results: Row, text: str) -> str:
    """The same runs by three clocks, and everything that was sent until the target."""
    sent = ("wire_megabytes_to_target", "down_megabytes_to_target", "scoring_megabytes_to_target")
    heads = ["", *(f"s, {name}" for name in CLOCKS.values()), "MB up", "MB down", "MB scoring"]
    parts = ["# The same runs by three clocks", text]
    every: dict[str, Mapping[str, Sequence[Row]]]
    every = {"CIFAR-10": {**rows_of(results, "table1"), **_only(rows_of(results, "beyond"), OURS, *VARIANTS)}}
    every["CIFAR-10, to 60 %"] = rows_of(results, "parts")
    every["MNIST"] = rows_of(results, "table1-mnist")
    for title, found in every.items():
        lines = [
            [label(row, runs), *(seconds(runs, clock) for clock in CLOCKS), *(over(runs, key) for key in sent)]
            for row, runs in found.items()
        ]
        parts += [table([title, *heads[1:]], lines).strip("\n")] if lines else []
    return "\n\n".join(parts) if len(parts) > 2 else ""


def _only(rows: Mapping[str, Sequence[Row]], *names: str) -> dict[str, Sequence[Row]]:
    return {name: rows[name] for name in names if name in rows}


def _mechanism(figures: Row, results: Row) -> str:
    """Fairness, score parts and bytes, from the runs of Table I's methods on MNIST."""
    if not figures:
        return ""
    counts = figures["selection"]["table1-mnist"]
    known = rows_of(results, "table1-mnist")
    lines = [
        [label(row, known[row]), *(f"{one[key]:.3g}" for key in ("min", "max", "deviation"))]
        for row, one in counts.items()
    ]
    selected = table(["times selected in 100 rounds", "least", "most", "deviation"], lines)
    kinds = list(next(iter(figures["bytes"].values()))["megabytes"])
    lines = [
        [row, *(f"{one['megabytes'][kind]:.2f} ({one['share'][kind]:.0%})" for kind in kinds)]
        for row, one in figures["bytes"].items()
    ]
    sent = table(["MB in 100 rounds", *kinds], lines)
    head = "## Who was selected, the parts of the score, and where the bytes are"
    return "\n\n".join([head, "![score parts](paper-6-mechanism.svg)", selected, sent])


def _theory(theory: Row) -> str:
    if not theory:
        return ""
    pictures = [f"![{name}](theory-{name}.svg)" for name in ("selection", "compression", "aggregation")]
    made = f"`make theory`, along {len(theory['runs'])} MNIST runs, at {len(theory['rounds'])} rounds each."
    return "\n\n".join(["## The theorems on real runs", made, *pictures])


def _findings(findings: Sequence[Row], results: Row, theory: Row) -> str:
    """What the paper says and what we found: one paragraph per sentence, each with where it is shown."""
    judged = all_claims(results)
    numbers = {key: f"{one['mean']:.2f} ± {one['deviation']:.2f}" for key, one in theory.get("over_seeds", {}).items()}
    if not (judged and numbers):
        return ""
    parts = []
    for one in findings:
        known = [judged[text] for text in one.get("claims", []) if text in judged]
        text = f"**{one['says']}** {one['found'].strip().format(numbers)} ({one['shown']})"
        parts.append("\n".join([text, *(f"- {c['text']}: {change(c)}, **{c['verdict']}**" for c in known)]))
    return "\n\n".join(parts)


def all_claims(results: Row) -> dict[str, Row]:
    """Every judged claim by its text."""
    return {one["text"]: one for study in _names(results) for one in claims_of(results, study)}


def _names(results: Row) -> list[str]:
    """The studies that have rows."""
    return list(dict.fromkeys(run["study"] for run in results.get("runs", [])))


if __name__ == "__main__":
    main()
