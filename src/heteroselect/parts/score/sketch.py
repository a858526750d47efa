"""A count-sketch: a vector of millions in a few thousand cells, such that inner products survive.

Charikar, Chen, Farach-Colton, "Finding frequent items in data streams", ICALP 2002. Every coordinate goes into one
cell with a random sign; cells are sums. Sketching is linear, so the average of sketches is the sketch of the
average, and a cosine of two sketches is that of the vectors up to about 1/√cells.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.update import Update

if TYPE_CHECKING:
    from heteroselect.core.streams import Streams


def sketch(update: Update, cells: int, streams: "Streams") -> Update:
    """The update in `cells` cells; the same cells and signs for all of a run."""
    cell, sign = _hashes(update.size, cells, streams)
    if not update.is_dense:
        cell, sign = cell[update.positions], sign[update.positions]
    sums = np.bincount(cell, weights=sign * update.values, minlength=cells)
    return Update.whole(sums.astype(np.float32))


@lru_cache(maxsize=2)
def _hashes(size: int, cells: int, streams: "Streams") -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    rng = streams.numpy("sketch")
    cell = rng.integers(0, cells, size, dtype=np.int32)
    sign = 2 * rng.integers(0, 2, size, dtype=np.int8) - 1
    return cell, sign.astype(np.int8)
