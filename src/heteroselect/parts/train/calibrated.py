"""Local SGD whose loss knows which labels the client has: what is learnt of the classes does not follow their shares.

With log-shares added to the class scores the loss explains the frequencies by itself, and the model learns the rest:
Ren et al., "Balanced meta-softmax for long-tailed visual recognition", NeurIPS 2020, and Menon et al., "Long-tail
learning via logit adjustment", ICLR 2021; for federated learning FedLC (Zhang et al., "Federated learning with label
distribution skew via logits calibration", ICML 2022), whose margin is a power of the counts instead.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heteroselect.core.part import FieldError, setting
from heteroselect.parts.train.solver import Job, Local, Trainable, Trained

if TYPE_CHECKING:
    from torch import Tensor

    from heteroselect.core.flat import Loss


@dataclass(frozen=True)
class Calibrated(Local):
    """Takes H steps of SGD on loss(o + τ·log p, y), with o the scores of the classes and p their shares at this client:
    (count + smoothing) ÷ the sum of that over all classes. For classification only.

    Use when labels are skewed between clients. Beware: it is for classification only, and `smoothing` decides how hard
    absent classes are held back.
    """

    kind = "calibrated"

    momentum: float = setting(0.9, "momentum of the local SGD, which starts anew each round", ge=0, lt=1)
    clip: float = setting(2.0, "norm bound of the gradient; 0 does not clip", ge=0)
    strength: float = setting(1.0, "factor τ on the log-shares of classes; 0 is SGD", ge=0, tune=(0.1, 2, "linear"))
    smoothing: float = setting(1.0, "number of examples that each class is given beside its own", gt=0)

    def run(self, model: Trainable, job: Job) -> Trained:
        from heteroselect.parts.train.descent import descend

        if self.strength and job.labels is not None:
            job = replace(job, loss=self._calibrated(job.loss, job.labels))
        return descend(model, job, momentum=self.momentum, clip=self.clip)

    def _calibrated(self, loss: "Loss", labels: "Tensor") -> "Loss":
        import torch

        if labels.dim() != 1 or labels.is_floating_point():
            raise FieldError("", "calibrated goes by classes: allowed is data whose y is one class per example")

        def calibrated(outputs: "Tensor", y: "Tensor") -> "Tensor":
            counts = torch.bincount(labels, minlength=outputs.shape[-1]).to(outputs) + self.smoothing
            return loss(outputs + self.strength * (counts / counts.sum()).log(), y)

        return calibrated
