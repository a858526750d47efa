"""Training a cohort as one matrix: the bits are those of training one by one, or it is not done."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx

import heteroselect
from heteroselect.core.flat import FlatModel
from heteroselect.engines.simulate import engine
from heteroselect.engines.simulate.together import Together, add_within_products

pytestmark = pytest.mark.slow  # pairs of whole runs

CONFIG = {"clients": 9, "selected": 5, "rounds": 3, "method": {"solver": {"steps": 7, "batch": 8}}}


def points(width=12):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 4, 270)
    return rng.normal(size=(270, width)).astype(np.float32) + np.eye(4, width, dtype=np.float32)[y], y


def mlp(width=12):
    return nn.Sequential(nn.Linear(width, 20), nn.Tanh(), nn.Linear(20, 4))


@pytest.fixture
def trained_together(monkeypatch):
    """Counts the cohorts that were trained as one matrix."""
    rows = []
    original = engine.Simulator._train_together

    def counted(self, weights, orders, shared):
        uploads = original(self, weights, orders, shared)
        rows.append(len(orders) if uploads is not None else 0)
        return uploads

    monkeypatch.setattr(engine.Simulator, "_train_together", counted)
    monkeypatch.setattr(engine, "WORTHWHILE", 0)
    return rows


def both(monkeypatch, **arguments):
    """The same run with and without the matrix."""
    arguments = {"data": points(), "threads": 2} | arguments
    matrix = heteroselect.run(CONFIG, **arguments)
    monkeypatch.setattr(engine, "SMALL", 0)
    return matrix, heteroselect.run(CONFIG, **arguments)


@pytest.mark.parametrize("model", [None, mlp])
@pytest.mark.parametrize("rule", ["shared", "score"])
@pytest.mark.parametrize(("width", "batch", "selected"), [(12, 8, 5), (13, 7, 5), (5, 3, 1), (17, 9, 1), (12, 5, 9)])
def test_the_bits_are_those_of_training_one_by_one(monkeypatch, trained_together, model, rule, width, batch, selected):
    """Whether rows and single models agree is a matter of the processor's kernels, which go by where numbers lie in
    memory; where they do not agree, the matrix must not be used."""
    changes = {"method.lr.kind": rule, "method.solver.batch": batch, "selected": selected}
    factory = None if model is None else lambda: mlp(width)
    matrix, single = both(monkeypatch, model=factory, data=points(width), settings=changes)
    assert trained_together  # tried at least
    assert matrix.model_sha256 == single.model_sha256
    assert matrix.rounds == single.rounds


@pytest.mark.parametrize("model", [None, mlp])
@pytest.mark.parametrize("method", ["oort", "heteroselect", "delta"])
def test_losses_that_decide_who_is_selected_are_those_of_single_models(monkeypatch, trained_together, method, model):
    """To the bit: oort goes by them, and so does the paper's score where nobody is asked; delta goes by gradients, and
    its losses decide nothing."""
    changes = {"rounds": 8, "method.solver.steps": 10, "method.solver.batch": 32}
    changes |= {"method.score.mode": "stale"} if method == "heteroselect" else {}
    changes |= {"method.select.variance": True} if method == "delta" else {}
    arguments = {"method": method, "threads": 2, "settings": {**changes, "clients": 20, "selected": 6}}
    arguments |= {} if model is None else {"data": points(), "model": model}
    reports = []
    original = engine.Simulator.train

    def noting(self, weights, orders, shared):
        uploads = original(self, weights, orders, shared)
        unused = {"loss", "rms"} if method == "delta" else set()
        reports.append([{k: v for k, v in upload.report.items() if k not in unused} for upload in uploads])
        return uploads

    monkeypatch.setattr(engine.Simulator, "train", noting)
    matrix = heteroselect.run("mnist", **arguments)
    seen, reports[:] = list(reports), []
    used = set(trained_together)
    monkeypatch.setattr(engine, "SMALL", 0)
    single = heteroselect.run("mnist", **arguments)
    assert seen == reports
    assert matrix.rounds == single.rounds
    if used == {0}:
        pytest.skip("this processor's kernels give other bits for a matrix, and it was rightly not used")
    assert 0 not in used
    assert 6 in used  # delta draws with replacement, and may have fewer


class Moody(nn.Module):
    """Another function in training than in evaluation."""

    def __init__(self):
        super().__init__()
        self.body = mlp()

    def forward(self, x):
        return self.body(x) * (2.0 if self.training else 1.0)


def test_the_graph_is_that_of_training(monkeypatch, trained_together):
    matrix, single = both(monkeypatch, model=Moody)
    assert matrix.model_sha256 == single.model_sha256


def test_gradients_are_those_of_single_models():
    torch.manual_seed(0)
    model = FlatModel(mlp())
    cohort = Together(model, 3)
    cohort.vector += 0.1 * torch.randn_like(cohort.vector)
    x, y = torch.randn(3, 6, 12), torch.randint(0, 4, (3, 6))
    losses = cohort.backward(nn.functional.cross_entropy, x, y)
    for row in range(3):
        model.vector.copy_(cohort.vector[row])
        loss = model.backward(nn.functional.cross_entropy, x[row], y[row])
        assert torch.allclose(model.gradient, cohort.gradient[row], atol=1e-6)
        assert torch.allclose(loss, losses[row])
    assert not torch.allclose(cohort.gradient[0], cohort.gradient[1], atol=1e-3)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_linear_layer_is_one_operator_with_its_bias(count):
    """As it is in a single model: a sum after the product has other last bits on some processors."""
    module = nn.Linear(784, 10)

    def rows(weight, bias, x):
        return torch.func.vmap(lambda w, b, x: nn.functional.linear(x, w, b))(weight, bias, x)

    weight, bias = (torch.stack([one.detach() + row for row in range(count)]) for one in module.parameters())
    x = torch.rand(count, 32, 784)
    traced = make_fx(rows)(weight, bias, x)
    add_within_products(traced)
    assert "baddbmm" in traced.code
    assert "add.Tensor" not in traced.code
    single = torch.stack([torch.addmm(b, one, w.t()) for w, b, one in zip(weight, bias, x, strict=True)])
    assert torch.allclose(traced(weight, bias, x), single, atol=1e-5)


def test_a_sum_of_something_else_stays_a_sum():
    traced = make_fx(lambda x, y: (x + y, x + 1, torch.bmm(x, y).sum() + x))(*torch.rand(2, 3, 4, 4))
    add_within_products(traced)
    assert traced.code.count("add.Tensor") == 3


def test_a_short_run_is_over_before_a_matrix_would_be_worthwhile(monkeypatch, trained_together):
    monkeypatch.setattr(engine, "WORTHWHILE", 2 * 5 * 7)  # the steps of the first two rounds
    heteroselect.run(CONFIG, data=points(), model=mlp)
    assert len(trained_together) == 1


class Unbatchable(nn.Module):
    """Looks at a number, which a batched graph cannot do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(12, 4)

    def forward(self, x):
        scale = 2.0 if float(x.sum()) > 0 else 1.0
        return scale * self.linear(x)


def test_a_model_that_cannot_be_batched_trains_one_by_one(monkeypatch, trained_together):
    matrix, single = both(monkeypatch, model=Unbatchable)
    assert trained_together == [0]
    assert matrix.model_sha256 == single.model_sha256


@pytest.mark.parametrize(
    "model",
    [
        lambda: nn.Sequential(mlp(), nn.Dropout(0.1)),
        lambda: nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4)),
        lambda: nn.Sequential(nn.Linear(12, 400), nn.ReLU(), nn.Linear(400, 500), nn.Linear(500, 4)),
    ],
    ids=["dropout", "batch norm", "large"],
)
def test_models_that_gain_nothing_or_draw_are_left_alone(trained_together, model):
    heteroselect.run(CONFIG, data=points(), model=model, settings={"rounds": 1})
    assert not any(trained_together)


def test_a_solver_that_takes_no_rows_trains_one_by_one(trained_together):
    heteroselect.run(CONFIG, data=points(), settings={"rounds": 1, "method.solver.kind": "fedsol"})
    assert not any(trained_together)


@pytest.mark.parametrize("bend", [False, True])
def test_a_difference_in_one_bit_is_noticed(bend):
    loss = nn.functional.cross_entropy
    model, single = FlatModel(mlp()), FlatModel(mlp())
    cohort = Together(model, 2)
    x, y = torch.randn(2, 6, 12), torch.randint(0, 4, (2, 6))

    def graph(weight, bias, last, last_bias, inputs, targets):
        gradients, losses = [], []
        for row in range(2):
            single.vector.copy_(cohort.vector[row])
            losses.append(single.backward(loss, inputs[row], targets[row]))
            gradients.append(single.gradient.clone())
        if bend:
            gradients[1][3] = torch.nextafter(gradients[1][3], torch.tensor(9.0))
        return (*cohort._views(torch.stack(gradients)), torch.stack(losses))

    cohort._graph = graph
    assert cohort.fits(loss, x, y) is not bend


def test_an_operator_without_a_rule_for_batches_is_given_up_at_once_and_without_a_warning(monkeypatch):
    """An LSTM's, on a CPU: vmap would go row by row and warn, and making a graph of that takes seconds."""

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent, self.head = nn.LSTM(2, 3, batch_first=True), nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.recurrent(x)[0][:, -1])

    traced = []
    monkeypatch.setattr(torch.jit, "trace", lambda *rest, **more: traced.append(rest))
    x, y = torch.randn(2, 3, 4, 2), torch.zeros(2, 3, dtype=torch.long)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fits = Together(FlatModel(Last()), 2).fits(nn.functional.cross_entropy, x, y)
    assert (fits, traced) == (False, [])
    assert [str(one.message) for one in warned] == []
