"""Lean with the paper's score in charge again: who speaks, and how loudly. For `make lean`, beside lean itself.

The losses are those that clients reported when they last trained: to ask everybody each round would cost more time than
the training.
"""

from dataclasses import replace

from heteroselect import methods
from heteroselect.aggregate import ClientWeights
from heteroselect.method import Method
from heteroselect.score import Informativeness
from heteroselect.select import Softmax
from heteroselect.settings import MethodSettings


def scored(settings: MethodSettings) -> Method:
    lean = methods.build(settings)
    return replace(
        lean, name="lean-scored", score=Informativeness(mode="stale"), select=Softmax(), weigh=ClientWeights("score")
    )
