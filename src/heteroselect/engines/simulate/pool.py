"""Workers on one machine: a pool of threads, one flat model per thread.

Every worker runs its operators on one thread, so the bits of what it computes do not depend on how many workers there
are; two workers do twice the steps of one because torch releases the interpreter's lock.
"""

import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import nn

from heteroselect.core.flat import FlatModel, Layout, Weights
from heteroselect.engines.simulate.allocator import keep_freed_memory
from heteroselect.engines.simulate.together import SMALL

A = TypeVar("A")
B = TypeVar("B")


class Pool:
    """Use as a context manager: it takes torch's intra-op threads down to one and gives them back."""

    def __init__(self, module: nn.Module, *, threads: int = 1, device: str = "cpu") -> None:
        self.threads = threads
        self._models: queue.SimpleQueue[FlatModel] = queue.SimpleQueue()
        for _ in range(threads):
            model = FlatModel(module, device)
            self._models.put(model)
        self.layout: Layout = model.layout
        if self.layout.size > SMALL:
            keep_freed_memory()
        self._before = torch.get_num_threads()
        self._pool = ThreadPoolExecutor(threads, "client", initializer=torch.set_num_threads, initargs=(1,))

    def __enter__(self) -> "Pool":
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(self._before)

    def each(self, work: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """`work` on every item; results in the order of the items."""
        return list(self._pool.map(work, items))

    def map(self, weights: Weights, work: Callable[[A, FlatModel], B], items: Sequence[A]) -> list[B]:
        """`work` on every item, with a model that holds `weights`; results in the order of the items."""

        def one(item: A) -> B:
            model = self._models.get()
            try:
                model.load(weights)
                return work(item, model)
            finally:
                self._models.put(model)

        return self.each(one, items)
