"""signSGD with majority vote: each coordinate goes one fixed step the way most clients want it to.

Bernstein, Zhao, Azizzadenesheli, Anandkumar, "signSGD with majority vote is communication efficient and fault
tolerant", ICLR 2019. One bit a coordinate goes up; the model goes down as it is. The step is method.options.rate. It
starts slowly: above 80 % on MNIST after 10 rounds with a step of 0.01.
"""

from dataclasses import replace
from typing import Any

from heteroselect.aggregate.majority import Majority
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **parts.PLAIN,
    "method.compress.kind": "sign",
    "method.compress.sign_scale": "step",
    "method.aggregate.weights": "uniform",
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform(), server=parts.tuned(Majority(rate=0.01), settings))
