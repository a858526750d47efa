"""Curvature: the probe against Hessians known by heart, layer sampling by frequency, ranking by hand."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from compressing import array, unlooked
from heteroselect.core.flat import FlatModel, Layout, Span
from heteroselect.core.part import FieldError
from heteroselect.parts.compress import CompressContext, Curvature, TopK
from heteroselect.parts.compress.curvature import hutchinson, mask_density, sample_layers, weighted
from heteroselect.parts.compress.topk import top_positions

PAPER_K = torch.tensor([[2.0, 1.0], [1.0, 0.5]])
DRAWS = 1500


class Vector(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.linspace(-1, 1, size))

    def forward(self, a: Tensor) -> Tensor:
        """½ wᵀAw: its Hessian is A wherever w stands."""
        return 0.5 * self.w @ a @ self.w


class Layers(nn.Module):
    """Several layers, each one vector, as parts of one long w; the Hessian of ½ wᵀAw again is A."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Vector(size) for size in sizes)

    def forward(self, a: Tensor) -> Tensor:
        w = torch.cat([part.w for part in self.parts])
        return 0.5 * w @ a @ w


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def curvature(a: Tensor, *sizes: int, proximal: float = 0.0, stream: torch.Generator | None = None) -> np.ndarray:
    """|Ĥ| over the whole vector."""
    model = FlatModel(Layers(*(sizes or (len(a),))))
    found = hutchinson(model, model.module(a), model.layout.layers, proximal, stream or generator())
    return np.concatenate([found[span] for span in model.layout.layers])


def layout(*sizes: int) -> Layout:
    edges = np.cumsum([0, *sizes]).tolist()
    spans = tuple(Span(f"layer{i}", a, b) for i, (a, b) in enumerate(itertools.pairwise(edges)))
    return Layout(edges[-1], spans, spans)


def compress_context(a: Tensor, *sizes: int, seed: int = 0) -> CompressContext:
    model = FlatModel(Layers(*sizes))
    return CompressContext(
        model=model,
        loss=lambda: model.module(a),
        proximal=0.0,
        warmup=False,
        rng=np.random.default_rng(seed),
        generator=generator(seed),
    )


# The probe (eq. 11)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("proximal", [0.0, 0.25])
def test_one_probe_is_exact_for_a_diagonal_hessian(seed: int, proximal: float) -> None:
    diagonal = torch.tensor([100.0, 0.5, 0.0, -2.0, -0.25])
    expected = (diagonal + proximal).abs()
    assert curvature(diagonal.diag(), proximal=proximal, stream=generator(seed)).tolist() == expected.tolist()


def test_the_probe_covers_every_layer_asked_for_and_no_other() -> None:
    diagonal = torch.arange(1.0, 10.0)
    model = FlatModel(Layers(2, 3, 4))
    first, _, last = model.layout.layers
    found = hutchinson(model, model.module(diagonal.diag()), [first, last], 0.0, generator())
    assert {span: values.tolist() for span, values in found.items()} == {first: [1, 2], last: [6, 7, 8, 9]}


def test_a_layer_of_weight_and_bias_is_probed_whole() -> None:
    """½(wx + b)² has the Hessian [[x², x], [x, 1]], so one probe gives |x² ± x| and |1 ± x|."""
    model = FlatModel(nn.Linear(1, 1))
    (layer,) = model.layout.layers
    loss = 0.5 * model.module(torch.tensor([[3.0]])).pow(2).sum()
    found = hutchinson(model, loss, [layer], 0.0, generator())[layer].tolist()
    assert found in ([12, 4], [6, 2])


def test_one_probe_is_unbiased_until_the_absolute_value_is_taken() -> None:
    """H = [[2, 1], [1, ½]]: Ĥ₂₂ is ½ ± 1, of mean ½; |Ĥ₂₂| is 3/2 or ½, of mean 1."""
    stream, times = generator(2), 300
    found = [curvature(PAPER_K, stream=stream)[1] for _ in range(times)]
    assert set(found) == {1.5, 0.5}
    assert np.mean(found) == pytest.approx(1.0, abs=4 * 0.5 / np.sqrt(times))
    # shifted by μ = 10 nothing is negative, and the mean is 10½ again
    shifted = [curvature(PAPER_K, proximal=10.0, stream=stream)[1] for _ in range(times)]
    assert np.mean(shifted) == pytest.approx(10.5, abs=4 / np.sqrt(times))


def test_the_same_generator_gives_the_same_probe_and_another_does_not() -> None:
    first, same, other = (curvature(torch.ones(40, 40), stream=generator(seed)).tolist() for seed in (3, 3, 4))
    assert first == same != other


@pytest.mark.parametrize("used", [True, False], ids=["unused", "linear"])
def test_what_the_loss_does_not_bend_has_only_the_proximal_curvature(used: bool) -> None:
    model = FlatModel(Layers(2, 3))
    first = model.module.parts[0]  # type: ignore[index]
    loss = first(torch.eye(2)) if used else model.vector.sum() * 0 + sum(view.sum() for view in model.views)
    found = hutchinson(model, loss, model.layout.layers, 0.25, generator())
    assert [values.tolist() for values in found.values()] == [[1.25 if used else 0.25] * 2, [0.25] * 3]


def test_the_probe_leaves_model_and_gradient_alone() -> None:
    model = FlatModel(Layers(2, 2))
    before, gradient = model.vector.clone(), model.gradient.fill_(7).clone()
    hutchinson(model, model.module(torch.eye(4)), model.layout.layers, 0.1, generator())
    assert torch.equal(model.vector, before)
    assert torch.equal(model.gradient, gradient)


# Which layers (the Markov rule)


def frequencies(mask: np.ndarray | None, layers: int, count: int, exploration: float) -> np.ndarray:
    rng = np.random.default_rng(8)
    where = layout(*[3] * layers)
    drawn = [span.start // 3 for _ in range(DRAWS) for span in sample_layers(where, mask, count, exploration, rng)]
    return np.bincount(drawn, minlength=layers) / DRAWS


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    error = np.sqrt(expected * (1 - expected) / DRAWS)
    return bool((np.abs(found - expected) <= 4 * error).all())


@pytest.mark.parametrize("exploration", [0.0, 0.2, 0.7, 1.0])
def test_layers_are_drawn_by_the_last_mask_mixed_with_exploration(exploration: float) -> None:
    density = np.array([0.0, 0.1, 0.25, 0.9])
    expected = (1 - exploration) * density / density.sum() + exploration / 4
    assert close(frequencies(density, 4, 1, exploration), expected)


@pytest.mark.parametrize("mask", [None, np.zeros(5)], ids=["none", "empty"])
def test_without_a_mask_every_layer_is_as_likely(mask: np.ndarray | None) -> None:
    assert close(frequencies(mask, 5, 1, 0.2), np.full(5, 0.2))


def test_several_layers_are_drawn_one_after_the_other_without_replacement() -> None:
    density = np.array([0.1, 0.2, 0.7])
    p = 0.8 * density + 0.2 / 3
    pairs = p[:, None] * p[None, :] / (1 - p[:, None])  # first i, then j among the others
    np.fill_diagonal(pairs, 0)
    assert close(frequencies(density, 3, 2, 0.2), pairs.sum(0) + pairs.sum(1))


@pytest.mark.parametrize(("layers", "count"), [(1, 3), (2, 3), (3, 3), (5, 3), (8, 3), (2, 1)])
def test_the_layers_drawn_are_as_many_as_asked_for_or_all(layers: int, count: int) -> None:
    where = layout(*range(1, layers + 1))
    for seed in range(20):
        drawn = sample_layers(where, None, count, 0.2, np.random.default_rng(seed))
        assert len(set(drawn)) == len(drawn) == min(count, layers)
        assert [span for span in where.layers if span in drawn] == drawn


def test_without_exploration_a_layer_outside_the_mask_is_never_drawn() -> None:
    drawn = sample_layers(layout(2, 2, 2), np.array([0.5, 0, 0.5]), 3, 0.0, np.random.default_rng(0))
    assert [span.name for span in drawn] == ["layer0", "layer2"]


def test_mask_density_is_the_kept_fraction_of_each_layer() -> None:
    density = mask_density(layout(2, 4, 1, 3), np.array([0, 2, 3, 5, 6]))
    assert density.tolist() == [1 / 2, 3 / 4, 1, 0]


# The ranking (eq. 10)


def best(v: np.ndarray, kept: int, curvature: dict[Span, np.ndarray]) -> list[int]:
    return top_positions(weighted(np.abs(v), curvature), kept).tolist()


def test_the_order_is_that_of_v_squared_over_curvature() -> None:
    rng = np.random.default_rng(4)
    target = rng.permutation(1.02 ** np.arange(400))
    diagonal = 10 ** rng.uniform(-2, 3, 400)
    v = (np.sqrt(target * (diagonal + 1e-6)) * rng.choice([-1, 1], 400)).astype(np.float32)
    for kept in (1, 40, 399):
        found = best(v, kept, {Span("all", 0, 400): diagonal.astype(np.float32)})
        assert found == np.sort(np.argsort(-target)[:kept]).tolist()


def test_small_values_do_not_vanish_in_a_square() -> None:
    assert best(array(1e-30, 2e-30, 3e-30), 1, {Span("a", 0, 2): array(1, 0.01)}) == [1]


def test_curvature_below_the_floor_counts_as_the_floor() -> None:
    assert weighted(array(2, 1, 3), {Span("a", 0, 2): array(0.25, 0)}) == pytest.approx([4, 1000, 3])


def test_all_layers_compete_in_one_ranking() -> None:
    v = array(3, 2, 0.5, -0.25)
    assert best(v, 2, {Span("first", 0, 2): array(100, 100)}) == [0, 2]
    assert best(v, 2, {}) == [0, 1]


def test_curvature_ranking_is_not_a_contraction() -> None:
    """v = (1, .1), H = (100, .01): one coordinate kept is .1, an error of 1 > (1 − ½)·1.01."""
    v = array(1, 0.1)
    context = compress_context(torch.tensor([100.0, 0.01]).diag(), 2)
    update = Curvature(layers=1).compress(v, 0.5, context)[0]
    assert update.positions.tolist() == [1]
    left = float(((v - update.dense()) ** 2).sum())
    assert left == 1 > 0.5 * float((v**2).sum())
    assert TopK().compress(v, 0.5, context)[0].positions.tolist() == [0]


# All together


@pytest.mark.parametrize(
    ("part", "density", "warmup"),
    [(TopK(), 0.5, False), (Curvature(), 1.0, False), (Curvature(), 0.5, True)],
    ids=["plain", "all kept", "warm-up"],
)
def test_nothing_is_probed_where_magnitude_decides(part: Curvature | TopK, density: float, warmup: bool) -> None:
    context = dataclasses.replace(compress_context(torch.eye(4), 2, 2), loss=unlooked, warmup=warmup)
    v = array(1, -4, 2, 3)
    update = part.compress(v, density, context)[0]
    assert update.positions.tolist() == top_positions(np.abs(v), round(4 * density)).tolist()


@pytest.mark.parametrize(("density", "warmup"), [(0.5, False), (0.5, True), (1.0, False)])
def test_the_mask_is_kept_whatever_decided(density: float, warmup: bool) -> None:
    context = dataclasses.replace(compress_context(torch.eye(6), 2, 4), warmup=warmup)
    update, state = Curvature().compress(array(1, -4, 2, 3, 0.5, 0), density, context)
    assert list(state) == ["mask"]
    assert state["mask"].tolist() == mask_density(context.model.layout, update.positions).tolist()


def test_a_model_without_second_derivatives_is_sent_to_topk() -> None:
    model = FlatModel(nn.EmbeddingBag(1, 2, mode="max"))
    context = dataclasses.replace(compress_context(torch.eye(2), 2), model=model)
    losses = {
        "not implemented": lambda: model.module(torch.tensor([[0]])).pow(2).sum(),
        "not finite": lambda: model.views[0].sum() ** 2 * torch.inf,
    }
    for why, loss in losses.items():
        with pytest.raises(FieldError, match=rf"^layers: .*second derivatives.*{why}.*kind topk"):
            Curvature().compress(array(1, 2), 0.5, dataclasses.replace(context, loss=loss))


def test_compress_probes_only_the_layers_drawn() -> None:
    """Each layer's curvature is 10⁴, so the one layer that is probed drops out of the ranking."""
    v = np.ones(9, np.float32)
    seen = set()
    for seed in range(20):
        context = compress_context(torch.full((9,), 1e4).diag(), 3, 3, 3, seed=seed)
        kept = Curvature(layers=1).compress(v, 6 / 9, context)[0].positions
        dropped = set(range(9)) - set(kept.tolist())
        assert dropped in ({0, 1, 2}, {3, 4, 5}, {6, 7, 8})
        seen |= dropped
    assert seen == set(range(9))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_compress_follows_the_mask_of_last_time(layer: int) -> None:
    v = np.ones(9, np.float32)
    context = dataclasses.replace(
        compress_context(torch.full((9,), 1e4).diag(), 3, 3, 3), state={"mask": np.eye(3)[layer]}
    )
    kept = Curvature(layers=1, exploration=0.0).compress(v, 6 / 9, context)[0].positions
    assert kept.tolist() == [i for i in range(9) if i // 3 != layer]


@pytest.mark.parametrize(
    "network",
    [
        lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten()),
        lambda: nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Tanh(), nn.LayerNorm(3), nn.Linear(3, 2)),
        lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
    ],
    ids=["batch norm", "layer norm", "pooling"],
)
def test_a_probe_agrees_with_the_hessian_of_a_network(network: Callable[[], nn.Module]) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = FlatModel(network())
        x, y = torch.randn(5, 1, 4, 4), torch.tensor([0, 1, 1, 0, 1])
    loss = nn.functional.cross_entropy(model.module(x), y)
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, model.views, create_graph=True)])
    rows = [torch.autograd.grad(g, model.views, retain_graph=True) for g in gradient]
    hessian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    signs = generator(5)
    z = torch.cat([2.0 * torch.randint(0, 2, view.shape, generator=signs).flatten() - 1 for view in model.views])
    expected = (z * (hessian @ z) + 0.1).abs().numpy()
    found = hutchinson(model, loss, model.layout.layers, 0.1, generator(5))
    assert np.concatenate(list(found.values())) == pytest.approx(expected, rel=1e-4, abs=1e-5)
