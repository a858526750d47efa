"""Batch-norm statistics: nobody trains them, so some clients measure them for the new model.

After each aggregation the model goes to the first few clients drawn, one after the other, as ordinary messages that
cost ordinary bytes.
"""

from dataclasses import dataclass
from typing import Literal

from heteroselect.core.part import setting


@dataclass(frozen=True)
class Calibration:
    """Says how many batches each of the first clients drawn runs through the new model.

    Use when the model has batch norm, whose statistics no update carries. Beware: it costs a pass over batches and
    further traffic per round.
    """

    kind = "clients"

    batches: int = setting(20, "number of batches in all for batch-norm statistics after each aggregation", ge=0)
    clients: int = setting(3, "number of clients, the first ones drawn, who give batch-norm statistics", ge=1)
    split: Literal["evenly", "in-turn"] = setting(
        "evenly", "split of the batches: evenly, or each client's whole data in turn (the authors' runs)"
    )

    def plan(self, available: list[int]) -> list[int]:
        """Batches asked of each of the first clients; `available` are the batches that each one's data makes.

        >>> Calibration().plan([19, 19, 19])
        [7, 7, 6]
        >>> Calibration(split="in-turn").plan([16, 16, 16])
        [16, 4, 0]
        """
        asked = available[: self.clients]
        if self.split == "evenly":
            each, more = divmod(self.batches, len(asked))
            return [each + (i < more) for i in range(len(asked))]
        plan, left = [], self.batches
        for batches in asked:
            plan.append(min(batches, left))
            left -= plan[-1]
        return plan
