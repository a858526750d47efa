"""What an allocator is told, made by hand."""

from dataclasses import replace
from typing import Any

import numpy as np

from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.parts.allocate import Allocation

NOW = Moment(3, 10)


def links(up: Any, computing: Any = 0.0, *, budget: float = 10.0, size: int = 1, **more: Any) -> Conditions:
    """Links of so many bit/s, and devices that compute for so many seconds."""
    up = np.array(up, float)
    step_seconds = np.broadcast_to(np.array(computing, float), up.shape)
    available = np.ones(len(up), bool)
    given = {"passes": 1.0, "budget_seconds": budget, "size": size, **more}
    return Conditions(up, up, step_seconds, available, **given)


def capped(*caps: float) -> Conditions:
    """Links for which B·T/(32N) is just the given ceilings: N = 10⁶ and T = 32 s leave B/10⁶."""
    return links(np.array(caps) * 1e6, 15.0, budget=32.0, size=10**6)


def context(
    conditions: Conditions, moment: Moment = NOW, *, norms: Any = None, sizes: Any = None, **more: Any
) -> SelectionContext:
    """The clients of these links, and what they reported."""
    clients = len(conditions.up)
    population = Population.new(np.full(clients, 10) if sizes is None else np.array(sizes))
    if norms is not None:
        population = replace(population, reports={"norm": np.array(norms, float)})
    return SelectionContext(moment, np.arange(clients), population, conditions=conditions, **more)


def allocate(part: Any, scores: Any, situation: SelectionContext, share: Any = None) -> Allocation:
    """Its answer for all clients of the situation."""
    cohort = Cohort(situation.ids, np.ones(len(situation.ids)), share=None if share is None else np.array(share, float))
    found: Allocation = part.allocate(np.array(scores, float), cohort, situation)
    return found
