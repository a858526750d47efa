"""Every setting of the run, the data, the model and the world: name, meaning, what is allowed, and the default.

The settings of a method are declared by its parts. `describe` turns both into the list that `heteroselect settings`
prints and into the errors for people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, Field, model_validator
from pydantic.fields import FieldInfo

from heteroselect.settings.group import BelowOne, Count, CountOrNone, Fraction, Group, NotNegative, Positive
from heteroselect.settings.world import WorldSettings


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
    method: dict[str, Any] = Field(default={})
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
