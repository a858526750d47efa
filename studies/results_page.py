"""Writes docs/results.md, and the two blocks of README.md between their markers, from what the studies left:
studies/results.json, theory.json and figures.json. Its sentences are in studies/results.toml. `make results` runs it.
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
from heteroselect.comparison.figures import SOON
from heteroselect.comparison.over_seeds import Arrivals, horizon, number, spread
from heteroselect.comparison.results import change
from heteroselect.comparison.table import arrivals

ROOT = Path(__file__).resolve().parents[1]
CLOCKS = {"paper": "the paper's clock", "uplink": "real payloads", "everything": "everything"}
CIFAR_ROWS = ("heteroselect-as-run", "control without the score", "heteroselect", "fedavg", "fedcg")
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
        {"fedavg": ("fedavg", "paper's"), "fedavg with our recipe": ("fedavg", "ours"), OURS: (OURS, "ours")},
        "heteroselect2 takes fewer seconds to 95 % than FedAvg with its recipe",
    ),
)
"""What the README may show: the first of which all rows have all seeds of their study."""

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
PAGE = "![a report: table of results, accuracy curves with seed bands](results/report.png)"
CROSSED = "![final accuracy, seconds and traffic for each pair of selector and compressor](results/cross/cross.png)"


def main() -> None:
    """Write both pages."""
    results = read("results")
    (ROOT / "docs" / "results.md").write_text(page(sentences(), results, read("theory"), read("figures")))
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
    whole = [pair for pair in PAIRS if _whole(results, pair)]
    pair = whole[0]
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
    seeds = set(studies.read(ROOT / "studies" / f"{pair.study}.toml").seeds)
    found = rows_of(results, pair.study)
    return all({run["seed"] for run in found.get(row, [])} >= seeds for row in pair.rows)


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


def claims_of(results: Row, study: str) -> list[Row]:
    """The claims of a study, judged."""
    return [one for one in results.get("claims", []) if one["study"] == study]


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


def page(texts: Row, results: Row, theory: Row, figures: Row) -> str:
    """The whole of docs/results.md."""
    studies = [_study(results, one) for one in texts["study"]]
    parts = ["# Results", texts["text"]["intro"].strip(), in_a_minute(results), *studies[:4]]
    parts += [
        _clocks(results, texts["text"]["clocks"].strip()),
        *studies[4:],
        _compared(texts["text"]),
        tuning.section(ROOT / "docs" / "results"),
        _mechanism(figures, results),
        _theory(theory),
    ]
    parts += [_findings(texts["finding"], results, theory), _not_run(results, texts["text"]["not_run"].strip())]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _compared(text: Row) -> str:
    """Ten methods beside each other, and selectors crossed with compressors."""
    parts = ["## Ten methods under one clock", text["compared"].strip(), PAGE, comparison()]
    parts += ["## Do selection and compression interact?", text["crossed"].strip(), crossing(), CROSSED]
    return "\n\n".join(part.strip("\n") for part in parts)


def in_a_minute(results: Row) -> str:
    """Three questions and their answers."""
    mnist = rows_of(results, "table1-mnist")
    if not {"heteroselect", "heteroselect-as-run", "fedavg", "fedcg"} <= mnist.keys():
        return ""
    rivals = [one for one in claims_of(results, "table1-mnist") if one["than"] == "fedcg"]
    against = " and ".join(f"{change(one)} ({one['text']}: **{one['verdict']}**)" for one in rivals)
    studies = ("table1", "table1-mnist", "psi", "stress")
    earned = [one for study in studies for one in claims_of(results, study) if "control" in one["than"]]
    # one and the same comparison of the same runs counts once
    earned = list({(one["figure"], one["change"]): one for one in earned}.values())
    count = {word: sum(one["verdict"] == word for one in earned) for word in ("holds", "inconclusive", "refuted")}
    ours, plain = mnist["heteroselect"], mnist["fedavg"]
    large = rows_of(results, "table1")
    headline, rival = (large.get(name) for name in ("heteroselect-as-run", "fedcg"))
    cifar = "The runs of CIFAR-10 are not at their end yet."
    if headline:
        cifar = f"{faster(headline, rival)} The paper's own row is **{headline[0]['verdict']}**: {headline[0]['why']}"
    with_it, without = (large.get(name) for name in ("heteroselect", "control without the score"))
    told = ""
    if with_it and without:
        took = [
            f"{over(runs, 'rounds_to_target')} rounds and {seconds(runs, 'paper')} s" for runs in (with_it, without)
        ]
        told = f" On CIFAR-10 ({_count(len(with_it), 'seed')}) 70 % takes {took[0]} with it and {took[1]} without."
    quoted = next((one for run in large.get("fedavg", []) for one in run["paper"]), None)
    if quoted:
        mine = f"{seconds(large['fedavg'], 'paper')} s and {over(large['fedavg'], 'megabytes_to_target')} MB"
        said = f"{number(quoted['seconds_to_target'])} s and {number(quoted['megabytes_to_target'])} MB"
        cifar += f" FedAvg, which the paper quotes with {said}, takes {mine} in the same world."
    lines = [
        "- **Does the headline hold?** It says that on CIFAR-10 HeteRo-Select is 1.78 times faster than FedCG with "
        f"18.2 % less traffic. {cifar} On MNIST, beside FedCG*: {against}.",
        "- **What does the score earn?** Beside the same method without it (uniform draw, equal densities, equal "
        f"weights), in {len(earned)} comparisons: better in {count['holds']}, worse in "
        f"{count['refuted']}, inconclusive in {count['inconclusive']} "
        f"([all of them](#what-the-paper-says-and-what-we-found)).{told}",
        "- **What does honest accounting change?** Until 90 % on MNIST HeteRo-Select sends "
        f"{over(ours, 'wire_megabytes_to_target')} MB up where FedAvg sends "
        f"{over(plain, 'wire_megabytes_to_target')}; with the models that go down, to train and to score, it is "
        f"{everything_sent(ours)} MB against {everything_sent(plain)}, and "
        f"{seconds(ours, 'everything').rstrip('†')} s against {seconds(plain, 'everything')}.{_accounted(large)}",
    ]
    return "\n".join(["## In one minute", "", *lines])


def _accounted(rows: Mapping[str, Sequence[Row]]) -> str:
    """The same of CIFAR-10, in a sentence; nothing where a row is missing."""
    ours, plain = rows.get("heteroselect"), rows.get("fedavg")
    if not (ours and plain):
        return ""
    up = [over(runs, "wire_megabytes_to_target") for runs in (ours, plain)]
    every = [everything_sent(runs) for runs in (ours, plain)]
    time = [seconds(runs, "everything").rstrip("†") for runs in (ours, plain)]
    return (
        f" Until 70 % on CIFAR-10 it is {up[0]} MB up against {up[1]}, {every[0]} MB in all against {every[1]}, "
        f"and {time[0]} s against {time[1]}."
    )


def faster(ours: Sequence[Row], rival: Sequence[Row] | None) -> str:
    """How much sooner and with how much less traffic than FedCG, by the paper's clock and count, in a sentence."""
    if not rival:
        return "FedCG* has not been run on CIFAR-10."
    keys = ("seconds_to_target", "megabytes_to_target")
    mine, theirs = ([runs[0][key] for key in keys] for runs in (ours, rival))
    if None in mine or None in theirs:
        late = f"FedCG*, reconstructed from its abstract, does not reach 70 % in {rival[0]['rounds_run']} rounds here"
        return f"{late} (its peak is {100 * rival[0]['peak_accuracy']:.1f} %)."
    less = 100 * (1 - mine[1] / theirs[1])
    traffic = f"{abs(less):.0f} % {'less' if less > 0 else 'more'} traffic"
    times = theirs[0] / mine[0]
    pace = f"{times:.2f} times faster" if times > 1 else f"{1 / times:.2f} times slower"
    took = f"{number(mine[0])} s against {number(theirs[0])} s"
    return (
        f"Beside FedCG*, reconstructed from its abstract and run in the same world, it is {pace} ({took}) with "
        f"{traffic} (seed {ours[0]['seed']})."
    )


def everything_sent(runs: Sequence[Row]) -> str:
    """All megabytes until the target: up, down, and for scoring."""
    kinds = ("wire_megabytes_to_target", "down_megabytes_to_target", "scoring_megabytes_to_target")
    reached = [[run[kind] for kind in kinds] for run in runs]
    return arrived(None if None in parts else sum(parts) for parts in reached)


def _study(results: Row, text: Row) -> str:
    """One study: what it asks, its pictures, its table, and its claims."""
    found = rows_of(results, text["name"])
    if not found:
        return ""
    every = [run for runs in found.values() for run in runs]
    clocks = dict.fromkeys(CLOCKS[run.get("charge", "paper")] for run in every)
    heads = ["", "final accuracy, %", "peak, %", "rounds to target", f"s, {' or '.join(clocks)}"]
    heads += ["MB, values", "MB, real"]
    lines = []
    for row, runs in found.items():
        # where a run ends at its target, its last rounds are still on the way up
        last = "—" if any(run.get("stopped") for run in runs) else over(runs, "last_accuracy", "%")
        cells = [last, over(runs, "peak_accuracy", "%"), over(runs, "rounds_to_target")]
        values = over(runs, "megabytes_to_target") if runs[0].get("sends_float32", True) else "—"
        cells += [over(runs, "seconds_to_target"), values, over(runs, "wire_megabytes_to_target")]
        lines.append([label(row, runs), *cells])
    if len({run["preset"] for run in every}) == 1:  # data sets share no horizon
        restrict(found, heads, lines)
    seeds = sorted({run["seed"] for run in every})
    wall = max(1.0, sum(run["wall_seconds"] for run in every) / 60)
    made = f"{_count(len(every), 'run')}, {_count(len(seeds), 'seed')} ({', '.join(map(str, seeds))}), "
    commands = dict.fromkeys(f"`{run['command']}`" for run in reversed(every))
    made += f"{_count(round(wall), 'minute')}: {' and '.join(commands)}."
    beside = [f"{label(row, runs)} is **{runs[0]['verdict']}**: {runs[0]['why']}" for row, runs in found.items()]
    beside = [one for one, runs in zip(beside, found.values(), strict=True) if runs[0]["verdict"]]
    judged = [
        [one["text"], change(one), str(one["seeds"]), f"**{one['verdict']}**"]
        for one in claims_of(results, text["name"])
    ]
    pictures = [f"![{PICTURES[name]}](results/{name}.svg)" for name in text.get("figures", [])]
    parts = [f"## {text['title']}", text["text"].strip(), *pictures, table(heads, lines), made, *beside]
    parts += [table(["claim", "change (95 %)", "seeds", "verdict"], judged)] if judged else []
    return "\n\n".join(part.strip("\n") for part in parts)


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
    parts = ["## The same runs by three clocks", text]
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
    return "\n\n".join([head, "![score parts](results/paper-6-mechanism.svg)", selected, sent])


def _theory(theory: Row) -> str:
    if not theory:
        return ""
    pictures = [f"![{name}](results/theory-{name}.svg)" for name in ("selection", "compression", "aggregation")]
    made = f"`make theory`, along {len(theory['runs'])} MNIST runs, at {len(theory['rounds'])} rounds each."
    return "\n\n".join(["## The theorems on real runs", made, *pictures])


def _findings(findings: Sequence[Row], results: Row, theory: Row) -> str:
    """What the paper says and what we found: one paragraph per claim, each with where it is shown."""
    judged = {one["text"]: one for one in results.get("claims", [])}
    numbers = {key: f"{one['mean']:.2f} ± {one['deviation']:.2f}" for key, one in theory.get("over_seeds", {}).items()}
    if not (judged and numbers):
        return ""
    parts = ["## What the paper says and what we found"]
    for one in findings:
        known = [judged[text] for text in one.get("claims", []) if text in judged]
        text = f"**{one['says']}** {one['found'].strip().format(numbers)} ({one['shown']})"
        parts.append("\n".join([text, *(f"- {c['text']}: {change(c)}, **{c['verdict']}**" for c in known)]))
    return "\n\n".join(parts)


def _not_run(results: Row, text: str) -> str:
    missing = [name for name in CIFAR_ROWS if name not in rows_of(results, "table1")]
    lines = [
        f"- CIFAR-10 ({', '.join(missing)}): up to 100 rounds each, about a minute per round on two cores with "
        "scoring, three quarters of a minute without. `heteroselect study studies/table1.toml` runs or continues them."
    ]
    return "\n".join(["## What was not run, and what it would cost", "", *(lines if missing else []), text])


if __name__ == "__main__":
    main()
