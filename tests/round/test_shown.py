"""The model that is evaluated and saved, where it is not the one that clients go on from."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import nn

import heteroselect
from heteroselect import Method, methods
from heteroselect.core.moment import Moment
from heteroselect.engines.simulate.engine import Simulator
from heteroselect.parts.aggregate import ExponentialAverage, LookAhead, TailAverage
from heteroselect.parts.train import FedDyn
from heteroselect.round.round import play_round
from heteroselect.round.shown import shown
from heteroselect.runs.experiment import prepare
from heteroselect.runs.loop import simulated
from heteroselect.runs.own import Own
from heteroselect.runs.progress import Progress
from heteroselect.settings.config import load

SMALL = {"clients": 6, "selected": 3, "rounds": 5, "method.solver.steps": 3, "method.solver.batch": 8}
FEDDYN = methods.get("feddyn")


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 3))


def owners(count=6):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(count, 40, 6)).astype(np.float32)
    return [(one, (one[:, 0] > 0).astype(np.int64) + (one[:, 1] > 0)) for one in x]


def servers(method, rounds=4, **own):
    """The server after each round of a small run."""
    made = prepare(load({**SMALL, "rounds": rounds}, method=method), Own(data=owners(), test=owners(1)[0], **own))
    progress, found = Progress.start(made, None), []
    with simulated(made, progress, threads=1) as engine:
        for t in range(1, rounds + 1):
            moment, world = Moment(t, rounds), (made.environment, made.streams)
            one = play_round(moment, progress.server, made.method, engine.clients, *world, selected=3)
            engine.clients.acknowledge(one.used)
            progress.server = one.server
            found.append(one)
    return found


def linear():
    return nn.Linear(6, 3)


def test_the_average_is_of_the_models_and_changes_nothing_of_the_training():
    tail = Method("plain", model_average=TailAverage(share=0.5))
    single, averaged = servers(Method("plain"), model=linear), servers(tail, model=linear)
    vectors = [one.server.weights.vector for one in single]
    assert [one.server.weights.sha256() for one in averaged] == [one.server.weights.sha256() for one in single]
    assert [one.record for one in averaged] == [one.record for one in single], "no byte and no second"
    last = averaged[-1].server
    np.testing.assert_allclose(shown(tail, last.state, last.weights).vector, (vectors[2] + vectors[3]) / 2, rtol=1e-5)
    early = averaged[1].server
    assert shown(tail, early.state, early.weights) is early.weights


def test_looking_ahead_may_show_the_model_behind():
    """λ = ½, rate 2, aggregates 4, 4, −1: w = 8, 20, 24 while clients start from 12, 26, 26."""
    part, state, ahead = LookAhead(0.5, 2.0, show="model"), {}, np.zeros(1, np.float32)
    assert part.shown({}, ahead) is ahead
    for aggregate, expected in ((4, 8), (4, 20), (-1, 24)):
        state, step = part.step(state, np.array([aggregate], np.float32))
        ahead = ahead + step
        assert part.shown(state, ahead).tolist() == [expected]
        assert LookAhead(0.5, 2.0, show="ahead").shown(state, ahead) is ahead


def test_feddyn_may_show_the_mean_of_the_models_that_were_sent():
    method = replace(FEDDYN, name="mine", solver=replace(FEDDYN.solver, alpha=0.1, show="mean"))
    played = servers(method, model=linear)
    for before, one in pairwise(played):
        state = one.server.state
        moved = before.server.weights.vector.numpy()
        h = state["solver"]["correction"]
        change = before.server.state["solver"]["correction"] - h  # α·(m/K)·Δ̄ with 3 of 6 clients
        mean = moved + change / (0.1 * 0.5)
        np.testing.assert_allclose(shown(method, state, one.server.weights).vector, mean, rtol=1e-3, atol=1e-5)
    assert FedDyn(show="model").shown(played[-1].server.state["solver"], moved) is moved


def test_an_average_of_what_is_shown():
    method = Method("plain", server_optimizer=LookAhead(0.5, show="model"), model_average=TailAverage(share=0.5))
    played = servers(method, model=linear)
    behind = [
        one.server.weights.vector.numpy() - 0.5 * one.server.state["server_optimizer"]["momentum"] for one in played
    ]
    found = shown(method, played[-1].server.state, played[-1].server.weights)
    np.testing.assert_allclose(found.vector, (behind[2] + behind[3]) / 2, rtol=1e-5, atol=1e-6)


def test_statistics_of_the_average_are_its_own_and_charged(monkeypatch):
    """Clients measure them for the model and then for the average, which goes on from what it had: twice the bytes."""
    asked, measure = [], Simulator.calibrate

    def watched(self, weights, request):
        asked.append((weights, measure(self, weights, request)))
        return asked[-1][1]

    monkeypatch.setattr(Simulator, "calibrate", watched)
    single = servers(Method("plain"), model=network)
    asked.clear()
    averaged = Method("plain", model_average=ExponentialAverage())
    both = servers(averaged, model=network)
    assert [one.record.bytes.calibration * 2 for one in single] == [one.record.bytes.calibration for one in both]
    last, before = both[-1].server, both[-2].server
    assert last.weights.sha256() == single[-1].server.weights.sha256()
    found = shown(averaged, last.state, last.weights)
    models = [weights.vector for weights, _ in asked[-6:]]
    assert all(torch.equal(one, last.weights.vector) for one in models[:3])
    assert all(torch.equal(one, found.vector) for one in models[3:])
    assert not torch.equal(found.vector, last.weights.vector)
    assert same(asked[-3][0].buffers, shown(averaged, before.state, before.weights).buffers)
    assert same(asked[-1][1], found.buffers)


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, network], ids=["logistic", "batch norm"])
def test_a_run_saves_what_it_shows_and_goes_on_to_the_same_bits(tmp_path, model):
    own = {} if model is None else {"model": model, "data": owners(), "test": owners(1)[0]}
    config = "mnist" if model is None else {}
    settings = {**SMALL, "method.model_average.kind": "exponential", "method.server_optimizer.kind": "look-ahead"}
    settings |= {"method.server_optimizer.show": "model", "simulate.checkpoint_rounds": 1}
    whole = heteroselect.run(config, method="fedavg", settings=settings, out=tmp_path / "whole", **own)
    trained = heteroselect.run(
        config, method="fedavg", settings={**settings, "method.model_average.kind": "none"}, **own
    )
    assert whole.model_sha256 != trained.model_sha256
    assert [line["bytes_up"] for line in whole.rounds] == [line["bytes_up"] for line in trained.rounds]
    saved = load_file(tmp_path / "whole" / "model.safetensors")
    assert {name: array.tobytes() for name, array in saved.items()} == {
        name: tensor.numpy().tobytes() for name, tensor in whole.model.items()
    }

    def stop(line):
        if line["round"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        heteroselect.run(config, method="fedavg", settings=settings, out=tmp_path / "cut", watch=stop, **own)
    resumed = heteroselect.resume(tmp_path / "cut", **own)
    assert resumed.model_sha256 == whole.model_sha256
    assert resumed.rounds == whole.rounds
