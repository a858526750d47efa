"""A torch module as one flat vector: what the server averages, and what a client sends a part of."""

import hashlib
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from heteroselect.core.arrays import Counts
from heteroselect.core.trail import DownlinkHistory
from heteroselect.errors import HeteroSelectError

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Span:
    """A named stretch of the flat vector: one parameter, or one layer."""

    name: str
    start: int
    stop: int

    @property
    def slice(self) -> slice:
        return slice(self.start, self.stop)

    def __len__(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Layout:
    """Where each parameter and each layer (all parameters that one module holds itself) lives in the flat vector.
    `tensors` are the parameters of two or more dimensions: neither biases nor what batch-norm trains."""

    size: int
    parameters: tuple[Span, ...]
    layers: tuple[Span, ...]
    tensors: tuple[Span, ...] = ()

    @property
    def layer_ends(self) -> list[int]:
        return [layer.stop for layer in self.layers]


@dataclass(frozen=True)
class Weights:
    """A model's state apart from any module: trained parameters (flat) and buffers (batch-norm statistics). On its way
    down it may have a `trail`: then clients fetch the coded steps that they lack, and the buffers."""

    vector: Tensor
    buffers: dict[str, Tensor]
    trail: DownlinkHistory | None = None

    @property
    def nbytes(self) -> int:
        """What it takes to send them as they are."""
        tensors = [self.vector, *self.buffers.values()]
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    @property
    def downloads(self) -> Counts | None:
        """The bytes that each client fetches to have this model; None: the whole of it."""
        beside = self.nbytes - self.vector.numel() * self.vector.element_size()
        return None if self.trail is None else self.trail.bytes() + beside

    @property
    def has_statistics(self) -> bool:
        """Whether there are batch-norm statistics among the buffers."""
        return any(name.endswith("running_mean") for name in self.buffers)

    def sha256(self) -> str:
        digest = hashlib.sha256(self.vector.numpy().tobytes())
        for name, value in sorted(self.buffers.items()):
            digest.update(name.encode())
            digest.update(value.numpy().tobytes())
        return digest.hexdigest()


class FlatModel:
    """A module whose parameters (and their gradients) are views of two flat vectors: the proximal term, clipping and
    momentum are a few passes over one vector, and loading a model is one copy."""

    def __init__(self, module: nn.Module, device: str | torch.device = "cpu") -> None:
        self.module = deepcopy(module).to(device)
        self.device = torch.device(device)
        trained = [(name, p) for name, p in self.module.named_parameters() if p.requires_grad]
        if not trained:
            raise HeteroSelectError("model: it has no parameter to train.")
        if any(p.dtype != torch.float32 for _, p in trained):
            raise HeteroSelectError("model: every trained parameter must be float32.")
        self.layout = _layout(trained)
        self.vector = torch.empty(self.layout.size, device=self.device)
        self.gradient = torch.zeros(self.layout.size, device=self.device)
        self.outputs = torch.empty(0)
        self.views: list[nn.Parameter] = []
        for (_, parameter), span in zip(trained, self.layout.parameters, strict=True):
            view = shaped(self.vector[span.slice], parameter)
            view.copy_(parameter.detach())
            grad = shaped(self.gradient[span.slice], parameter)
            parameter.data, parameter.grad = view, grad
            self.views.append(parameter)

    def load(self, weights: Weights) -> None:
        self.vector.copy_(weights.vector)
        with torch.no_grad():
            for name, buffer in self.module.named_buffers():
                buffer.copy_(weights.buffers[name])

    def weights(self) -> Weights:
        """A copy of the present state, on the CPU."""
        return Weights(self.vector.cpu().clone(), self.buffers())

    def buffers(self) -> dict[str, Tensor]:
        return {name: buffer.detach().cpu().clone() for name, buffer in self.module.named_buffers()}

    def state_dict(self) -> dict[str, Tensor]:
        """The module's own state, each tensor apart, ready for a safetensors file."""
        return {name: value.detach().cpu().clone().contiguous() for name, value in self.module.state_dict().items()}

    def backward(self, loss: Loss, x: Tensor, y: Tensor) -> Tensor:
        """Leave the gradient of the loss of one batch in `self.gradient`, and the outputs; give the loss."""
        self.gradient.zero_()
        self.outputs = self.module(x)
        value = loss(self.outputs, y)
        value.backward()  # type: ignore[no-untyped-call]
        return value.detach()


def shaped(flat: Tensor, like: Tensor) -> Tensor:
    """A stretch of a flat vector, or of each row of a matrix of them, seen as a parameter. It has the parameter's own
    order in memory: the weights of a convolution may lie with their channels together, which its kernels like."""
    rows = flat.shape[:-1]
    if not _channels_last(like):
        return flat.view(*rows, *like.shape)
    out, channels, *kernel = like.shape
    return flat.view(*rows, out, *kernel, channels).movedim(-1, -3)


def flattened(tensor: Tensor, like: Tensor) -> Tensor:
    """The other way round: what is shaped like a parameter, in the order of the flat vector."""
    return (tensor.movedim(1, -1) if _channels_last(like) else tensor).reshape(-1)


def _channels_last(parameter: Tensor) -> bool:
    if parameter.dim() != 4 or parameter.is_contiguous():
        return False
    return parameter.is_contiguous(memory_format=torch.channels_last)


def _layout(trained: list[tuple[str, nn.Parameter]]) -> Layout:
    parameters: list[Span] = []
    layers: list[Span] = []
    end = 0
    for name, parameter in trained:
        start, end = end, end + parameter.numel()
        parameters.append(Span(name, start, end))
        owner = name.rpartition(".")[0]
        if layers and layers[-1].name == owner:
            layers[-1] = Span(owner, layers[-1].start, end)
        else:
            layers.append(Span(owner, start, end))
    tensors = [span for span, (_, p) in zip(parameters, trained, strict=True) if p.dim() > 1]
    return Layout(end, tuple(parameters), tuple(layers), tuple(tensors))
