"""Every setting of a run, typed and checked: TOML in, TOML out.

The groups are the rooms of the house. `load` lays presets, a method's own settings and the user's changes
over the defaults; whatever is wrong is said in one sentence that names the setting and what is allowed.
"""

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from heteroselect.errors import HeteroSelectError

Fraction = Annotated[float, Field(ge=0, le=1)]
Density = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class DataSettings(Group):
    """`name` is mnist, cifar10, cifar100, tinyimagenet or the path of an .npz file; `dir` is where it lies
    (empty: the usual places). `variant = "authors"` draws the partition as the paper's authors did."""

    name: str = "mnist"
    dir: str = ""
    partition: Literal["dominant", "missing", "dirichlet", "iid", "shards"] = "dominant"
    variant: Literal["disjoint", "authors"] = "disjoint"
    dominant_fraction: Fraction = 0.4
    missing_classes: CountOrNone = 40
    dirichlet_alpha: Positive = 0.5
    shards_per_client: Count = 2
    augment: bool = True
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2


class ModelSettings(Group):
    name: Literal["logistic", "alexnet", "resnet9", "resnet18", "own"] = "logistic"
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5


class WorldSettings(Group):
    """Links in Mb/s, devices in seconds a step. `budget_seconds = 0` takes the round of an average client."""

    bandwidth_min_mbps: Positive = 1.0
    bandwidth_max_mbps: Positive = 5.0
    stress: Literal["none", "inverse", "permuted"] = "none"
    step_seconds_min: NotNegative = 0.1
    step_seconds_max: NotNegative = 0.5
    devices: Literal["streams", "authors"] = "streams"
    budget_seconds: NotNegative = 0.0

    @model_validator(mode="after")
    def _in_order(self) -> "WorldSettings":
        if self.bandwidth_min_mbps > self.bandwidth_max_mbps:
            raise ValueError("bandwidth_min_mbps must not exceed bandwidth_max_mbps")
        if self.step_seconds_min > self.step_seconds_max:
            raise ValueError("step_seconds_min must not exceed step_seconds_max")
        return self


class ScoreSettings(Group):
    """Eqs 1 to 5. A weight of 0 takes a part out of the score."""

    loss_weight: NotNegative = 1.0
    diversity_weight: NotNegative = 0.3
    fairness_weight: NotNegative = 0.2
    staleness_weight: NotNegative = 0.2
    staleness_gamma: Positive = 0.5
    batches: Count = 8
    augmented: bool = False
    constant: Fraction = 0.5
    fairness_start: Annotated[float, Field(ge=-1, le=1)] = 0.0
    raw_staleness: bool = False
    consensus_keep: Annotated[float, Field(ge=0, lt=1)] = 0.9


class SelectSettings(Group):
    """Eq. 6."""

    temperature: Positive = 1.0
    decay: Annotated[float, Field(ge=0, lt=1)] = 0.5


class AllocateSettings(Group):
    """Eqs 7 and 8."""

    rule: Literal["adaptive", "uniform", "waterfill"] = "adaptive"
    ceiling: Literal["paper", "strict", "none"] = "paper"
    warmup: Literal["full", "allocated"] = "full"
    warmup_rounds: CountOrNone = 1
    average: Density = 0.2
    amplitude: Fraction = 0.4
    floor: Density = 0.08
    minimum: Density = 0.005
    index: Literal["after-warmup", "equation"] = "after-warmup"
    exact: bool = False


class TrainSettings(Group):
    """FedProx and eq. 12. `clip = 0` does not clip."""

    steps: Count = 50
    batch: Count = 32
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    proximal: NotNegative = 0.1
    clip: NotNegative = 2.0
    rate: Positive = 0.05
    rate_decay: Fraction = 0.5
    rate_rule: Literal["shared", "score"] = "shared"
    rate_cap: Positive = 0.15


class CompressSettings(Group):
    """Eqs 9 to 11. `curvature_layers = 0` is plain magnitude top-κ."""

    rounding: Literal["ceil", "floor"] = "ceil"
    curvature_layers: CountOrNone = 3
    curvature_exploration: Fraction = 0.2
    curvature_probes: Count = 1
    curvature_floor: Positive = 1e-6
    curvature_ranking: Literal["global", "within-layer"] = "global"
    curvature_scope: Literal["model", "layers"] = "model"
    curvature_damping: Literal["floor", "median"] = "floor"
    decay: Literal["adaptive", "static"] = "adaptive"
    decay_min: Fraction = 0.85
    decay_max: Fraction = 0.97
    decay_static: Fraction = 0.9
    keep_unweighted: bool = False


class AggregateSettings(Group):
    """Eqs 13 and 14, and batch-norm statistics."""

    weights: Literal["score", "uniform", "unbiased"] = "score"
    weight_floor: NotNegative = 0.0
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.5
    calibration_batches: CountOrNone = 20
    calibration_clients: Count = 3
    calibration_split: Literal["evenly", "in-turn"] = "evenly"


class MethodSettings(Group):
    name: str = "heteroselect"
    score: ScoreSettings = ScoreSettings()
    select: SelectSettings = SelectSettings()
    allocate: AllocateSettings = AllocateSettings()
    train: TrainSettings = TrainSettings()
    compress: CompressSettings = CompressSettings()
    aggregate: AggregateSettings = AggregateSettings()


class PaperRow(Group):
    """The figures the paper gives for this experiment; a target the paper never reached is left out."""

    source: str = ""
    peak_accuracy: Fraction | None = None
    final_accuracy: Fraction | None = None
    rounds_to_target: int | None = None
    seconds_to_target: float | None = None
    megabytes_to_target: float | None = None
    parameters: int | None = None


class Config(Group):
    """`rounds` is the horizon T of all schedules; `stop_after` (a round) and `stop_at_target` (a number of
    rounds held) end a run earlier without changing them, and 0 switches them off."""

    clients: Count = 100
    selected: Count = 10
    rounds: Count = 100
    seed: CountOrNone = 42
    target: Fraction = 0.9
    stop_after: CountOrNone = 0
    stop_at_target: CountOrNone = 0
    evaluate_every: Count = 1
    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    world: WorldSettings = WorldSettings()
    method: MethodSettings = MethodSettings()
    paper: tuple[PaperRow, ...] = ()

    @model_validator(mode="after")
    def _cohort_fits(self) -> "Config":
        if self.selected > self.clients:
            raise ValueError(f"selected must be at most clients, which is {self.clients}, not {self.selected}")
        return self

    def to_toml(self) -> str:
        return tomli_w.dumps(self.model_dump(exclude_none=True))


def presets() -> dict[str, dict[str, Any]]:
    """The ready experiments, by name."""
    folder = resources.files("heteroselect") / "presets"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {f.name.removesuffix(".toml"): tomllib.loads(f.read_text(encoding="utf-8")) for f in files}


def load(
    source: str | Path | Mapping[str, Any] = "mnist",
    *,
    methods: Mapping[str, Mapping[str, Any]],
    method: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Config:
    """A preset, a TOML file or a mapping, with a method's settings and single changes laid over it.

    `methods` maps each known name to its settings (dotted keys). A method named by the source itself gives
    way to what the source says; a method named here (the command line) overrides the source.
    """
    tables = source if isinstance(source, Mapping) else _read(source)
    flat = _flatten(tables)
    named = str(flat.get("method.name", "heteroselect"))
    for name in filter(None, (named, method)):
        if name not in methods:
            raise HeteroSelectError(f"method: no method {name!r}; allowed are {', '.join(sorted(methods))}.")
    if method is None or method == named:
        flat = {**methods[named], **flat}
    else:
        flat = {key: value for key, value in flat.items() if key not in methods[named]} | dict(methods[method])
        flat["method.name"] = method
    flat |= changes or {}
    try:
        return Config.model_validate(_nest(flat))
    except ValidationError as error:
        _explain(error)


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


def _flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping) and value:
            flat |= _flatten(value, f"{prefix}{key}.")
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
        allowed = first["msg"].removeprefix("Input should be ")
        text = f"{where}: allowed is {allowed}, not {first['input']!r}."
    raise HeteroSelectError(text) from None


def _settings(group: str) -> list[str]:
    model: type[BaseModel] = Config
    for step in filter(None, group.split(".")):
        inner = model.model_fields[step].annotation
        assert isinstance(inner, type)
        assert issubclass(inner, BaseModel)
        model = inner
    return list(model.model_fields)
