"""A sparse update: the kept coordinates of a vector and where they stood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.state import PartState

if TYPE_CHECKING:
    from heteroselect.parts.compress.codecs.codec import Coded

Positions = NDArray[np.int64]
Values = NDArray[np.float32]


@dataclass(frozen=True)
class Update:
    """`values` at `positions` (rising) of a vector of `size` coordinates; zero everywhere else."""

    size: int
    positions: Positions
    values: Values
    coded: "Coded | None" = None
    """How the values are sent, where not as float32; `values` are then exactly what the codes stand for."""

    @staticmethod
    def keep(vector: Values, positions: Positions) -> "Update":
        return Update(vector.size, positions, vector.copy() if positions.size == vector.size else vector[positions])

    @staticmethod
    def whole(vector: Values) -> "Update":
        return Update(vector.size, all_positions(vector.size), vector)

    @staticmethod
    def of(arrays: PartState, size: int) -> "Update":
        """From what `arrays` gave."""
        return (
            Update(size, arrays["positions"], arrays["values"])
            if "positions" in arrays
            else Update.whole(arrays["values"])
        )

    def arrays(self) -> PartState:
        """Values, and positions where not all coordinates are kept: as named arrays for a file."""
        return {"values": self.values} if self.is_dense else {"positions": self.positions, "values": self.values}

    @property
    def is_dense(self) -> bool:
        return self.positions.size == self.size

    def dense(self) -> Values:
        vector = np.zeros(self.size, np.float32)
        vector[self.positions] = self.values
        return vector

    def add_to(self, vector: Values, weight: float = 1.0) -> None:
        """vector += weight · update, touching only the kept coordinates."""
        if self.is_dense:
            vector += np.float32(weight) * self.values
        else:
            # faster than vector[…] += …, and no position comes twice
            np.add.at(vector, self.positions, np.float32(weight) * self.values)

    def write(self, row: NDArray[np.float64], start: int) -> None:
        """Its coordinates from `start` on, as far as the row goes, into a row of zeros."""
        stop = min(start + len(row), self.size)
        if self.is_dense:
            row[: stop - start] = self.values[start:stop]
        else:
            # of the positions' own type, or they are converted each time
            first, last = np.searchsorted(self.positions, np.array([start, stop], self.positions.dtype))
            row[self.positions[first:last] - start] = self.values[first:last]

    def norm(self) -> float:
        return self._norm

    @cached_property
    def _norm(self) -> float:
        return norm(self.values)  # asked for every round, computed once

    def dot(self, vector: Values) -> float:
        return dot(self.values, vector if self.is_dense else vector[self.positions])


@lru_cache(maxsize=2)
def all_positions(size: int) -> Positions:
    """0 … N − 1, for updates that keep everything: one array for all of them, as each would be twice its values."""
    positions = np.arange(size, dtype=np.int64)
    positions.setflags(write=False)
    return positions


def answered(given: object, size: int) -> tuple[Update, PartState]:
    """What a compressor gave for a vector of `size` coordinates; else ValueError, which says what is allowed."""
    pair = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
    update, kept = pair
    if not isinstance(update, Update) or not isinstance(kept, Mapping):
        words = [type(one).__name__ for one in given] if isinstance(given, tuple) else [type(given).__name__]
        raise ValueError(
            f"allowed as the answer of compress is (Update, a dict of what is kept), not {', '.join(words)}"
        )
    _check_update(update, size)
    return update, dict(kept)


def _check_update(update: Update, size: int) -> None:
    positions, values = np.asarray(update.positions), np.asarray(update.values)
    if update.size != size or positions.ndim != 1 or positions.shape != values.shape:
        raise ValueError(
            f"allowed is an Update of {size} coordinates with a value at each position, not one of {update.size} with "
            f"{values.size} values at {positions.size} positions"
        )
    if positions.dtype.kind not in "iu" or values.dtype != np.float32:
        raise ValueError(
            f"allowed is an Update of whole positions and float32 values, not of {positions.dtype} and {values.dtype}"
        )
    inside = not len(positions) or (positions[0] >= 0 and positions[-1] < size)
    if not inside or not (positions[1:] > positions[:-1]).all():
        raise ValueError(f"allowed are positions of an Update that rise from one to the next, from 0 to {size - 1}")


def finite(v: Values) -> Values:
    """The same values, all of which are finite; else ValueError."""
    if not np.isfinite(v).all():
        raise ValueError("a coordinate is not finite")
    return v


def to_float32(values: NDArray[Any]) -> Values:
    """Rounded to float32, and cut where it ends instead of becoming infinite."""
    largest = np.finfo(np.float32).max
    return np.clip(values.astype(np.float64), -largest, largest).astype(np.float32)


def dot(a: Values, b: Values) -> float:
    """Summed in double precision and in a fixed order: a BLAS dot may depend on its thread count."""
    return float(np.sum(np.multiply(a, b, dtype=np.float64)))


def apart(updates: Sequence[Update]) -> NDArray[np.float64]:
    """The squared distance of each of one or more updates from their mean.

    >>> apart([Update.whole(np.array([value], np.float32)) for value in (1.0, 3.0, 5.0)]).tolist()
    [4.0, 0.0, 4.0]
    """
    mean = np.zeros(updates[0].size, np.float32)
    for update in updates:
        update.add_to(mean, 1 / len(updates))
    length = dot(mean, mean)
    squares = np.array([update.norm() ** 2 - 2 * update.dot(mean) + length for update in updates])
    return squares.clip(min=0.0)


def norm(a: Values) -> float:
    return float(np.sqrt(dot(a, a)))
