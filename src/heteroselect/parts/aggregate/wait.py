"""When does the server step: once the whole cohort has answered, or after every few answers, whoever they are from?

One that does not wait keeps a number of clients at work, each with the model of its start, and takes answers as they
come; by then the model has moved on, and a stale answer counts for less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.part import setting
from heteroselect.core.traits import traits_of


@dataclass(frozen=True)
class WaitForAll:
    """Waits for a round: the server steps once the cohort has answered, so that nothing is stale.

    Use when updates are to be of one model, as most methods take for granted. Beware: a round is as long as its slowest
    client.
    """

    kind = "all"
    size = 0
    concurrency = 0
    mixes: ClassVar[Literal["updates", "models"]] = "updates"

    def discount(self, staleness: Counts) -> Reals:
        return np.ones(len(staleness))


@dataclass(frozen=True)
class Buffer:
    """Does not wait: the server steps after every `size` answers: w ← w + Σ a_k·s(τ_k)·Δ_k with s(τ) = (1 +
    τ)^−`exponent`, τ_k being the steps that the model has made since client k got it (FedBuff: Nguyen, Malik, Zhan,
    Yousefpour, Rabbat, Malek, Huba, "Federated learning with buffered asynchronous aggregation", AISTATS 2022).
    Whoever is done is followed at once by another client. The weights are not made to sum to 1 again, so that a step
    of stale answers is a short one.

    With `mixes` "models" it is what an answer leads to that is taken in, w ← w + Σ a_k·s(τ_k)·(w_k + Δ_k − w) with the
    model w_k of its start, which pulls back what has happened since then (FedAsync: Xie, Koyejo, Gupta, "Asynchronous
    federated optimization", 2019, where `size` is 1 and the mixing rate α is that of the server).

    Use when devices and links differ so much that rounds wait long. Beware: fast clients are heard more often, and
    parts that plan for a whole cohort are refused.
    """

    kind = "buffer"

    size: int = setting(5, "number of answers k after which the server steps", ge=1)
    concurrency: int = setting(0, "number of clients at work at the same time; 0: as many as `selected`", ge=0)
    exponent: float = setting(
        0.5,
        "exponent of staleness: an answer τ steps old counts (1 + τ)^−exponent as much",
        ge=0,
        tune=(0.1, 1, "linear"),
    )
    mixes: Literal["updates", "models"] = setting(
        "updates", "what is added to the model: updates (FedBuff), or the way to the models they lead to (FedAsync)"
    )

    def discount(self, staleness: Counts) -> Reals:
        """
        >>> Buffer().discount(np.array([0, 3])).tolist()
        [1.0, 0.5]
        """
        found: Reals = (1.0 + staleness.astype(np.float64)) ** -self.exponent
        return found


def unfit(parts: Mapping[str, Any]) -> str | None:
    """Why these parts cannot work with a server that does not wait, or None; one that waits takes all of them."""
    wait = parts["async_mode"]
    if not getattr(wait, "size", 0):
        return None
    kinds = {role: str(getattr(part, "kind", type(part).__name__)) for role, part in parts.items()}
    asking = "score" if kinds["score"] != "none" else "select"
    if asking == "score" or hasattr(parts["select"], "wants"):
        return f"asks nobody for a loss; allowed with it is what goes without, not {asking} {kinds[asking]}"
    # a half at the server goes by what a whole cohort did with one model
    whole = [
        f"{role} {kinds[role]}"
        for role, part in parts.items()
        if traits_of(part).by_cohort or hasattr(part, "follow") or hasattr(part, "complete")
    ]
    if whole:
        rule = "lets clients start one by one; allowed with it is what plans for no whole cohort"
        return f"{rule}, not {' and not '.join(whole)}"
    if wait.mixes == "models" and kinds["aggregate"] != "mean":
        return f"with mixes models is allowed with aggregate mean only, not {kinds['aggregate']}"
    return None
