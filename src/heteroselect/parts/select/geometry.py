"""How far apart are clients? Distances and angles between their last uploads, all from one table of inner products.

A client without an upload is given a place: that of the mean of all uploads (`mean`), or the origin (`zero`).
"""

from typing import Literal

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.population import Population
from heteroselect.core.update import Update

CELLS = 2**19  # of the block of uploads that is multiplied at a time: 4 MB, much larger ones are many times slower
SKETCH = "cells of the sketch that uploads are remembered by; 0 remembers them whole"  # of each part that compares them
NEGLIGIBLE = 1e-12  # of two squared lengths: nearer than this is the same place


def gram(population: Population, unseen: Literal["mean", "zero"] = "mean") -> Reals:
    """⟨u_i, u_j⟩ of all K clients, each in its place."""
    clients = len(population)
    seen = sorted(population.uploads)
    # everybody's place as a mixture of uploads: one's own, or equal parts of all
    places = np.zeros((clients, len(seen)))
    if seen:
        if unseen == "mean":
            places[:] = 1 / len(seen)
        places[seen] = np.eye(len(seen))
    return places @ inner([population.uploads[k] for k in seen]) @ places.T


def inner(updates: list[Update]) -> Reals:
    """The inner products of some updates, dense or sparse, a block of coordinates at a time."""
    table = np.zeros((len(updates), len(updates)))
    if not updates:
        return table
    size = updates[0].size
    width = min(size, max(1, CELLS // len(updates)))
    block = np.empty((len(updates), width))
    for start in range(0, size, width):
        block[:] = 0.0
        for row, update in zip(block, updates, strict=True):
            update.write(row, start)
        table += block @ block.T
    return table


def distances(gram: Reals) -> Reals:
    """‖u_i − u_j‖, to single precision: the last bits of a matrix product are the machine's, and decide nothing."""
    lengths = np.diag(gram)
    both = lengths[:, None] + lengths[None, :]
    squares = both - (gram + gram.T)
    squares[squares <= NEGLIGIBLE * both] = 0.0
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(squares).astype(np.float32).astype(np.float64)


def angles(gram: Reals) -> Reals:
    """arccos of the cosine. A client at the origin is alike to others there, and at a right angle to everybody else."""
    lengths = np.sqrt(np.diag(gram))
    somewhere = lengths > 0
    scaled = gram / np.where(somewhere, lengths, 1.0) / np.where(somewhere, lengths, 1.0)[:, None]
    scaled[np.ix_(~somewhere, ~somewhere)] = 1.0
    found = np.arccos(np.clip((scaled + scaled.T) / 2, -1.0, 1.0))
    found[found < np.sqrt(NEGLIGIBLE)] = 0.0
    np.fill_diagonal(found, 0.0)
    return found.astype(np.float32).astype(np.float64)
