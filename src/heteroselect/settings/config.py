"""From presets, files and the command line to checked settings: TOML in, TOML out.

`load` lays a preset or file, a method and the user's changes over the defaults; whatever is wrong is said in one
sentence that names the setting and what is allowed.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn

import tomli_w
from pydantic import ValidationError

from heteroselect import methods
from heteroselect.errors import HeteroSelectError, meant
from heteroselect.files import parse_toml, read_toml
from heteroselect.round.method import Method
from heteroselect.settings import own, renamed
from heteroselect.settings.method import changed, completed
from heteroselect.settings.schema import VERSION, Config, PaperRow, allowed, find


def to_toml(config: Config) -> str:
    """Every setting, defaults included."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def presets() -> dict[str, dict[str, Any]]:
    """The ready experiments, by name."""
    folder = resources.files("heteroselect") / "presets"
    files = {f.name.removesuffix(".toml"): f for f in folder.iterdir() if f.name.endswith(".toml")}
    return {name: tomllib.loads(file.read_text(encoding="utf-8")) for name, file in sorted(files.items())}


@dataclass(frozen=True)
class Loaded:
    """Checked settings, the method they are of, and what the kinds that were chosen brought with them."""

    config: Config
    method: Method
    brought: tuple[str, ...] = ()


def load(
    source: str | Path | Mapping[str, Any] | Config = "mnist",
    *,
    method: str | Method | None = None,
    changes: Mapping[str, Any] | None = None,
    compared: bool = False,
    any_target: bool = False,
) -> Loaded:
    """A preset, a TOML file, a mapping or a Config, with a method and single changes laid over it.

    A method named by the source gives way to what the source says of the run; a method named here (the command line)
    overrides it. What the source says of a run with this method, `[with.NAME]`, overrides both, and what a hand-written
    source says of single parts stays on top. `compared` leaves out what a method says about data, model and clock, and
    what the source says of a run with it, for runs that are compared; `any_target` is for a metric that is no fraction.
    """
    flat, given = flatten(_tables(source)), flatten(changes or {})
    written = "version" in flat  # by a run: everything is in it, and nothing was chosen by hand
    flat = renamed.current(flat) if written else flat
    beside = _of_methods(flat)
    _refuse_old(flat)
    for name in (flat.get("method"), given.get("method")):
        if name is not None:
            raise HeteroSelectError(f"method: allowed is a group of settings, not {name!r}; a name is method.name.")
    theirs, mine = _of_method(flat), _of_method(given)
    given_name = mine.pop("name", None)
    if given_name is not None and method is not None:
        raise HeteroSelectError(
            f"method.name: there is a method already; allowed is one of the two, not {given_name!r}."
        )
    method = given_name if method is None else method
    file = method if isinstance(method, str) and own.is_path(method) else None
    named, base, more = _base(method, theirs)
    same = written and named == theirs.get("name", named)
    if written and not same:
        before = methods.REGISTRY[str(theirs["name"])].settings if theirs["name"] in methods.REGISTRY else {}
        flat, theirs = {key: value for key, value in flat.items() if key not in before}, {}
    theirs.pop("name", None)
    digest = theirs.pop("source", None)
    if digest is not None and file is not None:
        own.refuse_changed(file, str(digest))
    _name_again(theirs, mine)
    roles = nested(theirs) if same else {}
    if roles and all(isinstance(one, Mapping) and "kind" in one for one in roles.values()):
        # what there has been since then is as it was in effect, not as the method has it now
        theirs = flatten(completed(roles))
        del theirs["name"]
    chosen = changed(base, theirs, given=mine) if written else changed(base, given={**theirs, **mine})
    by_method, by_source = ({}, {}) if compared else (more, beside.get(named, {}))
    over = method is not None and not same
    settings = {**flat, **by_method} if over else {**by_method, **flat}
    settings |= by_source
    table = chosen.table | ({"source": own.digest(file)} if file is not None else {})
    try:
        config = Config.model_validate({**nested({**settings, **given}), "method": table})
    except ValidationError as error:
        _explain(error)
    if not any_target and not 0 <= config.target <= 1:
        raise HeteroSelectError(
            f"target: allowed is a number ≥ 0 and ≤ 1 where the metric is the accuracy, not {config.target}."
        )
    if "paper" not in given and _another(flat, config):
        config = config.model_copy(update={"paper": ()})
    _refuse_idle(given, config)
    _refuse_few_candidates(config, chosen.method)
    if compared:
        told = _left_out({**more, **beside.get(named, {})}, named, config)
    else:
        place = source if isinstance(source, str | Path) else "these settings"
        told = {key: f"{key} {value} comes with {named}" for key, value in by_method.items() if over}
        told |= {key: f"{key} {value} comes with {named} in {place}" for key, value in by_source.items()}
    said = [text for key, text in told.items() if key not in given and _idle(key, config) is None]
    return Loaded(config, chosen.method, (*said, *chosen.brought))


def _left_out(own_settings: Mapping[str, Any], named: str, config: Config) -> dict[str, str]:
    """By their keys, sentences on what a method would have by itself and does not have in a comparison."""
    return {
        key: f"{key} {value}, which {named} has by itself, is left out: compared methods have the same"
        for key, value in own_settings.items()
        if value != attrgetter(key)(config)
    }


def _tables(source: str | Path | Mapping[str, Any] | Config) -> Mapping[str, Any]:
    if isinstance(source, Config):
        return source.model_dump(exclude_none=True)
    return source if isinstance(source, Mapping) else _read(source)


def _of_method(flat: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of the method out of all settings, their keys without `method.`."""
    keys = [key for key in flat if key.startswith("method.")]
    return {key.removeprefix("method."): flat.pop(key) for key in keys}


def _of_methods(flat: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Take what is said of a run with single methods, `with.NAME.…`, out of all settings: by name, then by setting."""
    found: dict[str, dict[str, Any]] = {}
    for key in [key for key in flat if key.partition(".")[0] == "with"]:
        name, _, setting = key.removeprefix("with").removeprefix(".").partition(".")
        if setting.partition(".")[0] in ("", "version", "method", "paper"):
            raise HeteroSelectError(
                f"{key}: allowed below [with.NAME] are settings of the run, such as rounds, and no parts of a method."
            )
        if name not in methods.REGISTRY:
            guess = meant(name, methods.REGISTRY)
            raise HeteroSelectError(f"with.{name}: there is no method {name!r}{guess}; `heteroselect methods` has all.")
        found.setdefault(name, {})[setting] = flat.pop(key)
    for name, settings in found.items():
        try:
            Config.model_validate(nested(settings))
        except ValidationError as error:
            if error.errors()[0]["loc"]:  # else two settings do not go together, of which the other is elsewhere
                _explain(error, f"with.{name}.")
    return found


def _base(method: Any, theirs: Mapping[str, Any]) -> tuple[str, Method, Mapping[str, Any]]:
    """The method that settings are laid over: its name, itself, and what it says of the run."""
    if not isinstance(method, Method | None) and own.is_path(str(method)):
        method = own.method(str(method))
    if isinstance(method, Method):  # one's own does not go by the name of a published one
        if method.name in methods.REGISTRY and method != methods.REGISTRY[method.name].method:
            raise HeteroSelectError(f"method: {method.name!r} is taken; allowed is any other name for one of your own.")
        return method.name, method, {}
    name = str(theirs.get("name", "heteroselect") if method is None else method)
    if own.is_path(name):
        raise HeteroSelectError(f"method.name: {name} is code of your own; name its file yourself, --method {name}.")
    if name not in methods.REGISTRY and "source" in theirs:
        raise HeteroSelectError(
            f"method: {name!r} is a method of your own; name the file it is in, --method FILE.py:NAME."
        )
    return name, methods.get(name), methods.REGISTRY[name].settings


def _name_again(theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """A configuration does not get to run a file: whoever runs it has to name the file."""
    for key, kind in [(key, kind) for key, kind in theirs.items() if key.endswith(".kind") and own.is_path(str(kind))]:
        if key not in mine:
            raise HeteroSelectError(
                f"method.{key}: {kind} is code of your own; name its file again, --set method.{key}=FILE.py:NAME "
                "(in Python, settings=…)."
            )
        if own.is_path(str(mine[key])):
            theirs[key] = mine.pop(key)
        else:  # another kind takes its place, and its settings go with it
            for other in [other for other in theirs if other.startswith(key.removesuffix("kind"))]:
                del theirs[other]


def _refuse_old(flat: Mapping[str, Any]) -> None:
    if "version" not in flat and "method.base" in flat:
        raise HeteroSelectError(
            f"config: it was written by version 0.1.0 of this package; allowed is version {VERSION} of the format. "
            "Runs of 0.1.0 can be shown and reported, not run again or resumed."
        )


def _refuse_few_candidates(config: Config, method: Method) -> None:
    score = method.score
    if getattr(score, "mode", "") == "candidates" and getattr(score, "candidates", config.selected) < config.selected:
        raise HeteroSelectError(f"method.score.candidates: allowed is at least selected, which is {config.selected}.")


ONLY_WITH = {
    "data.dominant_fraction": ("data.partition", "dominant"),
    "data.missing_classes": ("data.partition", "missing"),
    "data.dirichlet_alpha": ("data.partition", "dirichlet"),
    "data.shards_per_client": ("data.partition", "shards"),
    "data.owner_column": ("data.partition", "natural"),
    "data.owner_min_examples": ("data.partition", "natural"),
    "data.unseen_fraction": ("data.partition", "natural"),
    "model.dropout": ("model.name", "alexnet"),
    "world.links_keep": ("world.links", "measured"),
    "world.trace": ("world.links", "trace"),
    "world.gflops_min": ("world.devices", "flops"),
    "world.gflops_max": ("world.devices", "flops"),
    "world.table_gflop": ("world.devices", "table"),
    "world.availability.file": ("world.availability.kind", "file"),
    "world.availability.share": ("world.availability.kind", "day"),
    "world.availability.period": ("world.availability.kind", "day"),
    "world.availability.spread": ("world.availability.kind", "day"),
}
"""Settings that change nothing unless another one has this value."""
_EXPERIMENT = ("data.name", "data.partition", "model.name")


def _another(flat: Mapping[str, Any], config: Config) -> bool:
    """Whether a run is of another data set, partition, model or world than its source, whose paper then says nothing of
    it."""
    world = config.world
    if world.availability.kind != "always" or world.coupling.active:
        return True
    if world.links not in ("drawn", "measured", "own") or world.devices not in ("streams", "authors"):
        return True
    keys = [key for key, needs in ONLY_WITH.items() if needs == ("data.partition", config.data.partition)]
    before = {key: flat.get(key, attrgetter(key)(Config())) for key in (*_EXPERIMENT, *keys)}
    return any(value != attrgetter(key)(config) for key, value in before.items())


def _idle(key: str, config: Config) -> str | None:
    """Why a setting changes nothing; None where it may change something."""
    if key not in ONLY_WITH:
        return None
    other, value = ONLY_WITH[key]
    found = attrgetter(other)(config)
    return None if found == value else f"it has no effect while {other} is {found}; allowed with it is {value}"


def _refuse_idle(given: Iterable[str], config: Config) -> None:
    """A setting that somebody changes should change something."""
    for key in given:
        why = _idle(key, config)
        if why is not None:
            raise HeteroSelectError(f"{key}: {why}.")


def parse_changes(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` as typed on the command line; a value is TOML, and a bare word is a string."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise HeteroSelectError(f"--set takes key=value, as in rounds=50, not {pair!r}.")
        try:
            changes[key.strip()] = parse_toml(f"value = {text}")["value"]
        except ValueError:
            changes[key.strip()] = text.strip()
    return changes


def read_config(path: Path) -> dict[str, Any]:
    """Read the tables of a run's config.toml under the names of today, or raise OSError or ValueError."""
    return nested(renamed.current(flatten(read_toml(path))))


def _read(source: str | Path) -> dict[str, Any]:
    known = presets()
    if str(source) in known:
        return known[str(source)]
    path = Path(source)
    if path.suffix != ".toml":
        raise HeteroSelectError(
            f"preset: no preset {str(source)!r}{meant(source, known)}; allowed are {', '.join(known)}, or the path of "
            "a .toml file."
        )
    try:
        return read_toml(path)
    except OSError as error:
        raise HeteroSelectError(f"config: {path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise HeteroSelectError(f"config: {path} is not valid TOML ({error}).") from error


def flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        table = tables
        for step in path:
            inner = table.setdefault(step, {})
            if not isinstance(inner, dict):
                raise HeteroSelectError(f"{key}: there is no such setting, because {step} is not a group.")
            table = inner
        table[last] = value
    return tables


def _explain(error: ValidationError, before: str = "") -> NoReturn:
    """One sentence for the first thing wrong; `before` is where these settings stand."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden" and (hint := renamed.hint(where)):
        text = f"{hint}."
    elif first["type"] == "extra_forbidden":
        group, _, key = where.rpartition(".")
        inner = find(group)
        model: Any = Config if not group else inner.annotation if inner else PaperRow
        place, known = group or "the top level", list(model.model_fields)
        text = f"{where}: there is no setting {key!r} in {place}{meant(key, known)}; allowed are {', '.join(known)}."
    elif first["type"] == "value_error":
        text = f"{where + ': ' if where else ''}{first['ctx']['error']}."
    else:
        field = find(where)
        rule = allowed(field) if field else first["msg"].removeprefix("Input should be ")
        text = f"{where}: allowed is {rule}, not {first['input']!r}."
    raise HeteroSelectError(before + text) from None
