"""Every setting of the run, the data, the model and the world: name, meaning, what is allowed, and the default.

The settings of a method are declared by its parts. `describe` turns both into the list that `heteroselect settings`
prints and into the errors for people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

Fraction = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic would take true for 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, float):
            raise PydanticCustomError("number", "a number")
        return value


class DataSettings(Group):
    name: str = "mnist"
    """mnist, cifar10, cifar100, tinyimagenet, shakespeare, audiomnist, an .npz or .csv file, hf:NAME (Hugging Face)"""
    dir: str = ""
    """the folder the data lies in (--data-dir); empty: HETEROSELECT_DATA, ./data and the user's cache"""
    partition: Literal["dominant", "missing", "dirichlet", "iid", "shards", "natural"] = "dominant"
    """how the examples are dealt out to the clients; natural: each owner's stay together"""
    variant: Literal["disjoint", "authors"] = "disjoint"
    """authors: dominant and missing as the paper's authors drew them, late clients short or overlapping"""
    dominant_fraction: Fraction = 0.4
    """ψ, the share of a client's dominant class; 0 is IID"""
    missing_classes: CountOrNone = 40
    """classes each client lacks"""
    dirichlet_alpha: Positive = 0.5
    """concentration of the Dirichlet partition"""
    shards_per_client: Count = 2
    """label-sorted shards each client gets"""
    owner_column: str = "owner"
    """the array or column that says whose an example is, in data of one's own"""
    owner_min_examples: Count = 1
    """examples for training that an owner must have; owners of fewer are left out"""
    unseen_fraction: BelowOne = 0.0
    """share of the owners that are no clients, on whom the final model is evaluated as well; 0: none"""
    label_column: str = "label"
    """the column with the labels, of a .csv file or hf:NAME"""
    input_column: str = ""
    """the column with the inputs; empty: all others of a .csv file, the only other one of hf:NAME"""
    augment: bool = True
    """crop and flip training images, where the data set is one that is augmented"""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """held out for testing where the data has no test part; of each role or speaker the last examples"""
    validation_fraction: BelowOne = 0.0
    """share of the training examples that is set aside before they are dealt out; 0: none"""
    evaluate: Literal["test", "validation"] = "test"
    """what the model is evaluated on; with validation, as for tuning, the test part is not looked at"""

    @model_validator(mode="after")
    def _something_to_evaluate_on(self) -> "DataSettings":
        if self.evaluate == "validation" and self.validation_fraction == 0:
            raise ValueError("evaluate may be validation only if validation_fraction is more than 0")
        return self


class ModelSettings(Group):
    name: Literal["logistic", "alexnet", "resnet9", "resnet18", "cnn", "gru", "own"] = "logistic"
    """the network; own is one handed over in Python"""
    dropout: BelowOne = 0.5
    """of AlexNet's last hidden layer"""
    init: Literal["torch", "kaiming"] = "torch"
    """initial weights: as PyTorch makes them, or normal with variance 2/fan-in and no biases (He et al. 2015)"""


class FaultSettings(Group):
    missing: Fraction = 0.0
    """chance of a client that never answers"""
    late: Fraction = 0.0
    """chance of an answer that takes late_factor times as long"""
    late_factor: Annotated[float, Field(ge=1)] = 3.0
    """how much longer a late answer takes"""
    late_rule: Literal["drop", "wait"] = "drop"
    """what the server does about answers past the deadline"""
    corrupt: Fraction = 0.0
    """chance of a payload with a flipped byte"""
    nan: Fraction = 0.0
    """chance of an update with a NaN in it"""
    inf: Fraction = 0.0
    """chance of an update with an infinity in it"""
    scaled: Fraction = 0.0
    """chance of an update a million times too long"""

    @model_validator(mode="after")
    def _one_fate_each(self) -> "FaultSettings":
        total = self.missing + self.late + self.corrupt + self.nan + self.inf + self.scaled
        if total > 1 + 1e-9:
            raise ValueError(f"missing, late, corrupt, nan, inf and scaled must sum to at most 1, not {total:g}")
        return self


class AttackSettings(Group):
    kind: Literal["none", "flip", "hidden", "gaussian", "labels", "lie"] = "none"
    """what hostile clients do: send −strength times the update, its opposite just below the screen, noise; train on
    labels turned around; or claim losses and lengths strength times the true ones"""
    share: Fraction = 0.0
    """share of all clients that are hostile"""
    strength: Positive = 10.0
    """how many times the true update, or the true number, they send"""


class AvailabilitySettings(Group):
    kind: Literal["always", "day", "file"] = "always"
    """who is there when: everybody, each client once a day, or as a file of intervals says"""
    file: str = ""
    """a CSV file with the columns client, start, end and perhaps period, in seconds; clients are dealt its intervals by
    seed"""
    share: Annotated[float, Field(gt=0, le=1)] = 0.3
    """share of a day that each client is there"""
    period: Positive = 86400.0
    """seconds of a day"""
    spread: Fraction = 0.8
    """part of the day over which clients come: 0 is all at once, 1 as many at all times"""

    @model_validator(mode="after")
    def _a_file(self) -> "AvailabilitySettings":
        if self.kind == "file" and not self.file:
            raise ValueError("file must be the path of a CSV file where kind is file")
        return self


Correlation = Annotated[float, Field(ge=-1, le=1)]


class CouplingSettings(Group):
    persistence: BelowOne = 0.0
    """how much of a drawn link stays from round to round: its correlation with the round before"""
    links_by_speed: Correlation = 0.0
    """correlation of links with the speed of their devices"""
    links_by_label: Correlation = 0.0
    """correlation of links with the clients' most frequent class; 1: those of class 0 have the slowest links"""
    speed_by_label: Correlation = 0.0
    """correlation of the devices' speeds with the clients' most frequent class"""

    @model_validator(mode="after")
    def _at_most_one(self) -> "CouplingSettings":
        by_speed, by_label = self.links_by_speed, self.links_by_label
        if by_speed**2 + by_label**2 + 2 * by_speed * by_label * self.speed_by_label > 1:
            raise ValueError(
                "links_by_speed² + links_by_label² + 2·links_by_speed·links_by_label·speed_by_label must be at most 1"
            )
        return self

    @property
    def active(self) -> bool:
        return any(self.model_dump().values())


class WorldSettings(Group):
    links: Literal["drawn", "measured", "table", "trace", "own"] = "drawn"
    """drawn as below; those of the table of devices; read second by second from a trace; measured at every upload (on
    SuperNodes of Flower only); own is a world handed over in Python, which decides on links and devices alone"""
    table: str = ""
    """a CSV file of devices: gflops or compute_ms, up_mbps or up_kbps, down_mbps or down_kbps; drawn by seed without
    replacement; empty: the 9,242 devices that come with the package"""
    table_gflop: Positive = 0.6
    """billions of operations of the forward pass that compute_ms of the table were measured on (MobileNet V2: 0.6)"""
    trace: str = ""
    """a CSV file of links: second, up_mbps and perhaps client, down_mbps; each client begins where its seed says"""
    links_keep: BelowOne = 0.5
    """what the estimate of a measured link keeps at each new measurement"""
    bandwidth_min_mbps: Positive = 1.0
    """slowest uplink, Mb/s; drawn anew per client and round"""
    bandwidth_max_mbps: Positive = 5.0
    """fastest uplink, Mb/s"""
    stress: Literal["none", "inverse", "permuted"] = "none"
    """links coupled to the loss: the authors' formula, or the usual draws handed out in inverse order of loss"""
    step_seconds_min: NotNegative = 0.1
    """seconds a local step takes the fastest device; drawn once per client"""
    step_seconds_max: NotNegative = 0.5
    """seconds a local step takes the slowest device"""
    devices: Literal["streams", "authors", "flops", "table"] = "streams"
    """streams: seconds per step as above; authors: those behind the authors' logs; flops: the operations of a step of
    this model and batch, divided by operations per second drawn as below; table: divided by those of the table"""
    gflops_min: Positive = 3.0
    """billions of operations per second of the slowest device; drawn once per client"""
    gflops_max: Positive = 30.0
    """billions of operations per second of the fastest device"""
    downlink_min_mbps: Positive = 5.0
    """slowest downlink, Mb/s"""
    downlink_max_mbps: Positive = 25.0
    """fastest downlink, Mb/s"""
    charge: Literal["paper", "uplink", "everything"] = "paper"
    """what the clock counts: θ·32N bits up, the real payloads, or also downloads, scoring, calibration and coding"""
    forward_share: Fraction = 1 / 3
    """time of a forward pass as a share of a training step"""
    encode_share: Fraction = 0.15
    """time of encoding an update as a share of a training step"""
    budget_seconds: NotNegative = 0.0
    """T_budget of the ceiling; 0 is the round of an average client"""
    deadline: NotNegative = 0.0
    """seconds a round waits for answers; 0: as long as the slowest of the cohort was expected to take"""
    availability: AvailabilitySettings = AvailabilitySettings()
    coupling: CouplingSettings = CouplingSettings()
    faults: FaultSettings = FaultSettings()
    attack: AttackSettings = AttackSettings()

    @model_validator(mode="after")
    def _drawn_or_given(self) -> "WorldSettings":
        if self.links not in ("drawn", "own") and self.stress != "none":
            raise ValueError(f"stress must be none with links that are {_GIVEN[self.links]}, which are as they are")
        if self.links == "trace" and not self.trace:
            raise ValueError("trace must be the path of a CSV file where links is trace")
        drawn = self.links in ("drawn", "own") and self.devices in ("streams", "flops") and self.stress == "none"
        if self.coupling.active and not drawn:
            raise ValueError("coupling must be 0 unless links is drawn, devices is streams or flops and stress is none")
        return self

    @model_validator(mode="after")
    def _in_order(self) -> "WorldSettings":
        pairs = ("bandwidth_{}_mbps", "downlink_{}_mbps", "step_seconds_{}", "gflops_{}")
        for low, high in ((name.format("min"), name.format("max")) for name in pairs):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must be at most {high}, which is {getattr(self, high)}")
        return self


_GIVEN = {"measured": "measured", "table": "those of a table", "trace": "those of a trace"}


class SimulateSettings(Group):
    store: Literal["memory", "disk"] = "memory"
    """where clients' memories and last uploads lie; disk keeps only those of the present round in memory"""
    checkpoint_seconds: NotNegative = 60.0
    """wall time that may be lost to a crash: checkpoints are written this often; 0: after every round"""
    checkpoint_rounds: CountOrNone = 0
    """write a checkpoint after so many rounds instead; 0: by time"""
    checkpoint_dir: str = ""
    """a folder, as on another disk, in which a run has one for its checkpoints; empty: in the run's own folder"""


class PaperRow(Group):
    """The figures the paper gives for this experiment; a target the paper never reached is left out."""

    source: str = ""
    peak_accuracy: Fraction | None = None
    final_accuracy: Fraction | None = None
    rounds_to_target: int | None = None
    seconds_to_target: float | None = None
    megabytes_to_target: float | None = None
    parameters: int | None = None
    rounds: Count | None = None
    """rounds that its peak and its last accuracy were taken from"""


VERSION: Literal[2] = 2
"""Of config.toml; the first one had no number."""


class Config(Group):
    version: Literal[2] = VERSION
    """of this file's format"""
    clients: Count = 100
    """K"""
    selected: Count = 10
    """M, clients per round"""
    rounds: Count = 100
    """T, the horizon of all schedules"""
    seed: CountOrNone = 42
    """of every random number"""
    target: float = 0.9
    """accuracy that the figures to target refer to, from 0 to 1; any number for a metric of one's own"""
    stop_after: CountOrNone = 0
    """end after this round without changing the schedules; 0: after `rounds`"""
    stop_at_target: CountOrNone = 0
    """end once the target was held for so many rounds; 0: never"""
    evaluate_every: Count = 1
    """rounds from one evaluation to the next; the last round is always evaluated"""
    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    world: WorldSettings = WorldSettings()
    method: dict[str, Any] = {}
    """the method written down: its name, and per role a kind and its settings"""
    simulate: SimulateSettings = SimulateSettings()
    paper: tuple[PaperRow, ...] = ()
    """the paper's own figures, shown beside the result"""

    @model_validator(mode="after")
    def _cohort_fits(self) -> "Config":
        if self.selected > self.clients:
            raise ValueError(f"selected must be at most clients, which is {self.clients}, not {self.selected}")
        return self

    @property
    def method_name(self) -> str:
        return str(self.method["name"])

    @property
    def last_round(self) -> int:
        """Where a run ends, whatever it reaches before."""
        return min(self.rounds, self.stop_after or self.rounds)


@dataclass(frozen=True)
class Setting:
    """One line of the list of settings."""

    key: str
    default: Any
    allowed: str
    meaning: str


def describe(group: type[BaseModel] = Config, prefix: str = "") -> Iterator[Setting]:
    """All settings, group by group."""
    for name, field in group.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from describe(inner, f"{prefix}{name}.")
        elif name not in ("paper", "method"):
            yield Setting(prefix + name, field.default, allowed(field), field.description or "")


def find(key: str) -> FieldInfo | None:
    """The field behind a dotted key."""
    group: Any = Config
    field: FieldInfo | None = None
    for step in key.split("."):
        if not (isinstance(group, type) and issubclass(group, BaseModel)) or step not in group.model_fields:
            return None
        field = group.model_fields[step]
        group = field.annotation
    return field


def allowed(field: FieldInfo) -> str:
    """What a setting may be, in words.

    >>> allowed(DataSettings.model_fields["dominant_fraction"])
    'a number ≥ 0 and ≤ 1'
    """
    kind = field.annotation
    if get_origin(kind) is Literal:
        *first, last = map(str, get_args(kind))
        return f"{', '.join(first)} or {last}" if first else last
    words: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    signs = {Gt: ">", Ge: "≥", Lt: "<", Le: "≤"}
    rules = [rule for rule in field.metadata if type(rule) in signs]
    bounds = [f"{signs[type(rule)]} {getattr(rule, type(rule).__name__.lower())}" for rule in rules]
    return f"{words.get(kind, 'a group of settings')} {' and '.join(bounds)}".strip()
