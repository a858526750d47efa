"""Lean with the paper's score in charge again: who takes part, and how much each counts. For `make lean`, beside lean
itself.

The losses are those that clients reported when they last trained: to ask everybody each round would cost more time than
the training.
"""

from dataclasses import replace

from heteroselect import methods
from heteroselect.parts.aggregate import ByScore
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import Softmax

scored = replace(
    methods.get("lean"),
    name="lean-scored",
    score=Informativeness(mode="stale"),
    select=Softmax(),
    weigh=ByScore(),
)
