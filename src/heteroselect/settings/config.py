"""From presets, files and the command line to checked settings: TOML in, TOML out.

`load` lays a preset or file, a method and the user's changes over the defaults; whatever is wrong is said in one
sentence that names the setting and what is allowed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from heteroselect import methods
from heteroselect.errors import SettingError, meant
from heteroselect.files import parse_toml, read_toml
from heteroselect.round.method import Method
from heteroselect.settings import own, renamed
from heteroselect.settings.group import explained
from heteroselect.settings.method import Chosen, changed, completed
from heteroselect.settings.schema import Config


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
    own_model: bool = False,
) -> Loaded:
    """A preset, a TOML file, a mapping or a Config, with a method and single changes laid over it.

    A method named by the source gives way to what the source says of the run; a method named here (the command line)
    overrides it. What the source says of a run with this method, `[with.NAME]`, overrides both, and what a hand-written
    source says of single parts stays on top. `compared` leaves out what a method says about data, model and clock, and
    what the source says of a run with it, for runs that are compared; `any_target` is for a metric that is no fraction.
    `own_model` leaves out what a method says about the model, for a run with the user's own.
    """
    flat, given = _flat(source), flatten(changes or {})
    written = "version" in flat  # by a run: everything is in it, and nothing was chosen by hand
    beside, theirs, mine = _of_methods(flat), _of_method(flat), _of_method(given)
    method = _one_of(method, mine.pop("name", None))
    name, base, says = _base(method, theirs, own_model)
    again = written and name == theirs.get("name", name)
    if written and not again:
        flat, theirs = _without(str(theirs["name"]), flat), {}
    file = method if isinstance(method, str) and own.is_path(method) else None
    chosen = _chosen(base, theirs, mine, file, written=written, again=again)
    here, over = beside.get(name, {}), method is not None and not again
    laid = flat if compared else _laid(flat, says, here, over)
    table = chosen.table | ({"source": own.digest(file)} if file is not None else {})
    config = _checked({**laid, **given}, table, any_target)
    if "paper" not in given and _another(flat, config):
        config = config.model_copy(update={"paper": ()})
    _refuse_idle(given, config)
    _refuse_few_candidates(config, chosen.method)
    told = _left_out(name, {**says, **here}, config) if compared else _told(name, says if over else {}, here, source)
    brought = _effective(told, given, config) + chosen.brought
    return Loaded(config, chosen.method, brought)


def _effective(told: Mapping[str, str], given: Mapping[str, Any], config: Config) -> tuple[str, ...]:
    """What is told of settings that the user has not changed and that have an effect."""
    return tuple(text for key, text in told.items() if key not in given and _idle(key, config) is None)


def _laid(flat: dict[str, Any], says: Mapping[str, Any], here: Mapping[str, Any], over: bool) -> dict[str, Any]:
    """The settings of a source with those that its method has by itself, `over` or below them, and with it `here`."""
    return {**flat, **says, **here} if over else {**says, **flat, **here}


def _told(name: str, says: Mapping[str, Any], here: Mapping[str, Any], source: Any) -> dict[str, str]:
    """By their keys, sentences on the settings of the run that come with a method, or with it in this source."""
    place = source if isinstance(source, str | Path) else "these settings"
    told = {key: f"{key} {value} comes with {name}" for key, value in says.items()}
    return told | {key: f"{key} {value} comes with {name} in {place}" for key, value in here.items()}


def _left_out(name: str, customs: Mapping[str, Any], config: Config) -> dict[str, str]:
    """By their keys, sentences on the settings that a method would have by itself and has not in a comparison."""
    text = f"which {name} has by itself, is left out: compared methods have the same"
    return {key: f"{key} {value}, {text}" for key, value in customs.items() if value != attrgetter(key)(config)}


def _without(name: str, flat: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run without those that came with its method."""
    came = methods.REGISTRY[name].settings if name in methods.REGISTRY else {}
    return {key: value for key, value in flat.items() if key not in came}


def _one_of(method: str | Method | None, named: Any) -> str | Method | None:
    """The method, which is either handed over or named among the changes."""
    if named is not None and method is not None:
        raise SettingError(f"method.name: there is a method already; take one of the two, not {named!r}.")
    return named if method is None else method


def _chosen(
    base: Method, theirs: dict[str, Any], mine: Mapping[str, Any], file: str | None, *, written: bool, again: bool
) -> Chosen:
    """The method with what the source says of it and what the user changes of it."""
    theirs, mine = {key: value for key, value in theirs.items() if key != "name"}, dict(mine)
    digest = theirs.pop("source", None)
    if digest is not None and file is not None:
        own.refuse_changed(file, str(digest))
    _name_again(theirs, mine)
    roles = nested(theirs) if again else {}
    if roles and all(isinstance(one, Mapping) and "kind" in one for one in roles.values()):
        # what there has been since then is as it was in effect, not as the method has it now
        theirs = flatten(completed(roles))
        del theirs["name"]
    return changed(base, theirs, given=mine) if written else changed(base, given={**theirs, **mine})


def _checked(settings: Mapping[str, Any], table: dict[str, Any], any_target: bool) -> Config:
    try:
        config = Config.model_validate({**nested(settings), "method": table})
    except ValidationError as error:
        raise SettingError(f"{explained(error, Config)}.") from None
    if not any_target and not 0 <= config.target <= 1:
        raise SettingError(f"target: allowed is a number ≥ 0 and ≤ 1 for the accuracy, not {config.target}.")
    return config


def _flat(source: str | Path | Mapping[str, Any] | Config) -> dict[str, Any]:
    """All settings of a source by dotted name; of one that a run wrote, under the names of today."""
    if isinstance(source, Config):
        source = source.model_dump(exclude_none=True)
    flat = flatten(source if isinstance(source, Mapping) else _read(source))
    return renamed.current(flat) if "version" in flat else flat


def _of_method(flat: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of the method out of all settings, their keys without `method.`."""
    if "method" in flat:
        raise SettingError(f"method: allowed is a group of settings, not {flat['method']!r}; a name is method.name.")
    keys = [key for key in flat if key.startswith("method.")]
    return {key.removeprefix("method."): flat.pop(key) for key in keys}


def _of_methods(flat: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Take what is said of a run with single methods, `with.NAME.…`, out of all settings: by name, then by setting."""
    found: dict[str, dict[str, Any]] = {}
    for key in [key for key in flat if key.partition(".")[0] == "with"]:
        name, _, setting = key.removeprefix("with").removeprefix(".").partition(".")
        if setting.partition(".")[0] in ("", "version", "method", "paper"):
            raise SettingError(f"{key}: allowed below [with.NAME] are settings of the run, such as rounds; no parts.")
        if name not in methods.REGISTRY:
            guess = meant(name, methods.REGISTRY)
            raise SettingError(f"with.{name}: there is no method {name!r}{guess}; `heteroselect methods` has all.")
        found.setdefault(name, {})[setting] = flat.pop(key)
    for name, settings in found.items():
        try:
            Config.model_validate(nested(settings))
        except ValidationError as error:
            if error.errors()[0]["loc"]:  # else two settings do not go together, of which the other is elsewhere
                raise SettingError(f"{explained(error, Config, f'with.{name}.')}.") from None
    return found


def _base(method: Any, theirs: Mapping[str, Any], own_model: bool) -> tuple[str, Method, Mapping[str, Any]]:
    """The method that settings are laid over: its name, itself, and what it says of the run; nothing of the network
    where that is the user's own."""
    if not isinstance(method, Method | None) and own.is_path(str(method)):
        method = own.method(str(method))
    if isinstance(method, Method):  # one's own does not go by the name of a published one
        if method.name in methods.REGISTRY and method != methods.REGISTRY[method.name].method:
            raise SettingError(f"method: {method.name!r} is taken; allowed is any other name for one of your own.")
        return method.name, method, {}
    name = str(theirs.get("name", "heteroselect") if method is None else method)
    if own.is_path(name):
        raise SettingError(f"method.name: {name} is code of your own; name its file yourself, --method {name}.")
    if name not in methods.REGISTRY and "source" in theirs:
        raise SettingError(f"method: {name!r} is a method of your own; name the file it is in, --method FILE.py:NAME.")
    method, says = methods.get(name), methods.REGISTRY[name].settings
    return name, method, {key: one for key, one in says.items() if not (own_model and key.startswith("model."))}


def _name_again(theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """A configuration does not get to run a file: whoever runs it has to name the file."""
    for key, kind in [(key, kind) for key, kind in theirs.items() if key.endswith(".kind") and own.is_path(str(kind))]:
        if key not in mine:
            again = f"name its file again, --set method.{key}=FILE.py:NAME (in Python, settings=…)"
            raise SettingError(f"method.{key}: {kind} is code of your own; {again}.")
        if own.is_path(str(mine[key])):
            theirs[key] = mine.pop(key)
        else:  # another kind takes its place, and its settings go with it
            for other in [other for other in theirs if other.startswith(key.removesuffix("kind"))]:
                del theirs[other]


def _refuse_few_candidates(config: Config, method: Method) -> None:
    score = method.score
    if getattr(score, "mode", "") == "candidates" and getattr(score, "candidates", config.selected) < config.selected:
        raise SettingError(f"method.score.candidates: allowed is at least selected, which is {config.selected}.")


ONLY_WITH = {
    "data.dominant_fraction": ("data.partition", "dominant"),
    "data.missing_classes": ("data.partition", "missing"),
    "data.dirichlet_alpha": ("data.partition", "dirichlet"),
    "data.shards_per_client": ("data.partition", "shards"),
    "data.owner_column": ("data.partition", "natural"),
    "data.owner_min_examples": ("data.partition", "natural"),
    "data.unseen_fraction": ("data.partition", "natural"),
    "model.dropout": ("model.name", "alexnet"),
    "world.trace": ("world.links", "trace"),
    "world.gflops_min": ("world.devices", "flops"),
    "world.gflops_max": ("world.devices", "flops"),
    "world.availability.file": ("world.availability.kind", "file"),
    "world.availability.share": ("world.availability.kind", "day"),
    "world.availability.period": ("world.availability.kind", "day"),
    "world.availability.spread": ("world.availability.kind", "day"),
}
"""Settings that change nothing unless another one has this value."""


def _another(flat: Mapping[str, Any], config: Config) -> bool:
    """Whether a run is of another data set, partition, model or world than its source, whose paper then says nothing of
    it."""
    world = config.world
    drawn = world.links in ("drawn", "measured", "own") and world.devices in ("streams", "authors")
    if not drawn or world.availability.kind != "always" or world.coupling.active:
        return True
    keys = [key for key, needs in ONLY_WITH.items() if needs == ("data.partition", config.data.partition)]
    keys += ["data.name", "data.partition", "model.name"]
    before = {key: flat.get(key, attrgetter(key)(Config())) for key in keys}
    return any(value != attrgetter(key)(config) for key, value in before.items())


def _refuse_idle(given: Mapping[str, Any], config: Config) -> None:
    """Refuse a changed setting that has no effect together with the others."""
    for key in given:
        if why := _idle(key, config):
            raise SettingError(f"{key}: {why}.")


def _idle(key: str, config: Config) -> str | None:
    """Why a setting changes nothing; None where it may change something."""
    if key not in ONLY_WITH:
        return None
    other, value = ONLY_WITH[key]
    found = attrgetter(other)(config)
    return None if found == value else f"it has no effect while {other} is {found}; allowed with it is {value}"


def parse_changes(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` as typed on the command line; a value is TOML, and a bare word is a string."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise SettingError(f"--set takes key=value, as in rounds=50, not {pair!r}.")
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
        allowed = f"{', '.join(known)}, or the path of a .toml file"
        raise SettingError(f"preset: no preset {str(source)!r}{meant(source, known)}; allowed are {allowed}.")
    try:
        return read_toml(path)
    except OSError as error:
        raise SettingError(f"config: {path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise SettingError(f"config: {path} is not valid TOML ({error}).") from error


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
                raise SettingError(f"{key}: there is no such setting, because {step} is not a group.")
            table = inner
        table[last] = value
    return tables
