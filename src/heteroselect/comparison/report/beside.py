"""Which figures of a paper may stand beside a run: those that a run of so many rounds can be measured by."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heteroselect.settings import PaperRow


def beside(paper: "Iterable[PaperRow]", rounds: int, *, reached: bool) -> "list[PaperRow]":
    """The rows that stand beside runs of so many rounds, and of each what stands there.

    What the paper took to its target needs a run that has reached the target, or that is as long as the paper took (as
    the paper's runs, where they never did). Its peak and its last accuracy need a run as long as the paper's.
    """
    found = []
    for row in paper:
        whole = rounds >= (row.rounds or 0)
        if reached or (whole if row.rounds_to_target is None else rounds >= row.rounds_to_target):
            found.append(row if whole else row.model_copy(update={"peak_accuracy": None, "final_accuracy": None}))
    return found


def with_clock(paper: "Iterable[PaperRow]", clocks: "Iterable[str]") -> "list[PaperRow]":
    """The rows, which say that their seconds go by the paper's clock where those beside them go by another."""
    if set(clocks) <= {"paper"}:
        return list(paper)
    return [
        row.model_copy(update={"source": f"{row.source}, by the paper's clock"}) if row.seconds_to_target else row
        for row in paper
    ]
