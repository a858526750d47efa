"""FedLUAR: what is not sent, and what stands in its place."""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from torch import nn

import heteroselect
from compressing import array, compress_context, normal
from heteroselect.core.flat import FlatModel, Span
from heteroselect.parts.compress import Luar
from heteroselect.parts.compress.luar import drawn_by_inverse

TENSORS = (Span("a", 0, 2), Span("b", 3, 5))  # between and after them a bias
WEIGHTS = array(3, 4, 9, 6, 8, 9)


def completed(state, *aggregate, recycled=0.5, seed=0):
    return Luar(recycled).complete(state, array(*aggregate), WEIGHTS, TENSORS, default_rng(seed))


def test_scores_are_lengths_beside_those_of_the_weights():
    state, whole = completed({}, 0.3, 0.4, 7, 3, 4, 7)
    assert whole.tolist() == array(0.3, 0.4, 7, 3, 4, 7).tolist()
    assert_allclose(state["scores"], [0.5 / 5, 5 / 10], rtol=1e-5)
    assert len(state["recycled"]) == 1
    assert Luar().share(state) == pytest.approx(4 / 6)
    assert Luar().told(state)["recycled"].tolist() == state["recycled"].tolist()


def test_a_tensor_that_is_recycled_twice_moves_twice_by_its_last_update():
    first, _ = completed({}, 0.3, 0.4, 7, 3, 4, 7)
    state = {**first, "recycled": np.array([0])}
    second, whole = completed(state, 0, 0, 1, 6, 8, 2)
    assert whole.tolist() == array(0.3, 0.4, 1, 6, 8, 2).tolist()
    assert_allclose(second["scores"], [0.1, 1.0], rtol=1e-5)  # of the one that was not sent as it was
    _, whole = completed({**second, "recycled": np.array([0])}, 0, 0, 1, 1, 1, 2)
    assert whole.tolist() == array(0.3, 0.4, 1, 1, 1, 2).tolist()


def test_the_lower_score_is_recycled_more_often():
    draws = 4000
    first = sum(drawn_by_inverse(np.array([1.0, 3.0]), 1, default_rng(seed)).tolist() == [0] for seed in range(draws))
    assert abs(first / draws - 0.75) < 4 * np.sqrt(0.75 * 0.25 / draws)
    assert drawn_by_inverse(np.array([1.0, 0.0, 2.0]), 1, default_rng(0)).tolist() == [1]
    assert drawn_by_inverse(np.array([1.0, 0.0, 2.0]), 3, default_rng(0)).tolist() == [0, 1, 2]


def test_one_tensor_is_always_sent_and_none_is_recycled_where_there_is_none_else():
    assert len(completed({}, *range(6), recycled=1.0)[0]["recycled"]) == 1
    assert len(completed({}, *range(6), recycled=0.49)[0]["recycled"]) == 0
    for tensors in (TENSORS[:1], ()):
        state, _ = Luar(1.0).complete({}, WEIGHTS, WEIGHTS, tensors, default_rng(0))
        assert Luar().told(state) == {}
        assert Luar().share(state) == 1


def test_what_is_recycled_is_not_sent():
    context, v = compress_context(3, 4, 2), normal(9)
    update, kept = Luar().compress(v, 1.0, context)
    assert update.is_dense
    told = {"recycled": np.array([1])}
    update, kept = Luar().compress(v, 1.0, context.__class__(**{**vars(context), "told": told}))
    assert update.positions.tolist() == [0, 1, 2, 7, 8]
    assert update.values.tolist() == v[[0, 1, 2, 7, 8]].tolist()
    assert kept == {}


def test_tensors_are_parameters_of_two_dimensions():
    layout = FlatModel(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))).layout
    assert [span.name for span in layout.tensors] == ["0.weight", "3.weight"]


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 8), nn.ReLU(), nn.Linear(8, 10))


SETTINGS = {"clients": 8, "selected": 3, "rounds": 6, "method.solver.steps": 5, "simulate.checkpoint_rounds": 1}


def test_the_ledger_counts_what_is_sent_and_what_is_told():
    lines = heteroselect.run("mnist", method="fedluar", settings=SETTINGS, model=net).rounds
    plain = heteroselect.run("mnist", method="fedavg", settings=SETTINGS, model=net).rounds
    size = 784 * 8 + 8 + 80 + 10
    assert lines[0]["densities"] == [1, 1, 1]
    assert lines[0]["bytes_down"] == plain[0]["bytes_down"]
    for line in lines[1:]:
        share = 1 - line["densities"][0]
        assert share in (pytest.approx(784 * 8 / size), pytest.approx(80 / size))
        assert line["bytes_up_paper"] == pytest.approx(3 * 4 * size * (1 - share))
        assert abs(line["bytes_up"] - line["bytes_up_paper"]) < 3 * 200
        assert line["bytes_down"] == plain[0]["bytes_down"] + 3 * 8  # the number of one tensor
    assert len({line["densities"][0] for line in lines[1:]}) == 2  # each of the two in its turn


@pytest.mark.slow
def test_without_recycling_it_is_fedavg_and_a_run_goes_on_where_it_was_killed(tmp_path):
    nothing = SETTINGS | {"method.compress.recycled": 0.0}
    one = heteroselect.run("mnist", method="fedluar", settings=nothing, model=net)
    two = heteroselect.run("mnist", method="fedavg", settings=SETTINGS | {"method.weigh.kind": "uniform"}, model=net)
    assert one.model_sha256 == two.model_sha256

    class PowerError(Exception):
        pass

    def watch(line):
        if line["round"] == 4:
            raise PowerError

    with pytest.raises(PowerError):
        heteroselect.run("mnist", method="fedluar", settings=SETTINGS, model=net, out=tmp_path / "run", watch=watch)
    whole = heteroselect.run("mnist", method="fedluar", settings=SETTINGS, model=net)
    assert heteroselect.resume(tmp_path / "run", model=net).model_sha256 == whole.model_sha256
