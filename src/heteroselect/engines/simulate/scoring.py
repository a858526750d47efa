"""The losses of many clients of a small model from one forward pass.

Asking a hundred clients of a logistic regression for their loss is a hundred tiny matrix products; a block of them at
once is one. A row of a larger product has the bits it has in a smaller one, as far as the processor's kernels go: the
first outputs are compared with those of single clients, number by number, and where one differs in a bit each client
is asked for itself from then on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from heteroselect.core.flat import FlatModel
from heteroselect.core.messages import Question
from heteroselect.data.batches import Ready, to_inputs
from heteroselect.round.client import Client, Task

BLOCK = 10  # clients a forward pass; a few megabytes, which a cache still holds


@dataclass
class Block:
    """The scoring examples of some clients, one after the other."""

    x: Tensor
    y: Tensor
    ends: list[int]
    checked: bool = False

    @staticmethod
    def of(clients: Sequence[Client], count: int) -> "Block":
        parts = [client.subset(count) for client in clients]
        ends = torch.tensor([len(part) for part in parts]).cumsum(0).tolist()
        return Block(torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]), ends)

    def losses(self, model: FlatModel, task: Task, ready: Ready, key: int) -> list[float] | None:
        """Each client's loss; None where a single client's outputs would have other bits."""
        model.module.eval()
        with torch.no_grad():
            try:
                out = ready.through(model.module, key, self.x, model.device)
            except RuntimeError:  # a model that takes batches of some sizes only
                return None
            y, parts = self.y.to(model.device), list(zip([0, *self.ends[:-1]], self.ends, strict=True))
            if not self.checked:
                singly = [model.module(to_inputs(self.x[a:b].clone(), task.pixels, model.device)) for a, b in parts]
                if not torch.equal(out, torch.cat(singly)):
                    return None
                self.checked = True
            return [float(task.loss(out[a:b], y[a:b])) for a, b in parts]


class Scoring:
    """Answers questions block by block where that gives the bits of single answers."""

    def __init__(self, clients: Sequence[Client], task: Task) -> None:
        self.clients, self.task = clients, task
        self.fits = True
        self._blocks: dict[tuple[int, int], Block] = {}
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
        if len(questions) == 1 or not self.fits:
            return [self.clients[q.client].loss(q, model, self.task) for q in questions]
        first = questions[0]
        count = first.batches * first.size
        block = self._blocks.get((first.client, count))
        if block is None:
            block = Block.of([self.clients[q.client] for q in questions], count)
            self._blocks[first.client, count] = block
        found = block.losses(model, self.task, self._ready, first.client)
        if found is None:
            self.fits = False
            return self.answer(questions, model)
        return found
