"""What a part says of itself beside its settings: one typed declaration, `traits = Traits(…)`, as a class attribute.

    @dataclass(frozen=True)
    class ByLink:
        traits = Traits(needs={"links"}, by_cohort=True)

A misspelt word is a TypeError where the class is defined. What depends on the part's settings is a property of that
name. Everything else that a part may have, and does not need to, are the methods in `HOOKS`.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any

from heteroselect.core.part import Brings, FieldError, Prefers, Requires

NEEDS = {
    "scores": "a score of each client",
    "losses": "losses that clients are asked for",
    "reports": "what clients report of their training",
    "examples": "reports that go by the loss of every single example",
    "uploads": "the last update of each client",
    "links": "links and devices, in `context.conditions`",
    "labels": "the share of each label in a client's data, as reports `label0` and so on",
    "variance": "how much the gradients of a client's batches differ, as a report",
}
"""What a part may go by, and what it gets then."""

HOOKS = {
    "fits": "Return why the part cannot work with the other parts, or None (any role)",
    "cautions": "Yield what works with the other parts and is worth little (any role)",
    "learn": "Return the part's new state, given what came of the round (score, select, allocate)",
    "wants": "Return the clients whose loss is asked for, beside those of the score (select)",
    "update_state": "Return what a client keeps, once its update was used (solver)",
    "shared": "Return what goes down with the model, of the server's state (solver)",
    "follow": "Return the server's new state, and what else to add to its step (solver)",
    "shown": "Return the point to evaluate in place of the model (server_optimizer, solver)",
    "told": "Return what goes down with the model, of the server's state (compress)",
    "share": "Return the part of an update that is sent by it (compress)",
    "complete": "Return the server's new state, and the aggregate with what was not sent (compress)",
    "longest": "Return the most bytes that an honest payload has (compress)",
    "variance": "Return E‖x̂ − x‖²/‖x‖² at a density (compress)",
    "curvature": "Return |Ĥ| of some layers; tried once before the run (compress)",
}
"""The optional methods of parts, and what each has to do."""


def _trait(default: Any, meaning: str) -> Any:
    given: Any = {"default_factory": default} if isinstance(default, type) else {"default": default}
    return field(**given, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Traits:
    """What a part needs, brings, promises and refuses. What it does not say is as the default says.

    >>> Traits(needs={"links"}, by_cohort=True).by_cohort
    True
    >>> Traits(by_chort=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: Traits.__init__() got an unexpected keyword argument 'by_chort'...
    """

    needs: AbstractSet[str] = _trait(frozenset, f"what it goes by: {', '.join(NEEDS)}")
    brings: Brings = _trait(dict, "the kinds and settings that its paper needs in other roles")
    requires: Requires = _trait(dict, "the kinds that it can work with, by role; all others are refused")
    prefers: Prefers = _trait(dict, "a promise of another role's part that it makes little sense without")
    carries: Sequence[str] = _trait(tuple, "settings that it takes over from the part in whose place it comes")
    tuned_with: Mapping[str, Sequence[str]] = _trait(
        dict, "by setting, those of other roles that are tuned as one with it"
    )
    untuned: AbstractSet[str] = _trait(frozenset, "settings that `tune` leaves alone, although they have a range")
    by_cohort: bool = _trait(False, "it plans for a whole cohort, so that a server that does not wait refuses it")
    shares: bool = _trait(False, "a selector whose cohorts say what each client stands for (`weigh` share goes by it)")
    passes: float | None = _trait(
        None, "passes over a batch: of a solver per local step (1), of a compressor per update (0)"
    )
    rows: bool = _trait(False, "a solver that can train several clients as the rows of one matrix")
    hides: bool = _trait(False, "a privacy with which a client reports nothing of its training")
    keeps: bool = _trait(False, "an error feedback that keeps what was not sent")
    unbiased: bool = _trait(False, "a compressor with E x̂ = x")
    own_values: bool = _trait(False, "a compressor with few-bit values of its own, so that `quantize` stays float32")
    uses_density: bool = _trait(True, "a compressor that sends as much as is allocated")
    keeps_density: bool | None = _trait(
        None,
        "a compressor that keeps that share of the coordinates, so that more is refused; by default those that use the "
        "density and have no values of their own",
    )
    takes_memory: bool | None = _trait(
        None, "a compressor whose error shrinks with what is sent; by default those that are not unbiased"
    )
    wire_bits: float | None = _trait(None, "bits that a coordinate takes at density 1, of a compressor with a variance")

    def __post_init__(self) -> None:
        for word in sorted(frozenset(self.needs) - NEEDS.keys()):
            raise ValueError(f"needs names {word!r}; take of {', '.join(NEEDS)}")

    def promises(self, word: str) -> bool:
        """Whether a compressor has a property, with the defaults that follow from others.

        >>> Traits(unbiased=True).promises("takes_memory"), Traits().promises("keeps_density")
        (False, True)
        """
        said = getattr(self, word)
        if said is None and word == "takes_memory":
            return not self.unbiased
        if said is None and word == "keeps_density":
            return self.uses_density and not self.own_values
        return bool(said)


_PLAIN = Traits()
WORDS = tuple(one.name for one in fields(Traits))


def traits_of(part: object) -> Traits:
    """Return the traits of a part; the defaults of one that declares none."""
    found: Traits = getattr(part, "traits", _PLAIN)
    return found


def refuse_misspelt(part: object) -> None:
    """Raise FieldError where a part has a trait outside of `traits`, or a name close to a trait or a hook."""
    kind = type(part).__name__
    if not isinstance(traits_of(part), Traits):
        raise FieldError("", f"traits of {kind} have to be Traits(…), from heteroselect.core.traits")
    settings = {one.name for one in fields(part)} if is_dataclass(part) else set()
    for name, value in _attributes(type(part)).items():
        if name in WORDS and name not in HOOKS:
            raise FieldError("", f"{kind} sets {name} by itself; say traits = Traits({name}=…)")
        if name in settings or name in HOOKS or name == "traits":
            continue
        if isinstance(value, Traits):
            raise FieldError("", f"{kind} has Traits under {name}; call the attribute traits")
        if close := get_close_matches(name, HOOKS if callable(value) else WORDS, 1, 0.8):
            raise FieldError("", f"{kind} has {name}, which is nearly {close[0]}; correct it, or begin it with _")


def _attributes(kind: type) -> dict[str, Any]:
    """The public attributes of a class and its bases, and those that are declared without a value."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__[:-1]):
        declared = dict.fromkeys(getattr(base, "__annotations__", {}))
        found |= {name: value for name, value in {**declared, **vars(base)}.items() if name[0] != "_"}
    return found
