"""Every setting of the run, the data and the model: name, default, what is allowed, and one sentence.

The settings of a method are declared by its parts.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from heteroselect.core.part import Declared
from heteroselect.settings.group import Group, declared, setting
from heteroselect.settings.world import WorldSettings


class DataSettings(Group):
    name: str = setting(
        "mnist",
        "data set: mnist, cifar10, cifar100, tinyimagenet, shakespeare, audiomnist, an .npz or .csv file, or hf:NAME "
        "(Hugging Face)",
    )
    dir: str = setting(
        "", "folder with the data sets (--data-dir); empty: HETEROSELECT_DATA, ./data and the user's cache"
    )
    partition: Literal["dominant", "missing", "dirichlet", "iid", "shards", "natural"] = setting(
        "dominant", "rule that deals the examples out to the clients; natural keeps each owner's examples together"
    )
    variant: Literal["disjoint", "authors"] = setting(
        "disjoint",
        "draw of dominant and missing: disjoint, or as by the paper's authors, with late clients short or overlapping",
    )
    dominant_fraction: float = setting(
        0.4, "share ψ of its dominant class in a client's examples, with partition dominant; 0 is IID", ge=0, le=1
    )
    missing_classes: int = setting(40, "number of classes that each client lacks, with partition missing", ge=0)
    dirichlet_alpha: float = setting(0.5, "concentration α of the Dirichlet partition; small is very non-IID", gt=0)
    shards_per_client: int = setting(2, "number of label-sorted shards per client, with partition shards", ge=1)
    owner_column: str = setting("owner", "array or column that says whose an example is, in data of your own")
    owner_min_examples: int = setting(1, "training examples below which an owner is left out", ge=1)
    unseen_fraction: float = setting(
        0.0, "share of the owners who never become clients and also evaluate the final model; 0: none", ge=0, lt=1
    )
    label_column: str = setting("label", "column with the labels of a .csv file or of hf:NAME")
    input_column: str = setting(
        "", "column with the inputs; empty: all other columns of a .csv file, the only other one of hf:NAME"
    )
    augment: bool = setting(True, "whether training images are cropped and flipped where the data set asks for it")
    test_fraction: float = setting(
        0.2, "share of the examples tested on if the data has no test part; of each speaker the last", gt=0, lt=1
    )
    validation_fraction: float = setting(
        0.0, "share of the training examples set aside before they are dealt out; 0: none", ge=0, lt=1
    )
    evaluate: Literal["test", "validation"] = setting(
        "test", "examples that the model is evaluated on; with validation, as for tuning, the test part is not read"
    )

    @model_validator(mode="after")
    def _something_to_evaluate_on(self) -> "DataSettings":
        if self.evaluate == "validation" and self.validation_fraction == 0:
            raise ValueError("evaluate may be validation only if validation_fraction is more than 0")
        return self


class ModelSettings(Group):
    name: Literal["logistic", "alexnet", "resnet9", "resnet18", "cnn", "gru", "own"] = setting(
        "logistic", "network that is trained; own is one handed over in Python"
    )
    dropout: float = setting(0.5, "dropout probability of AlexNet's last hidden layer", ge=0, lt=1)
    init: Literal["torch", "kaiming"] = setting(
        "torch", "initial weights: PyTorch's own, or normal with variance 2/fan-in and no biases (He et al. 2015)"
    )


class SimulateSettings(Group):
    store: Literal["memory", "disk"] = setting(
        "memory", "place of what clients keep and last sent: memory, or disk with only those of a round in memory"
    )
    checkpoint_rounds: int = setting(
        0, "rounds from one checkpoint to the next; 0: so often that a crash costs about a minute", ge=0
    )


class PaperRow(Group):
    """The figures the paper gives for this experiment; a target the paper never reached is left out."""

    source: str = ""
    peak_accuracy: float | None = setting(None, "highest accuracy", ge=0, le=1)
    final_accuracy: float | None = setting(None, "accuracy after the last round", ge=0, le=1)
    rounds_to_target: int | None = None
    seconds_to_target: float | None = None
    megabytes_to_target: float | None = None
    parameters: int | None = None
    rounds: int | None = setting(None, "rounds that its peak and its last accuracy were taken from", ge=1)


VERSION: Literal[2] = 2
"""Of config.toml; the first one had no number."""


class Config(Group):
    version: Literal[2] = setting(VERSION, "version of the format of this file")
    clients: int = setting(100, "number of clients K", ge=1)
    selected: int = setting(10, "number of clients M that are selected in a round", ge=1)
    rounds: int = setting(100, "number of rounds T (learning-rate schedules span them)", ge=1)
    seed: int = setting(42, "seed of all random numbers of a run", ge=0)
    target: float = setting(
        0.9, "accuracy from 0 to 1 that all figures to target refer to; any number with a metric of your own"
    )
    stop_after: int = setting(
        0, "round after which the run ends while its schedules still span all rounds; 0: the last one", ge=0
    )
    stop_at_target: int = setting(
        0, "number of rounds that the target must be held for the run to end early; 0: never", ge=0
    )
    evaluate_every: int = setting(1, "rounds from one evaluation to the next; the last round is always evaluated", ge=1)
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


def describe(group: type[BaseModel] = Config, prefix: str = "") -> Iterator[Declared]:
    """List all settings with their dotted names, group by group."""
    for name, field in group.model_fields.items():
        if one := declared(group).get(name):
            yield replace(one, name=prefix + name)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from describe(field.annotation, f"{prefix}{name}.")
