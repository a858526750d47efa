"""Uniform selection without replacement (McMahan et al., "Communication-efficient learning of deep networks from
decentralized data", AISTATS 2017), and the selection of everybody."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heteroselect.arrays import Reals
from heteroselect.cohort import Cohort, Situation


@dataclass(frozen=True)
class Uniform:
    """Everybody is as likely: m of K, whatever their scores."""

    kind: ClassVar[str] = "uniform"

    def select(self, scores: Reals, here: Situation) -> Cohort:
        clients = len(here.ids)
        places = here.random.choice(clients, here.size, replace=False)
        return here.cohort(places, np.full(here.size, here.size / clients))


@dataclass(frozen=True)
class Everybody:
    """All candidates, in the order of their numbers; for methods that select after training."""

    kind: ClassVar[str] = "everybody"

    def select(self, scores: Reals, here: Situation) -> Cohort:
        return here.cohort(np.arange(len(here.ids)))
