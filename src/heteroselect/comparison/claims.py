"""Whether the claims of a study hold: one paired test per claim, corrected for how many the study asks.

A claim says that one row is better than another by a figure. Runs are paired by seed. Costs to reach a target are
compared by their ratio (differences of logarithms): seeds may be a factor apart, and the slowest is not to decide
alone. A claim **holds** or is **refuted** where the 95 % interval is on one side and the p-value, adjusted by Holm's
rule for all claims of the study, is at most 0.05. It is **inconclusive** otherwise, and **one run** or **two runs**
where there are fewer than three pairs, which decide nothing. `times` judges a cost beside a part of the other, and
`margin` asks of an accuracy that it is no more than so much lower (non-inferiority).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import stdev
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from heteroselect.comparison.inference import FEWEST, LEVEL, holm, p_value, smallest_visible
from heteroselect.comparison.over_seeds import Interval, interval
from heteroselect.settings.group import Group

Row = Mapping[str, Any]

ACCURACIES = ("peak_accuracy", "final_accuracy", "last_accuracy")
FEW = {1: "one run", 2: "two runs"}
"""What stands in the place of a verdict where there are too few pairs for one."""


class Claim(Group):
    """A sentence that the runs may hold or refute: by this figure, one row is better than another; where `times` is not
    1, a cost is below so many times that of the other; with a `margin`, an accuracy is at most so much lower."""

    text: str
    better: str
    than: str
    figure: Literal[
        "peak_accuracy",
        "final_accuracy",
        "last_accuracy",
        "rounds_to_target",
        "seconds_to_target",
        "megabytes_to_target",
        "wire_megabytes_to_target",
        "all_megabytes_to_target",
    ] = "last_accuracy"
    times: float = Field(1.0, gt=0)
    margin: float = Field(0.0, ge=0)
    afterwards: bool = False
    """whether it was stated after rows of it had been seen, so that it suggests and does not confirm"""

    @model_validator(mode="after")
    def _of_its_figure(self) -> Self:
        if self.times != 1 and self.high:
            raise ValueError(f"times: allowed are figures to the target with it, not {self.figure}")
        if self.margin and not self.high:
            raise ValueError(f"margin: allowed are accuracies with it, not {self.figure}")
        return self

    @property
    def high(self) -> bool:
        """Whether more is better."""
        return self.figure in ACCURACIES

    @property
    def beside(self) -> float:
        """What the mean difference is tested against."""
        return -self.margin if self.high else math.log(self.times)


def judge(study: str, claims: Sequence[Claim], rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the claims of a study with their verdicts; those whose rows share no seed are left out.

    A seed that never reaches the target has no difference to give, and is not as good as any that does: then a claim
    holds, or is refuted, only where all seeds of one row reach the target and none of the other, and names no factor.
    """
    pairs = {claim.text: _pairs(claim, rows) for claim in claims}
    known = {text: values for text, values in pairs.items() if values[0]}
    differences = {claim.text: _differences(claim, *known[claim.text]) for claim in claims if claim.text in known}
    p = {claim.text: p_value(differences[claim.text], claim.beside) for claim in claims if claim.text in known}
    adjusted = holm({text: one for text, one in p.items() if one is not None and len(differences[text]) >= FEWEST})
    return [
        {
            "study": study,
            **claim.model_dump(exclude_defaults=True),
            "figure": claim.figure,
            **_measured(claim, differences[claim.text]),
            "p": p[claim.text],
            "p_holm": adjusted.get(claim.text),
            "seeds": len(known[claim.text][0]),
            "reached": [sum(one is not None for one in values) for values in known[claim.text]],
            "verdict": _verdict(claim, *known[claim.text], differences[claim.text], adjusted.get(claim.text)),
        }
        for claim in claims
        if claim.text in known
    ]


def _pairs(claim: Claim, rows: Sequence[Row]) -> tuple[list[float | None], list[float | None]]:
    """The figures of both rows, by the seeds that they share."""
    names = (claim.better, claim.than)
    mine, others = ({row["seed"]: row[claim.figure] for row in rows if row["row"] == name} for name in names)
    shared = [seed for seed in mine if seed in others]
    return [mine[seed] for seed in shared], [others[seed] for seed in shared]


def _differences(claim: Claim, mine: Sequence[float | None], others: Sequence[float | None]) -> list[float]:
    """The paired differences, of costs those of logarithms; none where a seed did not arrive."""
    if None in mine or None in others:
        return []
    pairs = [(one, other) for one, other in zip(mine, others, strict=True) if one is not None and other is not None]
    return [one - other if claim.high else math.log(one) - math.log(other) for one, other in pairs]


def _measured(claim: Claim, differences: Sequence[float]) -> dict[str, Any]:
    """The change with its interval, as points or as a ratio, and the smallest change that so many pairs show."""
    found = interval(differences)
    if found is None:
        return {"by": "difference" if claim.high else "ratio", "change": None, "interval": None, "visible": None}
    least = smallest_visible(stdev(differences), len(differences)) if len(differences) >= FEWEST else None
    ends = {end: _unscaled(claim, getattr(found, end)) for end in ("low", "high")}
    return {
        "by": "difference" if claim.high else "ratio",
        "change": _unscaled(claim, found.mean),
        "interval": {**asdict(found), **ends},
        "visible": _unscaled(claim, least),
    }


def _unscaled(claim: Claim, value: float | None) -> float | None:
    """A difference as it is, and one of logarithms as a ratio."""
    return value if claim.high or value is None else math.exp(value)


def _verdict(
    claim: Claim,
    mine: Sequence[float | None],
    others: Sequence[float | None],
    differences: Sequence[float],
    adjusted: float | None,
) -> str:
    if len(mine) < FEWEST:
        return FEW[len(mine)]
    if not differences:
        reached = [sum(one is not None for one in values) for values in (mine, others)]
        words = {(len(mine), 0): "holds", (0, len(mine)): "refuted"} if claim.times == 1 else {}
        return words.get((reached[0], reached[1]), "inconclusive")
    found = interval([one - claim.beside for one in differences])
    return _word(claim, found) if found and adjusted is not None and adjusted <= LEVEL else "inconclusive"


def _word(claim: Claim, found: Interval) -> str:
    """By the side of the interval."""
    if not found.apart:
        return "inconclusive"
    return "holds" if (found.mean > 0) is claim.high else "refuted"


NAMES = {"rounds_to_target": "rounds", "seconds_to_target": "seconds", "all_megabytes_to_target": "MB in all"}


def change(claim: Row) -> str:
    """Say what `better` is beside `than`, with its 95 % interval: by so many points, or so many times the cost."""
    if claim["change"] is None:
        return f"target reached by {claim['reached'][0]} and {claim['reached'][1]} of {claim['seeds']} seeds"
    low, high = (claim["interval"][end] for end in ("low", "high"))
    if claim["by"] == "ratio":
        between = "" if low is None else f" [{low:.2f}, {high:.2f}]"
        return f"{claim['change']:.2f}{between} times the {NAMES.get(claim['figure'], 'MB')}"
    if low is None:
        between = ""
    elif claim["interval"]["kind"].endswith("bootstrap"):
        between = f" [{100 * low:+.2f}, {100 * high:+.2f}]"
    else:
        between = f" ± {100 * (high - low) / 2:.2f}"
    return f"{100 * claim['change']:+.2f}{between} points"


def verdict(claim: Row) -> str:
    """Say the verdict, and of a claim that was stated afterwards that it was."""
    said = f"**{claim['verdict']}**"
    return f"{said}, stated afterwards" if claim.get("afterwards") and claim["verdict"] not in FEW.values() else said


def visible(claim: Row) -> str:
    """Say how large a change so many pairs show in four of five tries; — where there are too few."""
    if claim["visible"] is None:
        return "—"
    return f"{claim['visible']:.2f} times" if claim["by"] == "ratio" else f"{100 * claim['visible']:.2f} points"


def sentence(claim: Row) -> str:
    """Say a claim with its verdict, and the difference that it goes by."""
    return f"{claim['verdict']}: {claim['text']} ({claim['better']} beside {claim['than']}: {change(claim)})"
