"""What is known of a published method beside its parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heteroselect.round.method import Method

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
    """A method with its paper. The rule is that of its authors, or a `reconstruction` where the text of their paper was
    not at hand; `leaves_out` says what of the paper is missing here. `settings` are settings of the run that belong to
    it, with dotted keys. The `year` is the last word of `paper`, unless another is given."""

    method: Method
    summary: str
    paper: str
    year: int = 0
    leaves_out: str = ""
    reconstruction: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "year", self.year or int(self.paper[-4:]))
