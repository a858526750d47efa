"""Curvature-weighted top-κ on a few sampled layers (section III-D, eqs 10 and 11).

Coordinates of most layers are ranked by v². On Q layers, drawn by the client's previous mask, they are
ranked by v²/|Ĥ| with one Hutchinson probe Ĥ = z∘(Hz) (Bekas et al. 2007; Yao et al. 2020).
The paper's own Table II has plain magnitude ahead; `TopK` is that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

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


@dataclass(frozen=True)
class Curvature:
    """Keeps the coordinates with the largest product of magnitude and curvature: the paper's compressor. The defaults
    are its text; each other choice is one setting away.

    What it keeps at a client is its last mask: the kept fraction of each layer.

    Use when the paper's runs are to be reproduced. Beware: it takes further passes over a batch, and layers that can be
    differentiated twice.
    """

    kind: ClassVar[str] = "curvature"

    layers: int = setting(3, "number of layers Q ranked by curvature (eq. 10)", ge=1)
    exploration: float = setting(0.2, "share λ of the layer sampling that is uniform", ge=0, le=1)
    probes: int = setting(1, "number of Hutchinson probes that are averaged (eq. 11)", ge=1)
    floor: float = setting(1e-6, "lowest curvature |Ĥ| that is reckoned with", gt=0)
    ranking: Literal["global", "within-layer"] = setting(
        "global", "where coordinates compete: over the whole model, or in a layer for the quota that magnitude gives it"
    )
    scope: Literal["model", "layers"] = setting(
        "model", "where a probe has signs: on all coordinates, or only on the sampled layers"
    )
    damping: Literal["floor", "median"] = setting(
        "floor", "damping of the curvature: by the floor alone, or median, which adds the layer's median |Ĥ|"
    )
    rounding: Rounding = setting("ceil", ROUNDING)

    @property
    def traits(self) -> Traits:
        """A gradient, and a pass back through it per probe."""
        brings = {"error_feedback": WITHOUT_DECAY, "allocate": uniform(0.2)}
        return Traits(brings=brings, carries=("rounding",), passes=1.0 + self.probes)

    def compress(self, v: Values, density: float, context: CompressContext) -> tuple[Update, PartState]:
        """The κ best coordinates of v, and their mask. Where all are kept there is nothing to probe for, and the
        warm-up goes by magnitude."""
        kept, layout = kept_count(density, v.size, self.rounding), context.model.layout
        curvature: dict[Span, Values] = {}
        if kept < v.size and not context.warmup:
            spans = sample_layers(layout, context.state.get("mask"), self.layers, self.exploration, context.rng)
            curvature = self.curvature(context.model, context.loss(), spans, context.proximal, context.generator)
        update = self.keep(v, kept, curvature)
        return update, {"mask": mask_density(layout, update.positions)}

    def curvature(
        self, model: "FlatModel", loss: "Tensor", spans: "Sequence[Span]", proximal: float, generator: "torch.Generator"
    ) -> "dict[Span, Values]":
        """|Ĥ| of the sampled layers; FieldError where the model cannot be differentiated twice."""
        try:
            found = hutchinson(model, loss, spans, proximal, generator, probes=self.probes, scope=self.scope)
        except (RuntimeError, NotImplementedError) as error:
            raise _no_curvature(str(error)) from error
        if not all(np.isfinite(diagonal).all() for diagonal in found.values()):
            raise _no_curvature("they are not finite")
        return found

    def keep(self, v: Values, kept: int, curvature: "dict[Span, Values]") -> Update:
        """Rank and keep; `curvature` holds |Ĥ| of each probed layer."""
        magnitudes = np.abs(v)
        if not curvature:
            return Update.keep(v, top_positions(magnitudes, kept))
        weighted = self.weighted(magnitudes, curvature)
        if self.ranking == "global":
            return Update.keep(v, top_positions(weighted, kept))
        return Update.keep(v, _rerank(magnitudes, weighted, list(curvature), kept))

    def weighted(self, magnitudes: Values, curvature: "dict[Span, Values]") -> Values:
        """|v|/√max(|Ĥ|, ε) on the probed layers, |v| elsewhere: the order of eq. 10, with the floor of the authors'
        code for its ε, and without squaring, which would make small values vanish."""
        scores = magnitudes.copy()
        for span, diagonal in curvature.items():
            damped = np.maximum(diagonal, np.float32(self.floor))
            if self.damping == "median":
                damped = damped + np.median(damped)
            scores[span.slice] /= np.sqrt(damped)
        return scores


def _no_curvature(why: str) -> FieldError:
    return FieldError(
        "layers",
        f"the model's second derivatives cannot be had ({why}); allowed is the kind topk, which ranks by magnitude",
    )


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
    model: "FlatModel",
    loss: "Tensor",
    spans: "Sequence[Span]",
    proximal: float,
    generator: "torch.Generator",
    *,
    probes: int = 1,
    scope: Literal["model", "layers"] = "model",
) -> "dict[Span, Values]":
    """|Ĥ| on `spans`, where H is the Hessian of loss + (μ/2)‖w − w₀‖² and Ĥ = z∘(Hz), z = ±1 (eq. 11).

    The proximal term adds exactly μ to every entry, because z² = 1. Several probes are averaged before
    the absolute value is taken.
    """
    import torch

    from heteroselect.core.flat import flattened

    layout = model.layout
    inside = [any(s.start <= p.start < s.stop for s in spans) for p in layout.parameters]
    wanted = [view for view, keep in zip(model.views, inside, strict=True) if keep]
    mine = model.views if scope == "model" else wanted
    gradients = torch.autograd.grad(loss, mine, create_graph=True, allow_unused=True)
    total = {
        p.start: torch.full((len(p),), float(proximal)) for p, k in zip(layout.parameters, inside, strict=True) if k
    }
    for _ in range(probes):
        signs = [_signs(view, generator) for view in mine]
        terms = [(g * z).sum() for g, z in zip(gradients, signs, strict=True) if g is not None and g.requires_grad]
        if not terms:  # a loss that is linear in these parameters, or does not use them: H = 0
            break
        product = torch.stack(terms).sum()
        columns = torch.autograd.grad(product, wanted, retain_graph=True, allow_unused=True)
        by_view = {id(view): z for view, z in zip(mine, signs, strict=True)}
        for start, view, column in zip(total, wanted, columns, strict=True):
            if column is not None:
                total[start] += flattened(by_view[id(view)] * column, view).cpu() / probes
    return {
        span: torch.cat([part for start, part in total.items() if span.start <= start < span.stop]).abs().numpy()
        for span in spans
    }


def _signs(like: "Tensor", generator: "torch.Generator") -> "Tensor":
    import torch

    bits = torch.randint(0, 2, like.shape, generator=generator, device=generator.device)
    return (2 * bits - 1).to(like.dtype)


def _rerank(magnitudes: Values, weighted: Values, spans: "list[Span]", kept: int) -> Positions:
    """Each layer keeps the quota that magnitude gives it; curvature only chooses within the layer."""
    positions = top_positions(magnitudes, kept)
    for span in spans:
        inside = (positions >= span.start) & (positions < span.stop)
        quota = int(inside.sum())
        if 0 < quota < len(span):
            chosen = span.start + top_positions(weighted[span.slice], quota)
            positions = np.concatenate([positions[~inside], chosen])
    return np.sort(positions)
