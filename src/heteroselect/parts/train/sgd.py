"""Local SGD with momentum and a proximal pull to the global model.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated optimization in heterogeneous networks" (FedProx), MLSys 2020.
With μ = 0 it is FedAvg's. Centred gradients are those of Yong, Huang, Hua, Zhang, "Gradient centralization: a new
optimization technique for deep neural networks", ECCV 2020.
"""

from dataclasses import dataclass

from heteroselect.core.part import setting
from heteroselect.core.traits import Traits
from heteroselect.parts.train.solver import STEPS, Job, Local, Trainable, Trained


@dataclass(frozen=True)
class SGD(Local):
    """Takes H steps on F_k(y) + μ/2·‖y − w‖² + ν/2·‖y‖². The clip bounds the gradient of all three.

    With `centre` the gradient of F_k loses, for each unit of each layer, its mean over the unit's inputs: no step
    changes the sum of a unit's weights (the pulls may). Biases are left alone, and so are units with one input. (The
    first dimension of a weight is taken for its units; of an embedding these are its symbols.)

    Use when there is no reason for another solver; `proximal` is FedProx. Beware: many local steps on skewed data drift
    apart.
    """

    kind = "sgd"
    traits = Traits(carries=STEPS, rows=True)

    momentum: float = setting(0.9, "momentum of the local SGD, which starts anew each round", ge=0, lt=1)
    proximal: float = setting(0.0, "strength μ of the pull to the global model (FedProx)", ge=0, tune=(0.001, 1, "log"))
    clip: float = setting(2.0, "norm bound of task plus proximal gradient; 0 does not clip", ge=0)
    decay: float = setting(0.0, "strength ν of the pull to zero (weight decay)", ge=0)
    centre: bool = setting(False, "whether each unit's gradient loses its mean over the unit's inputs")

    def run(self, model: Trainable, job: Job) -> Trained:
        from heteroselect.parts.train.descent import descend

        return descend(
            model,
            job,
            momentum=self.momentum,
            proximal=self.proximal,
            clip=self.clip,
            decay=self.decay,
            centre=self.centre,
        )
