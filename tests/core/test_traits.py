"""What a part says of itself: a misspelt word is an error, wherever it stands."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import pytest

from heteroselect import methods
from heteroselect.core.traits import HOOKS, Traits
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.kinds import KINDS
from heteroselect.round.method import Method


@dataclass(frozen=True)
class Early:
    """A selector of one's own."""

    rows_kept: int = 3

    def select(self, scores, context):
        return context.cohort(range(context.size))


def with_(**attributes):
    return type("Mine", (Early,), attributes)()


@pytest.mark.parametrize("word", ["by_chort", "reqires", "need", "unbiassed"])
def test_a_misspelt_trait_is_a_type_error(word):
    with pytest.raises(TypeError, match=word):
        Traits(**{word: True})


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"by_cohort": True}, "Mine sets by_cohort by itself; say traits = Traits"),
        ({"needs": frozenset({"links"})}, "Mine sets needs by itself"),
        ({"passes": property(lambda self: 2.0)}, "Mine sets passes by itself"),
        ({"by_chort": True}, "Mine has by_chort, which is nearly by_cohort"),
        ({"reqires": {"compress": ("topk",)}}, "Mine has reqires, which is nearly requires"),
        ({"trait": Traits(by_cohort=True)}, "Mine has Traits under trait; call the attribute traits"),
        ({"traits": {"by_cohort": True}}, "traits of Mine have to be Traits"),
        ({"folow": lambda self, state: state}, "Mine has folow, which is nearly follow"),
        ({"__annotations__": {"by_cohort": bool}}, "Mine sets by_cohort by itself"),
    ],
)
def test_a_part_with_a_loose_or_misspelt_word_is_refused(attributes, sentence):
    with pytest.raises(HeteroSelectError, match=rf"^method\.select: {sentence}"):
        Method("mine", select=with_(**attributes))


def test_a_part_that_goes_by_the_whole_cohort_is_refused_beside_a_server_that_does_not_wait():
    with pytest.raises(HeteroSelectError, match="not select Mine"):
        replace(methods.get("fedbuff"), name="mine", select=with_(traits=Traits(by_cohort=True)))


def test_names_of_ones_own_are_free():
    part = with_(limit=3, share=lambda self: 1, fitness=lambda self: 0, _by_chort=True)
    assert Method("mine", select=part).select is part


@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in KINDS.items() for kind in kinds])
def test_every_shipped_kind_says_when_to_use_it(role, kind):
    advice = KINDS[role][kind].__doc__.rpartition("\n\n")[2]
    assert "Use when " in advice
    assert "Beware: " in advice


@pytest.mark.parametrize("word", ["links", "uplods"])
def test_needs_takes_words_and_not_one_word(word):
    with pytest.raises(ValueError, match="needs names"):
        Traits(needs=word)


def test_every_trait_and_every_optional_method_stands_in_the_docs():
    page = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
    rows = {one.name: one.metadata["meaning"] for one in fields(Traits)} | HOOKS
    missing = [f"| `{name}` | {text} |" for name, text in rows.items() if f"| `{name}` | {text} |" not in page]
    assert not missing, "\n".join(missing)
