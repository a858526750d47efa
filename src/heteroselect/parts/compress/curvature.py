"""Curvature-weighted top-κ on a few sampled layers (section III-D, eqs 10 and 11).

Coordinates of most layers are ranked by v². On Q layers, drawn by the client's previous mask, they are
ranked by v²/|Ĥ| with one Hutchinson probe Ĥ = z∘(Hz) (Bekas et al. 2007; Yao et al. 2020).
The paper's own Table II has plain magnitude ahead; `TopK` is that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.part import FieldError, setting
from heteroselect.core.state import PartState
from heteroselect.core.traits import Traits
from heteroselect.core.update import Positions, Update, Values
from heteroselect.parts.compress.context import WITHOUT_DECAY, CompressContext, uniform
from heteroselect.parts.compress.topk import ROUNDING, Rounding, kept_count, top_positions

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from heteroselect.core.flat import FlatModel, Layout, Span


FLOOR = 1e-6  # least |Ĥ|


@dataclass(frozen=True)
class Curvature:
    """Keeps the coordinates with the largest product of magnitude and curvature, over the whole model: the paper's
    compressor.

    What it keeps at a client is its last mask: the kept fraction of each layer.

    Use when the paper's runs are to be reproduced. Beware: it takes further passes over a batch, and layers that can be
    differentiated twice.
    """

    kind: ClassVar[str] = "curvature"
    traits = Traits(  # a gradient, and a pass back through it
        brings={"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.2)}, carries=("rounding",), passes=2.0
    )

    layers: int = setting(3, "number of layers Q ranked by curvature (eq. 10)", ge=1)
    exploration: float = setting(0.2, "share λ of the layer sampling that is uniform", ge=0, le=1)
    rounding: Rounding = setting("ceil", ROUNDING)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        """The κ best coordinates of v, and their mask. Where all are kept there is nothing to probe for, and the
        warm-up goes by magnitude."""
        kept, layout = kept_count(density, v.size, self.rounding), context.model.layout
        curvature: dict[Span, Values] = {}
        if kept < v.size and not context.warmup:
            spans = sample_layers(layout, context.state.get("mask"), self.layers, self.exploration, context.rng)
            curvature = self.curvature(context.model, context.loss(), spans, context.proximal, context.generator)
        update = Update.keep(v, top_positions(weighted(np.abs(v), curvature), kept))
        return update, {"mask": mask_density(layout, update.positions)}

    def curvature(
        self, model: "FlatModel", loss: "Tensor", spans: "Sequence[Span]", proximal: float, generator: "torch.Generator"
    ) -> "dict[Span, Values]":
        """|Ĥ| of the sampled layers; FieldError where the model cannot be differentiated twice."""
        why = "they are not finite"
        try:
            found = hutchinson(model, loss, spans, proximal, generator)
            if all(np.isfinite(diagonal).all() for diagonal in found.values()):
                return found
        except (RuntimeError, NotImplementedError) as error:
            why = str(error)
        raise FieldError(
            "layers",
            f"the model's second derivatives cannot be had ({why}); allowed is the kind topk, which ranks by magnitude",
        )


def weighted(magnitudes: Values, curvature: "dict[Span, Values]") -> Values:
    """|v|/√max(|Ĥ|, ε) on the probed layers, |v| elsewhere: the order of eq. 10, with the floor of the authors' code
    for its ε, and without squaring, which would make small values vanish."""
    scores = magnitudes.copy()
    for span, diagonal in curvature.items():
        scores[span.slice] /= np.sqrt(np.maximum(diagonal, np.float32(FLOOR)))
    return scores


def sample_layers(
    layout: "Layout", density: Reals | None, count: int, exploration: float, rng: np.random.Generator
) -> "list[Span]":
    """Q layers without replacement, P(l) = (1 − λ)·(share of the last mask) + λ/L; without a mask, evenly."""
    total = len(layout.layers)
    count = min(count, total)
    share = np.full(total, 1 / total)
    if density is not None and density.sum() > 0:
        share = (1 - exploration) * density / density.sum() + exploration / total
    possible = int(np.count_nonzero(share))
    drawn = rng.choice(total, size=min(count, possible), replace=False, p=share / share.sum())
    return [layout.layers[i] for i in sorted(drawn.tolist())]


def mask_density(layout: "Layout", positions: Positions) -> Reals:
    """The kept fraction of each layer."""
    edges = np.searchsorted(positions, [span.start for span in layout.layers] + [layout.size])
    density: Reals = np.diff(edges) / np.array([len(span) for span in layout.layers])
    return density


def hutchinson(
    model: "FlatModel", loss: "Tensor", spans: "Sequence[Span]", proximal: float, generator: "torch.Generator"
) -> "dict[Span, Values]":
    """|Ĥ| on `spans`, where H is the Hessian of loss + (μ/2)‖w − w₀‖² and Ĥ = z∘(Hz), z = ±1 (eq. 11). The proximal
    term adds exactly μ to every entry, because z² = 1."""
    import torch

    from heteroselect.core.flat import flattened

    gradients = torch.autograd.grad(loss, model.views, create_graph=True, allow_unused=True)
    signs = [_signs(view, generator) for view in model.views]
    terms = [(g * z).sum() for g, z in zip(gradients, signs, strict=True) if g is not None and g.requires_grad]
    diagonal = torch.full((model.layout.size,), float(proximal))
    if terms:  # else the loss is linear in all parameters, or does not use them: H = 0
        probed = [
            (parameter, view, z)
            for parameter, view, z in zip(model.layout.parameters, model.views, signs, strict=True)
            if any(span.start <= parameter.start < span.stop for span in spans)
        ]
        columns = torch.autograd.grad(torch.stack(terms).sum(), [view for _, view, _ in probed], allow_unused=True)
        for (parameter, view, z), column in zip(probed, columns, strict=True):
            if column is not None:
                diagonal[parameter.slice] += flattened(z * column, view).cpu()
    found = diagonal.abs().numpy()
    return {span: found[span.slice] for span in spans}


def _signs(like: "Tensor", generator: "torch.Generator") -> "Tensor":
    import torch

    bits = torch.randint(0, 2, like.shape, generator=generator, device=generator.device)
    return (2 * bits - 1).to(like.dtype)
