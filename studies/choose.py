"""Writes the table of docs/choose.md: which method to use when, with the figures and verdicts that each row stands on.

`make results` calls it. A row names the verdict that it needs: where a new run turns that verdict, the command fails,
and the advice has to be thought over.
"""

import json
from collections.abc import Sequence
from typing import Any

from results_front import earned_by_score
from results_page import ROOT, Row, claims_of, everything_sent, over, read, replaced, rows_of, seconds, table

from heteroselect.comparison.claims import change
from heteroselect.comparison.over_seeds import spread

PAGE = ROOT / "docs" / "choose.md"
HEADS = ("your situation", "use", "what we measured", "beware")


def main() -> None:
    """Make the table of the page again."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, "choose", choose(read("results"))), encoding="utf-8")


def choose(results: Row) -> str:
    """The decision table."""
    told = Told(results)
    low, high = told.hostile("geometric median"), told.hostile("mean")
    rows = [
        (
            "You know nothing yet, or computing takes most of a round.",
            "`fedavg`",
            f"MNIST, ten methods: {told.compared('fedavg')} in the end, beside {told.compared('heteroselect')} of "
            "`heteroselect` ([table](results/methods.md#ten-methods-under-one-clock))",
            "FedAvg has to wait for the slowest client of each cohort.",
        ),
        (
            "Uploads are slow or dear.",
            "`heteroselect2`; for a small model `lean`",
            f"AudioMNIST to 95 %: {told.claim('beyond-audiomnist', OURS_FRUGAL, 'holds')} of FedAvg with the same "
            f"recipe, {told.up('beyond-audiomnist', 'heteroselect2')} MB up instead of "
            f"{told.up('beyond-audiomnist', 'FedAvg with the recipe')} "
            "([rows](results/beyond-audiomnist.md))",
            "The model still comes down whole. CIFAR-10 has one or three seeds for each row.",
        ),
        (
            "You want the highest accuracy in the end.",
            "`fedavg` or `lean`",
            "MNIST after 100 rounds, beside FedAvg: "
            f"`lean` {told.claim('beyond-mnist', LEAN_AS_HIGH, 'holds')}, `heteroselect2` "
            f"{told.claim('beyond-mnist', OURS_AS_HIGH, 'inconclusive')} "
            "([rows](results/beyond-mnist.md))",
            "Tune the rates first: [equal tuning](results/methods.md#equal-tuning-on-mnist) moves FedAvg up.",
        ),
        (
            "Devices and links differ by orders of magnitude.",
            "`fedbuff`",
            f"Measured devices: {told.claim('waiting', BUFFER_SOONER_MNIST, 'holds')} "
            f"of FedAvg on MNIST, {told.claim('waiting-audiomnist', BUFFER_SOONER, 'holds')} on AudioMNIST "
            "([when does waiting pay?](results/waiting.md))",
            f"Whether FedAvg ends higher on MNIST: {told.claim('waiting', FEDAVG_HIGHER, 'inconclusive')}. "
            "Flower carries whole rounds alone.",
        ),
        (
            "The same, and the server has to wait.",
            "`oort`",
            f"Measured devices, MNIST to 90 %: {told.time('waiting', 'oort')} s instead of "
            f"{told.time('waiting', 'fedavg')} s of FedAvg",
            f"It ends lower: {told.last('waiting', 'oort')} instead of {told.last('waiting', 'fedavg')}.",
        ),
        (
            "Downloads cost as much as uploads.",
            "`method.downlink.kind=steps`",
            f"CIFAR-10 to 60 %, `heteroselect2`: {told.every('parts', STEPS_DOWN)} MB in all instead of "
            f"{told.every('parts', MODEL_DOWN)} ([rows](results/parts.md))",
            "One seed, so no verdict. To 70 % half a bit was not enough.",
        ),
        (
            "You consider a draw by scores that asks every client.",
            "a uniform draw first",
            f"MNIST, pooled over eight worlds: {earned_by_score(results)[0]} with the score of HeteRo-Select "
            "([the question](results.md#five-questions))",
            "Asking everybody sends the model to everybody. `method.score.mode=stale` asks nobody.",
        ),
        (
            "Local steps drift apart.",
            "a proximal term, `method.solver.proximal`",
            f"MNIST, HeteRo-Select with μ = 0.1 beside none: {told.claim('mu', PROXIMAL, 'holds')} "
            "([rows](results/mu.md))",
            "Measured for one method. SCAFFOLD and FedDyn are there, and were not compared at length.",
        ),
        (
            "Some clients may be hostile.",
            "`method.aggregate.kind=geometric-median`",
            f"MNIST with three hostile clients in ten, the worst of four attacks: {low} instead of {high} of the mean "
            "([table](reliability.md#what-it-comes-to-on-mnist))",
            "It needs whole updates that are alike. No attack adapted to it.",
        ),
        (
            "The server must not learn what a user has.",
            "`method.privacy.kind=gaussian`",
            "ε for each preset ([table](privacy.md#what-it-costs))",
            "What the noise costs in accuracy was not compared between methods.",
        ),
    ]
    return table(HEADS, rows).replace("---:", "---")


OURS_FRUGAL = "heteroselect2 takes fewer MB both ways to 95 % than FedAvg with its recipe"
LEAN_AS_HIGH = "after 100 rounds lean is as high as FedAvg, within a point"
OURS_AS_HIGH = "after 100 rounds heteroselect2 is as high as FedAvg, within a point"
BUFFER_SOONER = "on AudioMNIST FedBuff is at the target sooner than FedAvg"
BUFFER_SOONER_MNIST = "on MNIST FedBuff is at the target sooner than FedAvg"
FEDAVG_HIGHER = "on MNIST FedAvg ends higher than FedBuff"
PROXIMAL = "μ = 0.1 ends higher than no proximal term"
STEPS_DOWN = "9 the model comes down as its steps"
MODEL_DOWN = "8 weights by variance, bits by energy (heteroselect2)"


class Told:
    """What the files of the studies tell, as text."""

    def __init__(self, results: Row) -> None:
        self.results = results

    def claim(self, study: str, text: str, expected: str) -> str:
        """The change of a claim, which must have this verdict."""
        (found,) = [one for one in claims_of(self.results, study) if one["text"] == text]
        if found["verdict"] != expected:
            raise SystemExit(f"studies/choose.py: “{text}” is {found['verdict']}; think the advice over.")
        return f"{change(found)} ({found['seeds']} seeds, **{expected}**)"

    def rows(self, study: str, row: str) -> Sequence[Row]:
        return rows_of(self.results, study)[row]

    def up(self, study: str, row: str) -> str:
        return over(self.rows(study, row), "wire_megabytes_to_target")

    def every(self, study: str, row: str) -> str:
        return everything_sent(self.rows(study, row))

    def time(self, study: str, row: str) -> str:
        return seconds(self.rows(study, row), "everything")

    def last(self, study: str, row: str) -> str:
        return f"{over(self.rows(study, row), 'last_accuracy', '%')} %"

    def compared(self, method: str) -> str:
        """The final accuracy in the comparison of ten methods."""
        kept = json.loads((ROOT / "docs" / "results" / "compare" / "compare.json").read_text(encoding="utf-8"))
        (row,) = [one for one in kept["table"] if one["label"] == method]
        return f"{spread(row['figures']['last_accuracy'], '%')} %"

    def hostile(self, aggregate: str) -> str:
        """The accuracy under the attack that hurts an aggregate most, where 30 % of the clients are hostile."""
        kept: Any = json.loads((ROOT / "studies" / "hostile.json").read_text(encoding="utf-8"))
        found: dict[str, list[float]] = {}
        for run in kept["hostile"]:
            attack, share = run["axes"]
            if run["row"] == aggregate and share == 0.3:
                found.setdefault(attack, []).append(run["accuracy"])
        worst: list[float | None] = [*min(found.values(), key=sum)]
        return f"{spread(worst, '%')} %"


if __name__ == "__main__":
    main()
