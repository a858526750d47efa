"""The arrays that the parts of a method hand each other: one number for each client."""

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
