"""What is known of a method beside its parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heteroselect.round.method import Method

__all__ = ["FAMILIES", "FEW_BITS", "STAR", "Entry", "Method", "footnotes", "listed"]

FAMILIES = {
    "baseline": "what the others are compared with",
    "joint": "selection and compression together",
    "selection": "who takes part",
    "compression": "what is sent, and how much of it",
    "optimisation": "how clients train and the server steps",
    "asynchronous": "no waiting for a cohort",
    "own": "our own methods and controls",
}
"""What a method is about, in the order of the lists."""

STAR = "* the rule is a reconstruction from the paper's abstract"
FEW_BITS = "— its values are not float32: the count of values alone, at 32 bits each, means nothing"


def footnotes(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """What has to stand below a table of runs, by their summaries: stars, dashes, and what of each paper is missing."""
    runs = list(runs)
    notes = [STAR] if any(run.get("reconstruction") for run in runs) else []
    notes += [FEW_BITS] if not all(run.get("sends_float32", True) for run in runs) else []
    missing = {run["method"]: run["leaves_out"] for run in runs if run.get("leaves_out")}
    return notes + [f"{name} leaves out {text}" for name, text in missing.items()]


@dataclass(frozen=True)
class Entry:
    """A method with its paper: what it is about (one of `FAMILIES`), a `summary` that fits into a line, and what of the
    paper is missing here. `settings` are settings of the run that belong to it, with dotted keys. The `year` is the
    last word of `paper`, unless another is given.

    `notes` are the docstring of the file, which says what the other fields do not. A method is a `reconstruction` where
    its file lies in `reconstructed/`: the text of the paper was not at hand, and formulas are our own.
    """

    method: Method
    family: str
    summary: str
    paper: str
    year: int = 0
    leaves_out: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: str = ""
    reconstruction: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "year", self.year or int(self.paper[-4:]))

    @property
    def published(self) -> bool:
        """Whether the method is that of a published paper, by its text."""
        return not self.reconstruction and self.family != "own"

    def text(self) -> str:
        """What is known of the method: what it does, its paper, what of it is missing here, and the notes of its file."""
        lines = [f"{self.method.name}: {self.summary}", self.paper]
        lines += [f"leaves out: {self.leaves_out}"] if self.leaves_out else []
        lines += [STAR.removeprefix("* ")] if self.reconstruction else []
        lines += [f"sets {key} = {value}" for key, value in self.settings.items()]
        return "\n".join([*lines, *(["", self.notes] if self.notes else [])])


def listed(entries: Iterable[Entry]) -> str:
    """The methods, a line of at most 80 columns each: by family, and reconstructions apart."""
    entries = list(entries)
    groups = {
        f"{family}: {about}": [one for one in entries if one.family == family and not one.reconstruction]
        for family, about in FAMILIES.items()
    }
    groups["reconstructed, with formulas of our own"] = [one for one in entries if one.reconstruction]
    width = max(len(one.method.name) for one in entries)
    return "\n\n".join(
        "\n".join([head, *(f"  {one.method.name:{width}} {one.year}  {one.summary}" for one in group)])
        for head, group in groups.items()
        if group
    )
