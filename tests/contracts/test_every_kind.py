"""What every kind of every role promises: a contract, and declarations that hold together."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from contracts.found import parts
from heteroselect import Method
from heteroselect.core.part import check, declared, kind_of
from heteroselect.core.traits import refuse_misspelt, traits_of
from heteroselect.parts.kinds import KINDS


def test_every_role_has_one_contract():
    assert list(KINDS) == [one.name for one in fields(Method) if one.name != "name"]
    assert {f"test_{role}.py" for role in KINDS} <= {path.name for path in Path(__file__).parent.iterdir()}


@pytest.mark.parametrize(("role", "part"), [(role, part) for role in KINDS for part in parts(role)], ids=repr)
def test_its_declarations_hold_together(role, part):
    traits = traits_of(part)
    check(part)
    refuse_misspelt(part)
    assert KINDS[role][kind_of(part)] is type(part)
    assert (part, hash(part)) == (replace(part), hash(replace(part))), "a method that has it can be compared and hashed"
    assert all(one.meaning for one in declared(type(part)).values())
    for other, names in traits.requires.items():
        assert set(names) <= set(KINDS[other])
    for other, brought in traits.brings.items():
        settings = dict(brought)
        made = KINDS[other][settings.pop("kind")](**settings)
        check(made)
        assert kind_of(made) in traits.requires.get(other, kind_of(made))
