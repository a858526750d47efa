"""A method written down: per role a kind and its settings, as in

    [method.select]
    kind = "oort"
    penalty = 2.0

`table` writes a method down and `changed` makes one from another with single settings changed. Both know nothing of any
method: all they say comes from the declarations of the parts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heteroselect import methods
from heteroselect.core.part import Declared, FieldError, declared, kind_of, values
from heteroselect.core.traits import traits_of
from heteroselect.errors import SettingError, meant
from heteroselect.parts.kinds import KINDS
from heteroselect.round.method import Method, conflicts, naming
from heteroselect.settings import own, renamed

Parts = dict[str, Any]
NOTED = ("kind", "source")


@dataclass(frozen=True)
class Chosen:
    """A method, how it is written down, and what the kinds that were chosen brought with them, or are cautioned
    about."""

    method: Method
    table: dict[str, Any]
    brought: tuple[str, ...]


def table(method: Method, named: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The method written down; `named` has the kinds of parts that come from a user's file, FILE.py:NAME, and their
    checksums are noted."""
    found: dict[str, Any] = {"name": method.name}
    for role, part in method.parts():
        kind = (named or {}).get(role)
        noted = {"source": own.digest(kind)} if kind else {}
        found[role] = {"kind": kind or kind_of(part), **noted, **_written(part)}
    return found


def completed(written: Mapping[str, Any]) -> dict[str, Any]:
    """A method as an earlier version wrote it down, with the roles and settings that there have been since then at
    their defaults."""
    found = {**table(Method()), **written}
    for role, kinds in KINDS.items():
        if (kind := str(found[role]["kind"])) in kinds:
            found[role] = {**_written(kinds[kind]()), **found[role]}
    return found


def _written(part: Any) -> dict[str, Any]:
    return {name: "none" if value is None else value for name, value in values(part).items()}


def changed(base: Method, *layers: Mapping[str, Any], given: Mapping[str, Any]) -> Chosen:
    """`base` with settings laid over it, layer by layer and then those `given` by the user; keys as in `select.kind`.

    A kind that the user chose brings what its paper needs in other roles, where the user said nothing of these and they
    are as plain as can be, or cannot work with it.
    """
    parts: Parts = dict(base.parts())
    named: dict[str, str] = {}
    asked = _by_role(given)
    kinds = {role: {key: one[key] for key in NOTED if key in one} for role, one in asked.items()}
    for layer in (*map(_by_role, layers), kinds):
        for role, settings in layer.items():
            parts[role] = _part(role, parts[role], settings, named)
    brought = tuple(_bring(parts, asked))
    for role, settings in asked.items():
        fields = {name: value for name, value in settings.items() if name not in NOTED}
        parts[role] = _part(role, parts[role], fields, named)
    method = replace(base, **parts)
    cautious = [part for part in parts.values() if hasattr(part, "cautions")]
    cautions = [text for part in cautious for text in part.cautions(parts)]
    return Chosen(method, table(method, named), (*brought, *cautions))


def title(written: Mapping[str, Any]) -> str:
    """What a method that is written down is called: its name, and every kind that the published method of this name has
    not. What such a kind brought with it is left out.

    >>> title(changed(methods.get("fedavg"), given={"select.kind": "oort", "compress.kind": "stc"}).table)
    'fedavg with select oort, compress stc'
    """
    name = str(written["name"])
    if name not in methods.REGISTRY:
        return name
    parts = methods.get(name).parts()
    kinds = {role: str(written[role]["kind"]) for role, part in parts if written[role]["kind"] != kind_of(part)}
    shipped = [KINDS[role][kind]() for role, kind in kinds.items() if kind in KINDS[role]]
    brought = {(other, settings["kind"]) for part in shipped for other, settings in traits_of(part).brings.items()}
    chosen = [f"{role} {kind}" for role, kind in kinds.items() if (role, kind) not in brought]
    return f"{name} with {', '.join(chosen)}" if chosen else name


def describe() -> Iterator[tuple[str, str, list[Declared]]]:
    """List all kinds, role by role: the role, the kind, and its settings with their dotted names."""
    for role, kinds in KINDS.items():
        for kind, part in kinds.items():
            yield role, kind, [replace(one, name=f"method.{role}.{one.name}") for one in declared(part).values()]


def _by_role(layer: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for key, value in layer.items():
        role, dot, name = key.partition(".")
        if role not in KINDS:
            allowed = ", ".join(["name", *KINDS])
            unknown = f"method.{key}: there is no role {role!r}{meant(role, KINDS)}; allowed are {allowed}"
            raise SettingError(f"{renamed.hint(f'method.{key}') or unknown}.")
        if not dot:
            raise SettingError(f"method.{role}: give it a kind, as in method.{role}.kind=NAME, not {value!r}.")
        found.setdefault(role, {})[name] = value
    return found


def _part(role: str, present: Any, settings: dict[str, Any], named: dict[str, str]) -> Any:
    """The part of a role with settings laid over it: another kind first, and then its fields."""
    wanted = dict(settings)
    kind, source = wanted.pop("kind", None), wanted.pop("source", None)
    if kind is not None and kind != kind_of(present):
        present = _of_kind(role, kind, present)
        named.pop(role, None)
        if own.is_path(str(kind)):
            named[role] = str(kind)
    if source is not None and role in named:
        own.refuse_changed(named[role], source, f"method.{role}.kind")
    known = declared(type(present))
    found = {}
    for name, value in wanted.items():
        if name not in known:
            key, allowed = f"method.{role}.{name}", ", ".join(["kind", *known])
            others = [kind for kind, part in KINDS[role].items() if name in declared(part)]
            with_it = f" (method.{role}.kind={others[0]} has it)" if others else ""
            unknown = f"{key}: {kind_of(present)} has no such setting{meant(name, known)}; allowed are {allowed}"
            raise SettingError(f"{renamed.hint(key, kind_of(present)) or unknown + with_it}.")
        try:
            found[name] = known[name].checked(value)
        except FieldError as error:
            raise SettingError(f"method.{role}.{error}.") from None
    with naming(role):
        return replace(present, **found) if found else present


def _of_kind(role: str, kind: Any, present: Any) -> Any:
    """A part of this kind. What it `carries` it takes from the part that was there: the schedule of an allocator, the
    steps of a solver."""
    if own.is_path(str(kind)):
        with naming(role):
            made = own.part(str(kind), f"method.{role}.kind")
    elif str(kind) in KINDS[role]:
        made = KINDS[role][str(kind)]()
    elif str(kind).startswith("own:"):
        again = "hand it over again (method=…), or name its file, FILE.py:NAME"
        raise SettingError(f"method.{role}.kind: {kind} is a part of your own; {again}.")
    else:
        allowed = f"{', '.join(KINDS[role])}, or your own as FILE.py:NAME"
        raise SettingError(f"method.{role}.kind: allowed are {allowed}, not {kind!r}{meant(kind, KINDS[role])}.")
    before, mine = declared(type(present)), declared(type(made))
    carried = [name for name in traits_of(made).carries if name in before and name in mine]
    return replace(made, **{name: getattr(present, name) for name in carried}) if carried else made


def _bring(parts: Parts, asked: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Put in place what the chosen kinds need, and say so. A role that the user has set is left alone, unless these are
    settings that the present kind does not have."""
    plain = dict(Method().parts())
    chosen, brought = [role for role, settings in asked.items() if "kind" in settings], list[str]()
    left = {role for role, one in asked.items() if "kind" in one or one.keys() <= declared(type(parts[role])).keys()}
    for role in chosen:
        for other, part in _needed(parts, role, plain, left):
            parts[other] = part
            brought.append(other)
            yield _told(role, parts[role], other, part)
    for role in chosen + brought:
        for other in [other for other in parts if other not in {*left, role} and _clash(parts, role, other)]:
            parts[other] = plain[other]
            yield _told(role, parts[role], other, plain[other])


def _needed(parts: Parts, role: str, plain: Parts, left: set[str]) -> Iterator[tuple[str, Any]]:
    """What the part of a role brings to other roles that are not left alone: where these are as plain as can be, or
    cannot work with it, or lack what it makes little sense without."""
    brings = traits_of(parts[role]).brings
    for other in (other for other in brings if other not in left):
        still_plain = kind_of(parts[other]) == kind_of(plain[other])
        promise = traits_of(parts[role]).prefers.get(other)
        lacks = promise is not None and not traits_of(parts[other]).promises(promise)
        if still_plain or lacks or _clash(parts, role, other):
            part = _part(other, plain[other], dict(brings[other]), {})
            if part != parts[other]:
                yield other, part


def _clash(parts: Parts, role: str, other: str) -> bool:
    """Whether the part of a role cannot work with that of another one."""
    return (role, other) in {(conflict.role, conflict.other) for conflict in conflicts(parts)}


def _told(role: str, part: Any, other: str, brought: Any) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in values(brought).items())
    text = f"method.{role}.kind={kind_of(part)} brings method.{other}.kind={kind_of(brought)}"
    return f"{text} ({settings})" if settings else text
