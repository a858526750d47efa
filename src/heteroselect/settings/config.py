"""From presets, files and the command line to checked settings: TOML in, TOML out.

`load` lays a preset or file, a method's own settings and the user's changes over the defaults; whatever is
wrong is said in one sentence that names the setting and what is allowed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import tomli_w
from pydantic import BaseModel, ValidationError

from heteroselect.errors import HeteroSelectError
from heteroselect.settings import Config, PaperRow, allowed, find


def to_toml(config: Config) -> str:
    """Every setting, defaults included."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def presets() -> dict[str, dict[str, Any]]:
    """The ready experiments, by name."""
    folder = resources.files("heteroselect") / "presets"
    files = {f.name.removesuffix(".toml"): f for f in folder.iterdir() if f.name.endswith(".toml")}
    return {name: tomllib.loads(file.read_text(encoding="utf-8")) for name, file in sorted(files.items())}


def load(
    source: str | Path | Mapping[str, Any] = "mnist",
    *,
    methods: Mapping[str, Mapping[str, Any]],
    method: str | None = None,
    changes: Mapping[str, Any] | None = None,
    own: bool = False,
) -> Config:
    """A preset, a TOML file or a mapping, with a method's settings and single changes laid over it.

    `methods` maps each known name to its settings (dotted keys). A method named by the source itself gives
    way to what the source says; a method named here (the command line) overrides the source. The settings of a
    method of the user's `own` are those of the method that it is based on.
    """
    tables = source if isinstance(source, Mapping) else _read(source)
    flat = flatten(tables)
    if own and flat.get("method.name") not in methods:
        flat["method.name"] = flat.pop("method.base", "") or "heteroselect"
    named = str(flat.get("method.name", "heteroselect"))
    for name in filter(None, (named, method)):
        if name not in methods:
            more = ", and the file that it is in, FILE.py:NAME" if flat.get("method.base") else ""
            raise HeteroSelectError(f"method: no method {name!r}; allowed are {', '.join(sorted(methods))}{more}.")
    if method is None or method == named:
        flat = {**methods[named], **flat}
    else:
        flat = {key: value for key, value in flat.items() if key not in methods[named]} | dict(methods[method])
        flat["method.name"] = method
    flat |= flatten(changes or {})
    try:
        config = Config.model_validate(_nest(flat))
    except ValidationError as error:
        _explain(error)
    for key in flatten(changes or {}):
        if key in ONLY_WITH:
            _refuse_alone(key, config)
    return config


ONLY_WITH = {
    "data.dominant_fraction": ("data.partition", "dominant"),
    "data.missing_classes": ("data.partition", "missing"),
    "data.dirichlet_alpha": ("data.partition", "dirichlet"),
    "data.shards_per_client": ("data.partition", "shards"),
    "model.dropout": ("model.name", "alexnet"),
    "world.links_keep": ("world.links", "measured"),
    "world.forward_share": ("world.charge", "everything"),
}
"""Settings that change nothing unless another one has this value."""


def _refuse_alone(key: str, config: Config) -> None:
    """A setting that somebody changes should change something."""
    other, value = ONLY_WITH[key]
    group, _, name = other.partition(".")
    if (found := getattr(getattr(config, group), name)) != value:
        raise HeteroSelectError(f"{key}: it has no effect while {other} is {found}; allowed with it is {value}.")


def parse_changes(pairs: Sequence[str]) -> dict[str, Any]:
    """`key=value` as typed on the command line; a value is TOML, and a bare word is a string."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise HeteroSelectError(f"--set takes key=value, as in rounds=50, not {pair!r}.")
        try:
            changes[key.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            changes[key.strip()] = text.strip()
    return changes


def _read(source: str | Path) -> dict[str, Any]:
    known = presets()
    if str(source) in known:
        return known[str(source)]
    path = Path(source)
    if path.suffix != ".toml":
        raise HeteroSelectError(
            f"preset: no preset {str(source)!r}; allowed are {', '.join(known)}, or the path of a .toml file."
        )
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HeteroSelectError(f"config: {path} cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HeteroSelectError(f"config: {path} is not valid TOML ({error}).") from error


def flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
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


def _explain(error: ValidationError) -> NoReturn:
    """One sentence for the first thing wrong."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        group, _, key = where.rpartition(".")
        place = group or "the top level"
        text = f"{where}: there is no setting {key!r} in {place}; allowed are {', '.join(_settings(group))}."
    elif first["type"] == "value_error":
        text = f"{where + ': ' if where else ''}{first['ctx']['error']}."
    else:
        field = find(where)
        rule = allowed(field) if field else first["msg"].removeprefix("Input should be ")
        text = f"{where}: allowed is {rule}, not {first['input']!r}."
    raise HeteroSelectError(text) from None


def _settings(group: str) -> list[str]:
    model: type[BaseModel] = Config
    for step in filter(None, group.split(".")):
        inner = model.model_fields[step].annotation if step in model.model_fields else PaperRow
        model = inner if isinstance(inner, type) and issubclass(inner, BaseModel) else PaperRow
    return list(model.model_fields)
