"""Methods: every ablation of the paper's Table II is a setting that reaches the right part."""

from dataclasses import FrozenInstanceError, replace

import pytest

from contracts.found import others
from heteroselect import HeteroSelectError, Method, methods
from heteroselect.core.part import declared
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import Oort
from heteroselect.parts.train import SGD
from heteroselect.settings.config import load


def test_a_method_without_arguments_is_fedavg():
    assert Method() == methods.get("fedavg")
    assert {role: part.kind for role, part in Method().parts()} == {
        role: next(iter(kinds)) for role, kinds in KINDS.items()
    }
    assert [role for role, _ in Method().parts()] == list(KINDS)


HETEROSELECT = methods.get("heteroselect")


@pytest.mark.parametrize(
    ("role", "name", "value"),
    [
        (role, name, others(one, bounds=True)[-1])
        for role, part in HETEROSELECT.parts()
        for name, one in declared(type(part)).items()
        if others(one, bounds=True) and (role, name) != ("error_feedback", "minimum")  # above the maximum
    ],
)
def test_each_setting_of_the_papers_parts_reaches_its_part(role, name, value):
    assert getattr(load("mnist", changes={f"method.{role}.{name}": value}).method, role) == replace(
        getattr(HETEROSELECT, role), **{name: value}
    )


def test_the_default_is_the_papers_text_with_its_shared_rate():
    assert load("mnist").method == HETEROSELECT
    assert (HETEROSELECT.lr.kind, HETEROSELECT.compress.rounding, HETEROSELECT.weigh.floor) == ("shared", "ceil", 0.0)


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
