"""What a training step of a model takes, counted in operations by torch's own counter."""

import torch
from torch import Tensor

from heteroselect.core.draws import Draws, drawing_from
from heteroselect.core.flat import FlatModel, Loss
from heteroselect.errors import HeteroSelectError


def step_flops(model: FlatModel, loss: Loss, x: Tensor, y: Tensor, draws: Draws) -> float:
    """Operations of one training step on the batch (x, y), forwards and backwards; the model stays as it is. Torch
    counts matrix products, convolutions and attention; what it does not know counts nothing."""
    from torch.utils.flop_counter import FlopCounterMode  # it brings a good part of torch's compiler with it

    before = model.weights()
    model.module.train()
    with drawing_from(torch.Generator(model.device), draws), FlopCounterMode(display=False) as counter:
        model.backward(loss, x, y)
    model.load(before)  # batch norm has counted the batch
    model.gradient.zero_()
    found = counter.get_total_flops()
    if found == 0:
        raise HeteroSelectError(
            "world.devices: torch's counter finds no operation in a step of this model; allowed is streams, whose "
            "seconds per step are drawn."
        )
    return float(found)
