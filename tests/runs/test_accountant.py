"""What noise promises: ε by hand, by the accountant, and what does not count."""

import math

import pytest

pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")

from dp_accounting import GaussianDpEvent, NeighboringRelation, SampledWithoutReplacementDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.runs.accountant import epsilon, promise
from heteroselect.settings.config import load

pytestmark = pytest.mark.slow  # the accountant looks at a hundred orders
NOISY = {"method.privacy.kind": "gaussian", "method.privacy.noise": 2.0, "rounds": 5}


def promised(**changes):
    """The promise of FedAvg on MNIST with noise, 10 of 100 clients, everything else plain."""
    settings = {key.replace("__", "."): value for key, value in changes.items()}
    loaded = load("mnist", method="fedavg", changes={**NOISY, **settings})
    return promise(loaded.method, loaded.config, delta=1e-5)


def test_one_round_of_everybody_is_the_gaussian_mechanism():
    """The Rényi divergence of order a of two Gaussians is a/(2z²), and ε of it is at most that + log(1/δ)/(a − 1);
    the best a is 1 + z·√(2·log(1/δ)). The accountant's conversion is a little tighter."""
    z, delta = 4.0, 1e-5
    by_hand = 1 / (2 * z**2) + math.sqrt(2 * math.log(1 / delta)) / z
    found = epsilon(z, 100, 100, 1, delta)
    assert 0.75 * by_hand < found < by_hand


def test_it_is_the_accountants_for_a_draw_without_replacement():
    accountant = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
    accountant.compose(SelfComposedDpEvent(SampledWithoutReplacementDpEvent(100, 10, GaussianDpEvent(1.0)), 5))
    found = promised()
    assert (found.drawn, found.users, found.rounds, found.amplified) == (10, 100, 5, True)
    assert found.multiplier == pytest.approx(1.0)  # a noise of 2 clips over the 2 clips that a replaced user moves
    assert found.epsilon == pytest.approx(accountant.get_epsilon(1e-5))


def test_the_noise_of_a_cohort_counts_only_where_nothing_but_the_sum_is_looked_at():
    whole = promised(method__outlier_filter__bound=0)
    assert whole.together == 10
    assert whole.multiplier == pytest.approx(math.sqrt(10))
    for change in (
        {"method__compress__kind": "ternary"},
        {"method__quantize__kind": "float16"},
        {"method__aggregate__kind": "median"},
        {"world__faults__missing": 0.1},
        {"world__deadline": 0.001},
        {"world__attack__kind": "flip", "world__attack__share": 0.1},
    ):
        assert promised(method__outlier_filter__bound=0, **change).together == 1, change
    assert promised().together == 1, "a screen looks at single updates"
    for fault in ("scaled", "corrupt", "nan", "inf"):  # even where all were counted
        settings = {**NOISY, "method.outlier_filter.bound": 0, f"world.faults.{fault}": 0.3}
        loaded = load("mnist", method="fedavg", changes=settings)
        assert promise(loaded.method, loaded.config, delta=1e-5, played=[{"weights": [0.1] * 10}] * 5).together == 1


def test_clients_that_come_and_go_are_not_drawn_uniformly():
    away = promised(world__availability__kind="day")
    assert not away.amplified
    assert away.epsilon == epsilon(1.0, 100, 100, 5, 1e-5) > promised().epsilon


def test_of_a_run_the_rounds_count_that_were_played_and_the_noise_that_arrived():
    loaded = load("mnist", method="fedavg", changes={**NOISY, "method.outlier_filter.bound": 0})
    played = [{"weights": [0.25] * 4}, {"weights": [0.5, 0.5, 0.0, 0.0]}]
    found = promise(loaded.method, loaded.config, delta=1e-5, played=played)
    assert (found.rounds, found.together) == (2, 2)


def test_what_promises_nothing_is_refused():
    loaded = load("mnist", method="fedavg")
    with pytest.raises(HeteroSelectError, match=r"none promises nothing; choose gaussian"):
        promise(loaded.method, loaded.config, delta=1e-5)
    with pytest.raises(HeteroSelectError, match=r"--delta: give a number > 0 and < 1"):
        epsilon(1.0, 10, 5, 1, 0.0)


def test_the_command_says_it_in_words():
    words = ["--set", "method.privacy.kind=gaussian", "--set", "method.privacy.noise=2", "--rounds", "5"]
    found = CliRunner().invoke(app, ["privacy", "mnist", "--method", "fedavg", *words])
    assert found.exit_code == 0, found.output
    assert f"ε = {promised().epsilon:.3g} at δ = 1e-05" in found.output
    assert "Whoever knows the seed" in found.output


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"data.validation_fraction": 0.1, "data.evaluate": "validation", "stop_at_target": 1}, "stop_at_target"),
        ({"world.deadline": 5.0, "world.stress": "inverse"}, "world.deadline"),
    ],
)
def test_where_data_decide_nothing_is_promised(changes, named):
    loaded = load("mnist", method="fedavg", changes={**NOISY, **changes})
    with pytest.raises(HeteroSelectError, match=named):
        promise(loaded.method, loaded.config, delta=1e-5)


@pytest.mark.parametrize("name", ["scaffold", "feddyn"])
def test_solvers_whose_clients_keep_what_they_sent_are_refused(name):
    with pytest.raises(HeteroSelectError, match="whose clients keep what they sent"):
        load("mnist", method="fedavg", changes={**NOISY, "method.solver.kind": name})
    assert load("mnist", method=name, changes=NOISY).method.solver.kind == "sgd"  # what nobody chose gives way


def test_a_folder_is_taken_as_it_was_played(tmp_path):
    small = {**NOISY, "rounds": 2, "clients": 6, "selected": 3, "method.solver.steps": 1}
    heteroselect.run("mnist", method="fedavg", settings=small, out=tmp_path / "run")

    def asked(*words):
        return CliRunner().invoke(app, ["privacy", str(tmp_path / "run"), *words])

    assert "2 rounds" in asked().output
    assert "is over" in str(asked("--set", "method.privacy.noise=100").exception)
    config = tmp_path / "run" / "config.toml"
    before = config.read_text()
    config.write_text(before.replace("noise = 2.0", "noise = 50.0"))
    assert "was changed since the run began" in str(asked().exception)
    config.write_text(before)
    log = tmp_path / "run" / "rounds.jsonl"
    log.write_text(log.read_text().partition("\n")[0] + "\n")
    assert isinstance(asked().exception, HeteroSelectError)
