"""A number is read by its name, its direction and its unit."""

import pytest

from heteroselect.core.measure import Measure

MSE = Measure("MSE", higher=False, unit="")


def test_the_best_and_the_target_go_by_the_direction() -> None:
    assert Measure().best([0.2, 0.9, 0.5]) == 0.9
    assert MSE.best([4.0, 1.5, 2.0]) == 1.5
    assert MSE.best([]) is None
    assert [Measure().reached(value, 0.5) for value in (0.4, 0.5, 0.6)] == [False, True, True]
    assert [MSE.reached(value, 0.5) for value in (0.4, 0.5, 0.6)] == [True, True, False]


@pytest.mark.parametrize(
    ("measure", "value", "text"),
    [
        (Measure(), 0.9194, "91.94%"),
        (MSE, 369.2941, "369.3"),
        (Measure("score", True, ""), -0.3752, "-0.3752"),
        (Measure("error", False, "m"), 0.00012345, "0.0001234 m"),
        (Measure("steps", False, ""), 1234567.0, "1,234,567"),
    ],
)
def test_a_number_is_a_percentage_only_where_that_is_its_unit(measure: Measure, value: float, text: str) -> None:
    assert measure.text(value) == text


def test_names() -> None:
    assert [Measure().peak, MSE.peak] == ["peak accuracy", "lowest MSE"]
    assert [Measure().axis, MSE.axis, Measure("error", False, "m").axis] == ["accuracy", "MSE", "error, m"]
    assert Measure.of({}) == Measure(), "runs that are older than metrics with a name"
    assert Measure.of({"metric": MSE.as_dict()}) == MSE
