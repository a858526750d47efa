"""The losses of many clients of a small model from one forward pass.

Asking a hundred clients of a logistic regression for their loss is a hundred tiny matrix products; a block of them at
once is one. A row of a larger product has the bits it has in a smaller one, as far as the processor's kernels go: the
first outputs are compared with those of single clients, number by number, and where one differs in a bit each client
is asked for itself from then on.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Question
from heteroselect.data.batches import Ready, to_inputs
from heteroselect.round.client import Client, Task

BLOCK = 10  # clients a forward pass; a few megabytes, which a cache still holds


class Scoring:
    """Answers questions block by block where that gives the bits of single answers."""

    def __init__(self, clients: Sequence[Client], task: Task) -> None:
        self.clients, self.task = clients, task
        self.fits = True
        self._blocks: dict[tuple[int, int], tuple[Tensor, Tensor, list[slice]]] = {}
        self._checked: set[tuple[int, int]] = set()
        self._ready = Ready(task.pixels)

    def split(self, questions: Sequence[Question]) -> list[Sequence[Question]]:
        """Whole blocks of equal questions to all their clients, in order; any others one by one."""
        parts: list[Sequence[Question]] = []
        at = 0
        while at < len(questions):
            block = questions[at : at + BLOCK]
            alike = {(q.batches, q.size, q.augmented) for q in block} == {(block[0].batches, block[0].size, False)}
            first = block[0].client
            whole = [q.client for q in block] == list(range(first, min(first + BLOCK, len(self.clients))))
            size = len(block) if self.fits and alike and whole and first % BLOCK == 0 else 1
            parts.append(questions[at : at + size])
            at += size
        return parts

    def answer(self, questions: Sequence[Question], model: FlatModel) -> list[float]:
        if len(questions) > 1 and self.fits:
            found = self._together(questions, model)
            if found is not None:
                return found
            self.fits = False
        return [self.clients[q.client].loss(q, model, self.task) for q in questions]

    def _together(self, questions: Sequence[Question], model: FlatModel) -> list[float] | None:
        """The losses of a block; None where a single client's outputs would have other bits."""
        key = questions[0].client, questions[0].batches * questions[0].size
        if key not in self._blocks:
            self._blocks[key] = self._block([q.client for q in questions], key[1])
        x, y, spans = self._blocks[key]
        model.module.eval()
        with torch.no_grad():
            try:
                out = self._ready.through(model.module, key[0], x, model.device)
            except RuntimeError:  # a model that takes batches of some sizes only
                return None
            if key not in self._checked:
                inputs = [to_inputs(x[span].clone(), self.task.pixels, model.device) for span in spans]
                if not torch.equal(out, torch.cat([model.module(one) for one in inputs])):
                    return None
                self._checked.add(key)
            y = y.to(model.device)
            return [float(self.task.loss(out[span], y[span])) for span in spans]

    def _block(self, clients: Sequence[int], count: int) -> tuple[Tensor, Tensor, list[slice]]:
        """The scoring examples of some clients, one after the other, and where each client's are."""
        parts = [self.clients[client].subset(count) for client in clients]
        ends = torch.tensor([len(part) for part in parts]).cumsum(0).tolist()
        spans = [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
        return torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]), spans
