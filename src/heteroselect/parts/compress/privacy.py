"""Privacy: what a client does to its update before anything else looks at it.

The promise that follows, and what it takes for granted, is reckoned in `accountant`; here is what a client does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from heteroselect.core.part import Misfit, setting
from heteroselect.core.traits import Traits, traits_of
from heteroselect.core.update import Values, finite, norm

_ROUNDING = 1 - 2.0**-20  # float32 rounds each coordinate by less than 2⁻²⁴ of it: the length stays below the bound


@dataclass(frozen=True)
class NoPrivacy:
    """Leaves the update as it is, and what the client reports with it.

    Use when updates may be seen by the server. Beware: it promises nothing.
    """

    kind: ClassVar[str] = "none"

    def protect(self, delta: Values, rng: np.random.Generator) -> Values:
        return delta


@dataclass(frozen=True)
class Gaussian:
    """Clips and adds noise: Δ·min(1, C/‖Δ‖) + N(0, (σC)²) in every coordinate, and no report: the update of a user,
    clipped and with noise of the client's own (McMahan, Ramage, Talwar, Zhang, "Learning differentially private
    recurrent language models", ICLR 2018, whose noise is the server's).

    What a coder makes of it afterwards is as private as the noisy update itself. All that decides a round must be blind
    to data: who is drawn, how much each may send, and how much each counts. `heteroselect privacy` says what it gives.

    Use when users need a bound on what their updates reveal. Beware: a small cohort needs noise that drowns the update;
    many kinds are refused with it.
    """

    kind: ClassVar[str] = "gaussian"
    traits = Traits(
        brings={"weigh": {"kind": "uniform"}},
        requires={
            "score": ("none",),
            "select": ("uniform", "everybody"),
            "second_selection": ("none",),
            "allocate": ("all", "uniform"),
            "error_feedback": ("none",),
            "async_mode": ("all",),
            "weigh": ("uniform",),
        },
        hides=True,
    )

    clip: float = setting(1.0, "length C that longer updates are cut to", gt=0, tune=(0.1, 10, "log"))
    noise: float = setting(
        1.0, "standard deviation σ of a client's noise in each coordinate, as a multiple of clip", gt=0
    )

    def fits(self, parts: Mapping[str, Any]) -> Misfit | None:
        """Why it cannot work with these parts, or None."""
        if traits_of(parts["compress"]).passes:
            kind = getattr(parts["compress"], "kind", "this compressor")
            return Misfit("compress", f"is not allowed with compress {kind}, which looks at the client's data again")
        if hasattr(
            parts["solver"], "update_state"
        ):  # what a client keeps has its earlier noise in it, which it sends again
            kind = getattr(parts["solver"], "kind", "this solver")
            return Misfit("solver", f"is not allowed with solver {kind}, whose clients keep what they sent")
        return None

    def cautions(self, parts: Mapping[str, Any]) -> Iterator[str]:
        """What works, and is worth little."""
        compress = parts["compress"]
        kind = getattr(compress, "kind", type(compress).__name__)
        if kind != "none" and not traits_of(compress).unbiased:
            yield f"privacy gaussian with compress {kind}: what is largest in a noisy update is mostly noise"

    def protect(self, delta: Values, rng: np.random.Generator) -> Values:
        """The clipped update with noise; of the length of what was learnt nothing is left but that it is at most C."""
        noisy = self.clipped(delta) + self.noise * self.clip * rng.standard_normal(delta.size)
        return noisy.astype(np.float32)

    def clipped(self, delta: Values) -> Values:
        """The update, cut to the length C.

        >>> Gaussian(clip=5.0).clipped(np.array([30, 40], np.float32)).round(3).tolist()
        [3.0, 4.0]
        """
        length = norm(finite(delta))
        return delta if length <= self.clip * _ROUNDING else delta * np.float32(_ROUNDING * self.clip / length)


PRIVACY = (NoPrivacy, Gaussian)
