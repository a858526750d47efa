"""What every way to hide an update promises: a bound on what a user can move, noise as large as said, and the same bits
again."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import heteroselect
from contracts.found import bits, each
from heteroselect import HeteroSelectError, Method
from heteroselect.core.update import norm
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.compress import ErrorMemory, Gaussian, Ternary, TopK
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import Oort
from heteroselect.settings.method import changed

SMALL = {
    "clients": 8,
    "selected": 4,
    "rounds": 4,
    "method.solver.steps": 3,
    "method.solver.batch": 8,
    "method.privacy.kind": "gaussian",
    "method.privacy.noise": 0.1,
    "simulate.checkpoint_rounds": 1,
}
# so small that the bound itself is not finer than a float32 can tell
deltas = arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e6, 1e6, width=32))


@given(delta=deltas, clip=st.floats(1e-3, 1e3))
def test_nobody_moves_the_sum_by_more_than_the_clip(delta, clip):
    found = Gaussian(clip=clip).clipped(delta)
    assert found.dtype == np.float32
    assert norm(found) <= clip
    if norm(delta) <= 0.999 * clip:
        np.testing.assert_array_equal(found, delta)  # what is short is not touched
    else:
        np.testing.assert_allclose(found * (norm(delta) / clip), delta, rtol=1e-3, atol=1e-3 * norm(delta))


def test_the_noise_is_that_of_the_clip_whatever_was_learnt():
    part, size = Gaussian(clip=0.5, noise=2.0), 200_000
    for delta in (np.zeros(size, np.float32), np.ones(size, np.float32)):
        noise = part.protect(delta, np.random.default_rng(1)) - part.clipped(delta)
        # the mean of n squares has the relative deviation √(2/n), about 0.003
        assert np.mean(noise.astype(np.float64) ** 2) == pytest.approx(1.0, rel=0.015)
        assert abs(noise.mean()) < 5 / np.sqrt(size)


@each("privacy", Gaussian(clip=0.1, noise=3.0))
def test_the_same_generator_gives_the_same_bits_and_leaves_its_argument(part):
    delta = np.linspace(-1, 1, 50, dtype=np.float32)
    before = bits(delta)
    first, second = (part.protect(delta, np.random.default_rng(7)) for _ in range(2))
    assert bits(first) == bits(second)
    assert bits(delta) == before
    assert (first.dtype, first.shape) == (delta.dtype, delta.shape)


def private(**parts: object) -> Method:
    return replace(Method("mine", weigh=Equal(), privacy=Gaussian()), **parts)


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (
            {"error_feedback": ErrorMemory(), "compress": TopK()},
            "gaussian is allowed with error_feedback none only, not error",
        ),
        ({"select": Oort()}, "gaussian is allowed with select uniform or everybody only, not oort"),
        ({"weigh": Method().weigh}, "gaussian is allowed with weigh uniform only, not data"),
        ({"compress": KINDS["compress"]["curvature"]()}, "looks at the client's data again"),
        (
            {"second_selection": KINDS["second_selection"]["optimal-client-sampling"]()},
            "gaussian is allowed with second_selection none only",
        ),
        ({"async_mode": KINDS["async_mode"]["buffer"]()}, "gaussian is allowed with async_mode all only, not buffer"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_what_cannot_carry_it_is_refused(parts, why):
    with pytest.raises(HeteroSelectError, match=why):
        private(**parts)


def test_top_k_of_noise_is_cautioned_about_and_an_unbiased_coder_is_not():
    given = {"privacy.kind": "gaussian", "compress.kind": "topk", "error_feedback.kind": "none"}
    assert any("mostly noise" in text for text in changed(Method(), given=given).brought)
    found = changed(Method(), given={**given, "compress.kind": "ternary"})
    assert not any("noise" in text for text in found.brought)
    assert found.method.compress == Ternary()
    assert found.method.weigh == Equal(), "equal weights come with it"


def test_batch_norm_statistics_would_go_as_they_are():
    from torch import nn

    model = lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 10), nn.BatchNorm1d(10))  # noqa: E731
    with pytest.raises(HeteroSelectError, match="statistics of batch normalisation"):
        heteroselect.run("mnist", method="fedavg", settings=SMALL, model=model)


@pytest.mark.slow
@pytest.mark.parametrize("coder", ["none", "ternary"])
def test_a_run_gives_the_same_bits_on_threads_and_after_a_stop_and_reports_nothing(tmp_path, coder):
    settings = {**SMALL, "method.compress.kind": coder}
    uploads = []

    def stop(line):
        uploads.append(line["memory_norm"])
        if line["round"] == 2:
            raise RuntimeError

    whole = heteroselect.run("mnist", method="fedavg", settings=settings, threads=1)
    on_two = heteroselect.run("mnist", method="fedavg", settings=settings, threads=2)
    with pytest.raises(RuntimeError):
        heteroselect.run("mnist", method="fedavg", settings=settings, out=tmp_path / "run", watch=stop)
    resumed = heteroselect.resume(tmp_path / "run", threads=1)
    assert whole.model_sha256 == on_two.model_sha256 == resumed.model_sha256
    assert whole.rounds == resumed.rounds
    assert uploads == [None, None], "clients report nothing"
    plain = heteroselect.run("mnist", method="fedavg", settings={**settings, "method.privacy.noise": 0.2}, threads=1)
    assert plain.model_sha256 != whole.model_sha256
