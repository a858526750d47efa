"""What the model is worth on the test set; the same object on every engine."""

import math

import torch
from torch import Tensor

from heteroselect.core.draws import drawing_from
from heteroselect.core.evaluate import Function
from heteroselect.core.flat import FlatModel, Weights
from heteroselect.core.streams import Streams
from heteroselect.data.batches import Ready
from heteroselect.data.examples import Examples
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import Diverged, HeteroSelectError
from heteroselect.round.client import Task

BATCH = 500  # fixed: with it, and not with the number of threads, go the bits of an evaluation


class Evaluator:
    """Runs the model over the test set, in the pool's threads."""

    def __init__(self, pool: Pool, test: Examples, task: Task, metric: Function, streams: Streams) -> None:
        self.pool, self.test, self.task, self.metric, self.streams = pool, test, task, metric, streams
        self._ready = Ready(task.pixels)

    def on(self, test: Examples) -> "Evaluator":
        """The same on other examples."""
        return Evaluator(self.pool, test, self.task, self.metric, self.streams)

    def evaluate(self, weights: Weights) -> float:
        return self.value(self.outputs(weights))

    def value(self, outputs: Tensor) -> float:
        """What the metric makes of the model's answers."""
        answer = self.metric(outputs, self.test.y)
        try:
            value = float(answer)
        except (TypeError, ValueError, RuntimeError) as error:  # of Python, numpy and torch
            raise HeteroSelectError(
                f"metric: it gave a {type(answer).__name__} on the test set; allowed is one finite number."
            ) from error
        if not math.isfinite(value):
            raise Diverged(f"metric: it gave {value} on the test set; try a smaller method.lr.start.")
        return value

    def outputs(self, weights: Weights) -> Tensor:
        """What the model answers for every test example."""
        chunks = torch.split(self.test.x, BATCH)

        def work(number: int, model: FlatModel) -> Tensor:
            generator = self.streams.torch("evaluation", client=number, device=model.device)
            model.module.eval()
            with torch.no_grad(), drawing_from(generator, self.task.draws):
                return self._ready.through(model.module, number, chunks[number], model.device).cpu()

        return torch.cat(self.pool.map(weights, work, range(len(chunks))))
