"""Local SGD with momentum and a proximal pull to the global model.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated optimization in heterogeneous networks" (FedProx), MLSys 2020.
With μ = 0 it is FedAvg's. Centred gradients are those of Yong, Huang, Hua, Zhang, "Gradient centralization: a new
optimization technique for deep neural networks", ECCV 2020.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from heteroselect.compress.update import Values
from heteroselect.part import setting
from heteroselect.train.solver import Job, Local, Trainable, Trained

if TYPE_CHECKING:
    from heteroselect.flat import Span


@dataclass(frozen=True)
class SGD(Local):
    """H steps on F_k(y) + μ/2·‖y − w‖² + ν/2·‖y‖². The clip bounds the gradient of all three.

    With `centre` this gradient loses, for each unit of each layer, its mean over the unit's inputs, before it is
    clipped: no step changes the sum of a unit's weights. Biases are left alone, and so are units with one input. (The
    first dimension of a weight is taken for its units; of an embedding these are its symbols.) The server does the same
    with what arrives: along these sums the loss is steepest, and no client would correct what the error of a coder does
    to them.
    """

    kind: ClassVar[str] = "sgd"
    rows: ClassVar[bool] = True

    momentum: float = setting(0.9, "of the local SGD, fresh each round", ge=0, lt=1)
    proximal: float = setting(0.0, "μ, the pull to the global model (FedProx)", ge=0, tune=(0.001, 1, "log"))
    clip: float = setting(2.0, "norm bound of task plus proximal gradient; 0 does not clip", ge=0)
    decay: float = setting(0.0, "ν, the pull to zero (weight decay)", ge=0)
    centre: bool = setting(False, "subtract from each unit's gradient its mean over the unit's inputs")

    def run(self, model: Trainable, job: Job) -> Trained:
        from heteroselect.train.descent import descend

        return descend(
            model,
            job,
            momentum=self.momentum,
            proximal=self.proximal,
            clip=self.clip,
            decay=self.decay,
            centre=self.centre,
        )

    def confined(self, aggregate: Values, tensors: "Sequence[Span]") -> Values:
        """Without the mean of each unit's weights, where gradients are centred."""
        if not self.centre:
            return aggregate
        found = aggregate.copy()
        for tensor in [one for one in tensors if len(one) > one.rows]:  # a single value is its own mean
            rows = found[tensor.slice].reshape(tensor.rows, -1)
            rows -= rows.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
        return found
