"""Softmax selection without replacement (eq. 6), drawn as Gumbel-top-M."""

from dataclasses import dataclass

from heteroselect.core.arrays import Reals
from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.moment import Moment
from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.select.draws import gumbel_top


@dataclass(frozen=True)
class Softmax:
    """Draws with p ∝ exp(S/τ(t)), with a temperature that falls from exploration to exploitation.

    Use when the score is to guide the draw and chance is to keep it open. Beware: without weights `inverse` clients
    with a high score pull the model towards their data.
    """

    kind = "softmax"
    traits = Traits(needs={"scores"}, brings={"score": {"kind": "informativeness"}})

    temperature: float = setting(
        1.0, "temperature τ₀ of the softmax in the first round (eq. 6)", gt=0, tune=(0.1, 10, "log")
    )
    decay: float = setting(0.5, "share of the temperature τ₀ that is lost by round T", ge=0, lt=1)

    def tau(self, moment: Moment) -> float:
        """τ(t) = τ₀(1 − 0.5·min(t/T, 1))   (below eq. 6)"""
        return self.temperature * (1 - self.decay * moment.progress)

    def select(self, scores: Reals, context: SelectionContext) -> Cohort:
        tau = self.tau(context.moment)
        drawn = gumbel_top(scores / tau, context.size, context.random)
        return context.cohort(drawn.places, drawn.inclusion, tau=tau)
