"""The first page of the results: five questions by data set, one table of CIFAR-10, what earns it, the paper's
sentences one row each, and what threatens all of it. results_page.py writes it.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from results_page import (
    all_claims,
    claims_of,
    everything_sent,
    over,
    p_text,
    rows_of,
    seconds,
    table,
)

from heteroselect.comparison.claims import change, verdict
from heteroselect.comparison.inference import FEWEST, p_value, pooled
from heteroselect.comparison.over_seeds import interval

Row = Mapping[str, Any]
CONDITIONS = {
    "psi": ("ψ = 0.0", "ψ = 0.2", "ψ = 0.4", "ψ = 0.6"),
    "stress": ("no stress", "authors' formula", "permuted"),
}
"""Where the question on the score is pooled over; each has a control with the same seeds. The most uneven share stands
apart: it moves the other way, and far more from seed to seed."""
APART = ("psi", "ψ = 0.8")


def page(texts: Row, results: Row, others: Sequence[str]) -> str:
    """The whole of docs/results.md; `others` are the pages that it links."""
    text = texts["text"]
    parts = [
        "# Results",
        text["intro"].strip(),
        "## Five questions",
        questions(texts["question"], results),
        pooled_score(results),
        text["questions"].strip(),
        "## CIFAR-10 to 70 %, everything charged",
        first_table(texts["first"], results),
        text["first"].strip(),
        "## What earns it: recipe and coder",
        square(texts["square"], results),
        text["square"].strip(),
        "## What the paper says",
        text["paper"].strip(),
        sayings(texts["finding"], results),
        "## Threats",
        text["threats"].strip(),
        "## Every study",
        "\n".join(f"- [{_title(name, texts)}]({name})" for name in others),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def questions(asked: Sequence[Row], results: Row) -> str:
    """A row per question, a column per data set; — where no claim has been run."""
    columns = list(dict.fromkeys(cell[0] for one in asked for cell in one["cells"]))
    lines = []
    for one in asked:
        cells = {column: _cell(results, study, claim) for column, study, claim in one["cells"]}
        lines.append([one["asks"], *(cells.get(column, "—") for column in columns)])
    return table(["question", *columns], lines)


def _cell(results: Row, study: str, claim: str) -> str:
    found = next((one for one in claims_of(results, study, "everything") if one["text"] == claim), None)
    if found is None:
        return "not run yet"
    least = found["change"] is not None and found["seeds"] >= FEWEST
    said = change(found).removesuffix(" the seconds").removesuffix(" the MB in all")
    n = f"n = {found['seeds']}" + (f", p = {p_text(found['p_holm'])}" if least else "")
    return f"{said}: {verdict(found)} ({n})".replace("= <", "<")


def pooled_score(results: Row) -> str:
    """What the score earns by one question over many worlds, and its exception, in two sentences."""
    everywhere, mean, alone = earned_by_score(results)
    if not (everywhere and mean and alone):
        return ""
    return (
        f"**The score, pooled over {1 + sum(map(len, CONDITIONS.values()))} worlds of MNIST:** with it the method ends "
        f"{everywhere} from the same method without. Apart stands the world with the most uneven labels, "
        f"{APART[1]}, with {alone} by itself; the others have {mean}. That split was made after these runs had "
        "been seen, so its p-value counts for less than it says."
    )


def earned_by_score(results: Row) -> tuple[str, str, str]:
    """The change in final accuracy with the score, pooled over all worlds, without the exception, and of that alone;
    empty where rows are missing."""
    worlds = {
        f"{study} {name}": _beside_control(results, study, name)
        for study, names in CONDITIONS.items()
        for name in names
    }
    alone = _beside_control(results, *APART)
    return _points(pooled({**worlds, "apart": alone})), _points(pooled(worlds)), _points(list(alone.values()))


def _points(differences: Sequence[float]) -> str:
    found = interval(differences)
    if found is None or found.half is None:
        return ""
    change = f"{100 * found.mean:+.2f} ± {100 * found.half:.2f} points"
    return f"{change} (n = {found.pairs}, p = {p_text(p_value(differences))})".replace("= <", "<")


def _beside_control(results: Row, study: str, name: str) -> dict[int, float]:
    """The difference in final accuracy by seed, of a row and its control."""
    rows = rows_of(results, study)
    mine, others = (
        {run["seed"]: run["last_accuracy"] for run in rows.get(row, [])} for row in (name, f"{name}, control")
    )
    return {seed: mine[seed] - others[seed] for seed in mine if seed in others}


def first_table(rows: Sequence[Row], results: Row) -> str:
    """One line per method: whose recipe, tuned or not, seconds and megabytes with everything charged."""
    heads = ["", "training recipe", "tuned", "seeds", "s to 70 %", "MB in all (up)"]
    lines = []
    for one in rows:
        runs = rows_of(results, one["study"]).get(one["row"])
        if not runs:
            lines.append([one["label"], one["recipe"], one["tuned"], "0", "not run yet", ""])
            continue
        sent = f"{everything_sent(runs)} ({over(runs, 'wire_megabytes_to_target')})"
        took = seconds(runs, "everything")
        lines.append([one["label"], one["recipe"], one["tuned"], str(len(runs)), took, sent])
    return table(heads, lines)


CORNERS = {
    "plain": "FedAvg, the paper's recipe",
    "recipe": "our recipe alone",
    "coder": "our coder alone",
    "both": "both",
}


def square(squares: Sequence[Row], results: Row) -> str:
    """Seconds at the four corners, and what recipe and coder earn in either order."""
    lines, said = [], []
    for one in squares:
        corners = {name: rows_of(results, one[name][0]).get(one[name][1]) for name in CORNERS if name in one}
        took = {name: seconds(runs, "everything") for name, runs in corners.items() if runs}
        lines.append([one["data"], *(took.get(name, "not run") for name in CORNERS)])
        mean = {name: known for name, runs in corners.items() if runs and (known := _log_mean(runs)) is not None}
        if mean.keys() == CORNERS.keys():
            whole = mean["both"] - mean["plain"]
            first = (mean["recipe"] - mean["plain"]) / whole, (mean["both"] - mean["coder"]) / whole
            said.append(
                f"Of what both earn together in seconds on {one['data']}, the recipe has {first[0]:.0%} if it is added "
                f"first and {first[1]:.0%} if it is added last."
            )
    late = "Which of the two earns most depends on the order; it can be said once the coder alone has been run."
    return table(["s to the target", *CORNERS.values()], lines) + "\n" + (" ".join(said) or late)


def _log_mean(runs: Sequence[Row]) -> float | None:
    found = [run["seconds_to_target_by_clock"]["everything"] for run in runs]
    return None if None in found else sum(map(math.log, found)) / len(found)


def sayings(findings: Sequence[Row], results: Row) -> str:
    """A row for each sentence of the paper that a claim tests: its first claim."""
    judged = all_claims(results)
    lines = [
        [one["says"], known["text"], change(known), str(known["seeds"]), verdict(known)]
        for one in findings
        if (known := next((judged[text] for text in one.get("claims", []) if text in judged), None))
    ]
    return table(["the paper", "as a claim", "change (95 %)", "seeds", "verdict"], lines)


def card(texts: Row, results: Row) -> str:
    """The whole of docs/evaluation.md: each main claim with command, verdict, assumption, and what would turn it."""
    lines = []
    for one in texts["card"]:
        found = next((known for known in claims_of(results, one["study"]) if known["text"] == one["claim"]), None)
        judged = "not run yet"
        if found:
            p = "" if found["p_holm"] is None else f", p = {p_text(found['p_holm'])}"
            judged = f"{verdict(found)}: {change(found)} (n = {found['seeds']}{p})".replace("= <", "<")
        command = f"`heteroselect study studies/{one['study']}.toml`"
        lines.append([one["claim"], command, judged, one["assumes"], one["overturned"]])
    heads = ["claim", "command", "verdict", "it assumes", "what would overturn it"]
    told = (
        "What is claimed, how anybody can repeat it, and what it hangs on. [The results](results.md) have all tables."
    )
    parts = ["# Evaluation card", told, table(heads, lines).replace("---:", "---").strip()]
    return "\n\n".join([*parts, "## How a table is read", texts["text"]["reading"].strip()]) + "\n"


def _title(name: str, texts: Row) -> str:
    """The title of a page that is linked."""
    titles = {one["name"]: one["title"] for one in texts["study"]}
    topics = {
        "clocks": "The same runs by three clocks",
        "methods": "Ten methods, crossed and tuned",
        "mechanism": "Mechanism and theorems",
        "paper": "What the paper says and what we found",
    }
    return str((titles | topics)[Path(name).stem])
