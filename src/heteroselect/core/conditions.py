"""What clients have to work with at a moment: links, devices, and who is there."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from heteroselect.core.arrays import Counts, Reals
from heteroselect.core.part import Misfit
from heteroselect.core.traits import traits_of

VALUE_BITS = 32  # of a kept value, as the paper counts; its position is free there


class Transfers(Protocol):
    """Links whose rate changes during a transfer: how many seconds `bits` take from the simulated second `start` on."""

    def up_seconds(self, client: int, bits: float, start: float) -> float: ...
    def down_seconds(self, client: int, bits: float, start: float) -> float: ...


@runtime_checkable
class Coder(Protocol):
    """A compressor that is unbiased and knows how far off it is: E‖x̂ − x‖² = variance(θ)·‖x‖² at the density θ,
    falling with θ and convex. One with few-bit values of its own may say in `traits.wire_bits` what a coordinate takes
    at θ = 1; at a lower density it takes as much less."""

    def variance(self, density: float) -> float: ...


def without_variance(compress: object) -> Misfit | None:
    """Why a part that goes by the variance cannot work with this compressor, or None."""
    if isinstance(compress, Coder):
        return None
    rule = "is allowed with a compressor that knows its variance, as method.compress.kind=drive"
    return Misfit("compress", f"{rule}; with any other take another kind here")


@dataclass(frozen=True)
class Conditions:
    """Of all clients, or of some: bit/s up and down, seconds per training pass, and who is available, as a world gives
    them. The round adds the `passes` over a batch that everybody is asked for, the number N of coordinates (`size`),
    the bits that a value really takes, and the time budget."""

    up: Reals
    down: Reals
    step_seconds: Reals
    available: NDArray[np.bool_]
    changes: float = math.inf
    """The simulated second, after the present one, at which somebody may come or go next."""
    leaves: Reals | None = None
    """The simulated second until which each client stays; None: everybody stays."""
    transfers: Transfers | None = None
    """Where rates change during a transfer; None: `up` and `down` hold all round long."""
    passes: float = 0.0
    size: int = 0
    real_bits: int | None = None
    """Bits of a value where the ceiling counts real ones, position included; None counts as the paper does."""
    budget_seconds: float = 0.0
    own_passes: Reals | None = None
    """Passes of each client, once its steps are ordered; None: `passes`."""
    coder: Coder | None = None
    """The compressor, where it is one."""

    def only(self, ids: Counts) -> "Conditions":
        """Those of some clients, as a part may know them: without what comes later, which is the world's."""
        return replace(
            self,
            up=self.up[ids],
            down=self.down[ids],
            step_seconds=self.step_seconds[ids],
            available=self.available[ids],
            changes=math.inf,
            leaves=None,
            transfers=None,
            own_passes=None if self.own_passes is None else self.own_passes[ids],
        )

    @property
    def computing(self) -> Reals:
        """Seconds of local training, where everybody is asked for as many passes."""
        return self.passes * self.step_seconds

    @property
    def working(self) -> Reals:
        """Seconds of the local training that each client is ordered."""
        return self.computing if self.own_passes is None else self.own_passes * self.step_seconds

    @property
    def sending(self) -> Reals:
        """Seconds that a whole update is on its way up."""
        return self.bits(1.0) * self.size / self.up

    def bits(self, density: float) -> float:
        """What a kept coordinate takes of the link."""
        return VALUE_BITS if self.real_bits is None else self.real_bits + position_bits(density)

    def sent_bits(self, density: float) -> float:
        """What a coordinate takes of the link as the compressor sends it, where it says so, at about this density."""
        own = traits_of(self.coder).wire_bits
        return self.bits(density) if self.real_bits is None or own is None else own

    def whole(self, density: float) -> Reals:
        """Seconds that a whole update would be on its way up, at what a coordinate takes at about this density."""
        return self.sent_bits(density) * self.size / self.up

    def up_seconds(self, ids: Counts, bits: Reals | float, start: Reals | float) -> Reals:
        """Seconds that `bits` of each client are on their way up, from the simulated second `start` on."""
        if self.transfers is None:
            return bits / self.up[ids]
        return _each(self.transfers.up_seconds, ids, bits, start)

    def down_seconds(self, ids: Counts, bits: Reals | float, start: Reals | float) -> Reals:
        if self.transfers is None:
            return bits / self.down[ids]
        return _each(self.transfers.down_seconds, ids, bits, start)


def _each(
    seconds: Callable[[int, float, float], float], ids: Counts, bits: Reals | float, start: Reals | float
) -> Reals:
    clients, sizes, starts = np.broadcast_arrays(ids, bits, start)
    return np.array([seconds(int(k), float(b), float(s)) for k, b, s in zip(clients, sizes, starts, strict=True)])


def position_bits(density: float) -> float:
    """Entropy of a kept coordinate's position, in bits: h(θ)/θ."""
    if not 0 < density < 1:
        return 0.0
    free = 1 - density
    return -(math.log2(density) + free / density * math.log2(free))
