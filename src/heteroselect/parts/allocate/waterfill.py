"""Share out a total in proportion to scores, each share between its own bounds."""

import numpy as np

from heteroselect.core.arrays import Reals

NEGLIGIBLE = 1e-12  # of the highest score: a smaller one counts as none


def waterfill(scores: Reals, total: float, caps: Reals, minimum: float) -> Reals:
    """θ_k = clip(λ·S_k, θ_min, cap_k) with the λ for which they add up to `total`, as far as the bounds allow. Clients
    without a score get the minimum, and share equally what the others cannot take.

    >>> waterfill(np.array([1.0, 1.0, 2.0]), 0.6, np.array([1.0, 1.0, 0.25]), 0.005).round(3).tolist()
    [0.175, 0.175, 0.25]
    """
    low, high = np.full(len(scores), minimum), np.clip(caps, minimum, 1.0)
    scored = scores > NEGLIGIBLE * scores.max()
    if total <= low.sum():
        return low
    if not scored.any():
        return waterfill(np.ones(len(scores)), total, caps, minimum)
    filled = np.where(scored, high, low)
    if total >= filled.sum():
        if not scored.all():
            rest = total - high[scored].sum()
            filled[~scored] = waterfill(np.ones(int((~scored).sum())), rest, caps[~scored], minimum)
        return filled
    shares = scores[scored] / scores.max()
    room = total - low[~scored].sum()
    low, high = low[scored], high[scored]
    # the sum rises with λ, and is a straight line between the levels where a client leaves a bound
    levels = np.sort(np.concatenate([low / shares, high / shares]))
    sums = np.clip(levels[:, None] * shares, low, high).sum(1)
    level = np.interp(room, sums, levels)
    filled[scored] = np.clip(level * shares, low, high)
    return filled
