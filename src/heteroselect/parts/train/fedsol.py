"""FedSOL: the task's gradient at a point that is further from the global model, so that a step undoes less of it.

Lee, Jeong, Kim, Oh, Yun, "FedSOL: Stabilized orthogonal learning with proximal restrictions in federated learning",
CVPR 2024, by the authors' code. Chosen here: the global model runs in evaluation mode, which the code leaves to what
came before. Left out: the code's fixed Λ.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heteroselect.core.part import FieldError, setting
from heteroselect.core.traits import Traits
from heteroselect.parts.train.solver import STEPS, Job, Local, Trainable, Trained

if TYPE_CHECKING:
    from torch import Tensor

    from heteroselect.core.flat import Loss

TEMPERATURE = 3.0  # what both models' outputs are divided by


@dataclass(frozen=True)
class FedSOL(Local):
    """Takes H steps of SGD with the task's gradient at y + ρ·Λ∘q/‖q‖, where q is the gradient of
    KL(softmax(global/T) ‖ softmax(local/T)) at y with T = 3, and Λ is |y − w|, so further where a parameter has moved.

    Use when local training forgets what the global model knows. Beware: it makes more passes per step than SGD, and is
    for classification only.
    """

    kind = "fedsol"
    traits = Traits(carries=STEPS, passes=7 / 3)
    # two passes, and the global model forwards, which is a third of one

    momentum: float = setting(0.9, "momentum of the local SGD, which starts anew each round", ge=0, lt=1)
    clip: float = setting(0.0, "norm bound of the task's gradient; 0 does not clip", ge=0)
    rho: float = setting(1.0, "distance ρ from y at which the gradient is taken; 0 is SGD", ge=0, tune=(0.1, 10, "log"))

    def run(self, model: Trainable, job: Job) -> Trained:
        from heteroselect.parts.train.descent import descend

        return descend(_Perturbed(model, self.rho), job, momentum=self.momentum, clip=self.clip)


class _Perturbed:
    """A model whose `backward` leaves the task's gradient at a perturbed point, and everything else as SGD's would."""

    def __init__(self, model: Trainable, rho: float) -> None:
        self.model, self.rho, self.moved = model, rho, False
        self.module, self.vector, self.gradient = model.module, model.vector, model.gradient
        self.outputs = model.outputs
        trained = ((name, p) for name, p in self.module.named_parameters() if p.requires_grad)
        self.start = {name: p.detach().clone() for name, p in trained}
        self.buffers = {name: buffer.clone() for name, buffer in self.module.named_buffers()}

    def backward(self, loss: "Loss", x: "Tensor", y: "Tensor") -> "Tensor":
        """Returns the loss at y itself, where this step starts."""
        if not self.moved:  # y = w: there is nothing to move away from, and q/‖q‖ would be rounding
            self.moved = True
            value = self.model.backward(lambda outputs, targets: loss(_scores(outputs), targets), x, y)
            self.outputs = self.model.outputs
            return value
        value = self._towards(loss, x, y)
        point, statistics = self.vector.clone(), [buffer.clone() for buffer in self.module.buffers()]
        self._perturb()
        self.model.backward(loss, x, y)
        self.vector.copy_(point)
        for buffer, before in zip(self.module.buffers(), statistics, strict=True):
            buffer.copy_(before)
        return value

    def _towards(self, loss: "Loss", x: "Tensor", y: "Tensor") -> "Tensor":
        """Leaves q in `gradient`; returns the task's loss."""
        import torch
        from torch.nn.functional import kl_div

        values: list[Tensor] = []
        self.module.eval()
        with torch.no_grad():
            outputs = torch.func.functional_call(self.module, {**self.start, **self.buffers}, (x,))
            target = torch.softmax(outputs / TEMPERATURE, 1)
        self.module.train()

        def apart(outputs: "Tensor", targets: "Tensor") -> "Tensor":
            values.append(loss(outputs.detach(), targets))
            return kl_div(torch.log_softmax(outputs / TEMPERATURE, 1), target, reduction="batchmean")

        self.model.backward(apart, x, y)
        self.outputs = self.model.outputs
        return values[0]

    def _perturb(self) -> None:
        """y ← y + ρ·Λ∘q/(‖q‖ + 1e-12); Λ is |y − w| with norm 1 along the first dimension of each parameter."""
        import torch
        from torch.nn.functional import normalize

        scale = self.rho / (torch.linalg.vector_norm(self.gradient) + 1e-12)
        trained = [parameter for parameter in self.module.parameters() if parameter.requires_grad]
        with torch.no_grad():
            for parameter, start in zip(trained, self.start.values(), strict=True):
                assert parameter.grad is not None
                along = normalize((parameter - start).abs(), dim=0)
                parameter.add_(along * parameter.grad * scale)


def _scores(outputs: "Tensor") -> "Tensor":
    if outputs.dim() != 2:
        raise FieldError("", "fedsol compares class scores: allowed is a model with one row of them per example")
    return outputs
