"""Methods: every ablation of the paper's Table II is a setting that reaches the right part."""

from dataclasses import MISSING, fields

import pytest

from heteroselect import methods
from heteroselect.settings.config import load


def built(**changes):
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return methods.build(load("mnist", methods=methods.SETTINGS, changes=dotted).method)


def test_the_default_is_the_papers_text():
    method = methods.get("heteroselect")
    assert method.rate.rule == "shared"
    assert method.allocate.warmup == "full"
    assert method.compress.rounding == "ceil"
    assert not method.score.augmented
    assert method.score.constant == 0.5
    assert method.score.fairness_start == 0.0
    assert method.weigh.floor == 0.0


def test_as_run_differs_only_in_settings():
    text, run = methods.get("heteroselect"), methods.get("heteroselect-as-run")
    assert [type(part) for part in vars(text).values()] == [type(part) for part in vars(run).values()]
    assert run.rate.rule == "score"
    assert run.allocate.warmup == "allocated"
    assert run.compress.rounding == "floor"
    assert run.score.augmented
    assert (run.score.constant, run.score.fairness_start, run.score.raw_staleness) == (1.0, 1.0, True)
    assert run.calibrate.split == "in-turn"


def test_the_defaults_of_the_settings_are_those_of_the_parts():
    method = methods.get("heteroselect")
    for field in fields(method):
        part = getattr(method, field.name)
        if field.name != "name":
            assert part == (type(part)() if field.default is MISSING else field.default), field.name


def test_ef21_comes_with_its_server_and_its_weights():
    method = built(
        method__compress__memory="ef21", method__aggregate__weights="everybody", method__aggregate__momentum=0
    )
    assert type(method.memory).__name__ == "EF21"
    assert type(method.server).__name__ == "Running"
    assert method.weigh.rule == "everybody"


@pytest.mark.parametrize(
    ("change", "read", "expected"),
    [
        ({"method__allocate__rule": "uniform"}, lambda m: m.allocate.rule, "uniform"),
        ({"method__allocate__ceiling": "none"}, lambda m: m.allocate.ceiling, "none"),
        ({"method__allocate__floor": 0.1}, lambda m: m.allocate.budget.floor, 0.1),
        ({"method__train__proximal": 0.0}, lambda m: m.train.proximal, 0.0),
        ({"method__score__loss_weight": 0.0}, lambda m: m.score.loss_weight, 0.0),
        ({"method__score__diversity_weight": 0.0}, lambda m: m.score.diversity_weight, 0.0),
        ({"method__score__fairness_weight": 0.0}, lambda m: m.score.fairness_weight, 0.0),
        ({"method__score__staleness_weight": 0.0}, lambda m: m.score.staleness_weight, 0.0),
        ({"method__score__consensus_keep": 0.8}, lambda m: m.consensus_keep, 0.8),
        ({"method__compress__curvature_layers": 0}, lambda m: m.compress.layers, 0),
        ({"method__compress__decay": "static"}, lambda m: m.memory.beta(0.2), 0.9),
        ({"method__train__rate_rule": "score"}, lambda m: m.rate.rule, "score"),
        ({"method__aggregate__weights": "uniform"}, lambda m: m.weigh.rule, "uniform"),
        ({"method__aggregate__momentum": 0.0}, lambda m: m.server.momentum, 0.0),
        ({"method__aggregate__calibration_clients": 10}, lambda m: m.calibrate.clients, 10),
        ({"method__compress__kind": "stc"}, lambda m: type(m.compress).__name__, "STC"),
        ({"method__compress__kind": "randomk"}, lambda m: type(m.compress).__name__, "RandomK"),
        ({"method__compress__kind": "threshold"}, lambda m: type(m.compress).__name__, "Threshold"),
        ({"method__compress__kind": "sign"}, lambda m: type(m.compress).__name__, "Sign"),
        ({"method__compress__memory": "none"}, lambda m: m.memory.beta(0.5), 0.0),
        ({"method__compress__values": "uniform4"}, lambda m: m.values.bits, 4),
        ({"method__score__mode": "stale"}, lambda m: m.score.mode, "stale"),
        ({"method__compress__memory": "momentum"}, lambda m: type(m.memory).__name__, "MomentumMemory"),
        ({"method__compress__keep_unweighted": True}, lambda m: m.keep_unweighted, True),
        ({"method__score__diversity_input": "sketch"}, lambda m: m.sketch, 4096),
        ({"method__allocate__warmup": "ramp"}, lambda m: m.allocate.budget.ramp, True),
        ({"method__aggregate__norm_bound": 5.0}, lambda m: m.screen.bound, 5.0),
        ({"method__aggregate__rate": 0.5}, lambda m: m.server.rate, 0.5),
        ({"method__select__temperature": 2.0}, lambda m: m.select.temperature, 2.0),
    ],
)
def test_each_setting_reaches_its_part(change, read, expected):
    assert read(methods.get("heteroselect")) != expected
    assert read(built(**change)) == expected
