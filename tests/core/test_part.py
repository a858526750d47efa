"""How a part declares its settings: once, with what is allowed, and errors that say so."""

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from heteroselect.core.part import FieldError, check, declared, setting, values


@dataclass(frozen=True)
class Mill:
    """A part with a setting of every type."""

    kind: ClassVar[str] = "mill"

    speed: float = setting(1.5, "how fast it turns", gt=0, le=10)
    sails: int = setting(4, "how many sails", ge=2, lt=9)
    still: bool = setting(False, "whether it stands still")
    name: str = setting("De Hoop", "what it is called")
    grain: Literal["rye", "wheat", "oats"] = setting("rye", "what it grinds")
    blades: Literal[1, 2] = setting(2, "blades per sail")
    wind: float | None = setting(None, "what wind it needs", ge=0)
    plain: float = 3.0
    helper: object = field(default=None)


SETTINGS = declared(Mill)


def test_the_settings_are_the_fields_in_their_order():
    assert list(SETTINGS) == ["speed", "sails", "still", "name", "grain", "blades", "wind", "plain"]
    speed = SETTINGS["speed"]
    assert (speed.name, speed.type, speed.default, speed.meaning) == ("speed", float, 1.5, "how fast it turns")
    assert speed.bounds == {"gt": 0, "le": 10}
    assert "kind" not in SETTINGS, "a promise of the class is no setting"
    assert "helper" not in SETTINGS, "nor is a field that no text can say"


def test_a_class_that_is_no_dataclass_has_no_settings():
    class Plain:
        speed = 3.0

    assert declared(Plain) == {}
    assert values(Plain()) == {}
    check(Plain())


def test_the_values_of_a_part_are_those_it_has():
    assert values(Mill(speed=2, wind=3.5)) == {
        "speed": 2,
        "sails": 4,
        "still": False,
        "name": "De Hoop",
        "grain": "rye",
        "blades": 2,
        "wind": 3.5,
        "plain": 3.0,
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("speed", "a number > 0 and ≤ 10"),
        ("sails", "a whole number ≥ 2 and < 9"),
        ("still", "true or false"),
        ("name", "a text"),
        ("grain", "rye, wheat or oats"),
        ("blades", "1 or 2"),
        ("wind", "a number ≥ 0, or none"),
        ("plain", "a number"),
    ],
)
def test_what_is_allowed_in_words(name, text):
    assert SETTINGS[name].allowed == text


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("speed", 10, 10.0),
        ("speed", 1e-9, 1e-9),
        ("sails", 2, 2),
        ("sails", 8, 8),
        ("sails", 4.0, 4),  # JSON and TOML may write a whole number so
        ("still", True, True),
        ("name", "", ""),
        ("grain", "oats", "oats"),
        ("blades", 1, 1),
        ("blades", 1.0, 1),
        ("wind", None, None),
        ("wind", "none", None),
        ("wind", 0, 0.0),
    ],
)
def test_what_is_allowed_becomes_the_fields_type(name, value, found):
    checked = SETTINGS[name].checked(value)
    assert checked == found
    assert type(checked) is type(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("speed", 0),
        ("speed", 10.01),
        ("speed", math.nan),
        ("speed", math.inf),
        ("speed", "fast"),
        ("speed", "1.5"),
        ("speed", None),
        ("speed", True),  # a bool is no number
        ("sails", 1),
        ("sails", 9),
        ("sails", 4.5),
        ("sails", True),
        ("sails", "4"),
        ("still", 1),
        ("still", 0.0),
        ("still", "true"),
        ("name", 3),
        ("grain", "barley"),
        ("grain", None),
        ("grain", 1),
        ("blades", 3),
        ("blades", "2"),
        ("blades", True),
        ("wind", -1),
        ("wind", math.nan),
        ("wind", False),
        ("plain", math.inf),
        ("plain", "none"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name_with_what_is(name, value):
    with pytest.raises(FieldError) as found:
        SETTINGS[name].checked(value)
    assert found.value.name == name
    assert found.value.text == f"allowed is {SETTINGS[name].allowed}, not {value!r}"
    assert str(found.value) == f"{name}: {found.value.text}"


def test_a_part_is_checked_field_by_field():
    check(Mill())
    with pytest.raises(FieldError, match="sails: allowed is a whole number ≥ 2 and < 9, not 1"):
        check(Mill(sails=1))
    with pytest.raises(FieldError, match="grain: allowed is rye, wheat or oats, not 'maize'"):
        check(Mill(grain="maize"))


@given(st.floats(allow_nan=True, allow_infinity=True) | st.integers())
@examples(max_examples=200, deadline=None, derandomize=True)
def test_a_number_passes_where_it_is_within_the_bounds_and_nowhere_else(value):
    within = math.isfinite(value) and 0 < value <= 10
    try:
        found = SETTINGS["speed"].checked(value)
    except FieldError:
        assert not within
    else:
        assert within
        assert isinstance(found, float)
        assert found == value
