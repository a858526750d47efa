"""Methods: every ablation of the paper's Table II is a setting that reaches the right part."""

from dataclasses import FrozenInstanceError, replace

import pytest

from heteroselect import HeteroSelectError, Method, methods
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import Oort
from heteroselect.parts.train import SGD
from heteroselect.settings.config import load


def built(**changes):
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return load("mnist", changes=dotted).method


def test_a_method_without_arguments_is_fedavg():
    assert Method() == methods.get("fedavg")
    assert {role: part.kind for role, part in Method().parts()} == {
        role: next(iter(kinds)) for role, kinds in KINDS.items()
    }
    assert [role for role, _ in Method().parts()] == list(KINDS)


def test_the_default_is_the_papers_text():
    method = methods.get("heteroselect")
    assert load("mnist").method == method
    assert method.lr.kind == "shared"
    assert method.allocate.warmup == "full"
    assert method.compress.rounding == "ceil"
    assert not method.score.augmented
    assert method.score.constant == 0.5
    assert method.score.fairness_start == 0.0
    assert method.weigh.floor == 0.0


def test_as_run_differs_only_in_settings_and_the_rule_of_its_rate():
    text, run = methods.get("heteroselect"), methods.get("heteroselect-as-run")
    differing = [role for (role, a), (_, b) in zip(text.parts(), run.parts(), strict=True) if type(a) is not type(b)]
    assert differing == ["lr"]
    assert run.lr.kind == "score"
    assert run.allocate.warmup == "allocated"
    assert run.compress.rounding == "floor"
    assert run.score.augmented
    assert (run.score.constant, run.score.fairness_start, run.score.raw_staleness) == (1.0, 1.0, True)
    assert run.calibrate.split == "in-turn"


def test_the_papers_figures_are_the_defaults_of_its_parts():
    for role, part in methods.get("heteroselect").parts():
        assert part == (SGD(proximal=0.1) if role == "solver" else type(part)()), role


def test_a_method_is_data():
    method = methods.get("oort")
    with pytest.raises(FrozenInstanceError):
        method.select = Oort()  # type: ignore[misc]
    assert replace(method, select=Oort(tired=3)) != method
    assert hash(method) == hash(replace(method))


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"solver": SGD(steps=0)}, r"method\.solver\.steps: allowed is a whole number ≥ 1, not 0"),
        ({"solver": SGD(momentum=1.0)}, r"method\.solver\.momentum: allowed is a number ≥ 0 and < 1"),
        ({"select": Oort(tired="very")}, r"method\.select\.tired"),
        ({"select": None}, r"method\.select"),
        ({"select": SGD()}, r"method\.select"),
        ({"compress": 3}, r"method\.compress"),
    ],
)
def test_what_is_no_part_of_its_role_is_refused_when_a_method_is_put_together(part, sentence):
    with pytest.raises(HeteroSelectError, match=sentence):
        Method("mine", **part)


def test_ef21_brings_its_server_and_its_weights():
    method = load(
        "mnist", method="fedavg", changes={"method.compress.kind": "topk", "method.error_feedback.kind": "ef21"}
    ).method
    assert (method.error_feedback.kind, method.server_optimizer.kind, method.weigh.kind) == (
        "ef21",
        "running",
        "everybody",
    )


@pytest.mark.parametrize(
    ("change", "read", "expected"),
    [
        ({"method__allocate__kind": "uniform"}, lambda m: m.allocate.kind, "uniform"),
        ({"method__allocate__ceiling": "none"}, lambda m: m.allocate.ceiling, "none"),
        ({"method__allocate__floor": 0.1}, lambda m: m.allocate.floor, 0.1),
        ({"method__solver__proximal": 0.0}, lambda m: m.solver.proximal, 0.0),
        ({"method__score__loss_weight": 0.0}, lambda m: m.score.loss_weight, 0.0),
        ({"method__score__diversity_weight": 0.0}, lambda m: m.score.diversity_weight, 0.0),
        ({"method__score__fairness_weight": 0.0}, lambda m: m.score.fairness_weight, 0.0),
        ({"method__score__staleness_weight": 0.0}, lambda m: m.score.staleness_weight, 0.0),
        ({"method__compress__kind": "topk"}, lambda m: m.compress.kind, "topk"),
        ({"method__error_feedback__decay": "static"}, lambda m: m.error_feedback.beta(0.2), 0.9),
        ({"method__lr__kind": "score"}, lambda m: m.lr.kind, "score"),
        ({"method__lr__start": 0.1}, lambda m: m.lr.start, 0.1),
        ({"method__local_steps__kind": "device"}, lambda m: m.local_steps.kind, "device"),
        ({"method__weigh__kind": "uniform"}, lambda m: m.weigh.kind, "uniform"),
        ({"method__server_optimizer__momentum": 0.0}, lambda m: m.server_optimizer.momentum, 0.0),
        ({"method__server_optimizer__kind": "look-ahead"}, lambda m: type(m.server_optimizer).__name__, "LookAhead"),
        ({"method__calibrate__clients": 10}, lambda m: m.calibrate.clients, 10),
        ({"method__compress__kind": "stc"}, lambda m: type(m.compress).__name__, "STC"),
        ({"method__compress__kind": "random-k"}, lambda m: type(m.compress).__name__, "RandomK"),
        ({"method__compress__kind": "threshold"}, lambda m: type(m.compress).__name__, "Threshold"),
        ({"method__compress__kind": "sign"}, lambda m: type(m.compress).__name__, "Sign"),
        ({"method__error_feedback__kind": "none"}, lambda m: m.error_feedback.beta(0.5), 0.0),
        ({"method__quantize__kind": "uniform", "method__quantize__bits": 4}, lambda m: m.quantize.bits, 4),
        ({"method__score__mode": "stale"}, lambda m: m.score.mode, "stale"),
        ({"method__error_feedback__kind": "momentum"}, lambda m: type(m.error_feedback).__name__, "MomentumMemory"),
        ({"method__score__sketch": 4096}, lambda m: m.sketch, 4096),
        ({"method__allocate__warmup": "ramp"}, lambda m: m.allocate.warmup, "ramp"),
        ({"method__outlier_filter__bound": 5.0}, lambda m: m.outlier_filter.bound, 5.0),
        ({"method__server_optimizer__rate": 0.5}, lambda m: m.server_optimizer.rate, 0.5),
        ({"method__select__temperature": 2.0}, lambda m: m.select.temperature, 2.0),
    ],
)
def test_each_setting_reaches_its_part(change, read, expected):
    assert read(methods.get("heteroselect")) != expected
    assert read(built(**change)) == expected
