"""What the files of a run folder must hold for others to work with it; a folder may come from anybody."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator


class _Checked(BaseModel):
    """A damaged file is named here, before a picture is half drawn; fields that are not listed may be anything."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class CheckedSettings(_Checked):
    clients: int = Field(ge=1, le=1_000_000)


class _Event(_Checked):
    client: int
    kind: str


class _World(_Checked):
    available: int
    there: str | None = Field(pattern="^([0-9a-f]{2})*$")
    up_mbps: list[float] = Field(min_length=5, max_length=5)
    down_mbps: list[float] = Field(min_length=5, max_length=5)
    step_seconds: list[float] = Field(min_length=5, max_length=5)
    waited: float
    scoring: float
    training: float
    calibration: float
    down: list[float]
    compute: list[float]
    up: list[float]
    took: list[float]


class CheckedLine(_Checked):
    round: int
    accuracy: float | None
    cumulative_seconds: float
    selected: list[int]
    densities: list[float | None]
    weights: list[float | None]
    bandwidth_mbps: list[float | None]
    bytes_up_paper: float
    bytes_up: float
    bytes_down: float
    bytes_scoring: float
    bytes_calibration: float
    score_parts: dict[str, float | None] | None = None
    memory_norm: float | None = None
    events: list[_Event] | None = None
    class_accuracy: list[float | None] | None = None
    world: _World | None = None

    @field_validator("world", mode="before")
    @classmethod
    def _nothing_noted(cls, value: Any) -> Any:
        return value or None

    @model_validator(mode="after")
    def _one_figure_a_client(self) -> Self:
        if not len(self.selected) == len(self.densities) == len(self.weights) == len(self.bandwidth_mbps):
            raise ValueError("selected, densities, weights and bandwidth_mbps differ in length")
        world = self.world
        if world is not None:
            each = (world.down, world.compute, world.up, world.took)
            if any(len(one) != len(self.selected) for one in each):
                raise ValueError("selected and the seconds in world differ in length")
        return self


def is_line(line: Mapping[str, Any]) -> bool:
    """Whether a round's line has what a summary is made of."""
    try:
        CheckedLine.model_validate(line)
    except ValidationError:
        return False
    return True


class _Metric(_Checked, extra="forbid"):
    name: str = Field(min_length=1)
    higher: bool
    unit: str


class CheckedSummary(_Checked):
    method: str
    dataset: str
    seed: int
    target: float
    peak_accuracy: float | None
    final_accuracy: float | None
    rounds_to_target: int | None
    seconds_to_target: float | None
    megabytes_to_target: float | None
    wire_megabytes_to_target: float | None
    environment: dict[str, Any] = {}
    evaluated_on: str = "test"
    reconstruction: bool = False
    leaves_out: str = ""
    sends_float32: bool = True
    metric: _Metric = _Metric(name="accuracy", higher=True, unit="%")
    title: str = ""
    status: str = ""
    charge: str = ""
    rounds_run: int | None = None
    parameters: int | None = None
    total_seconds: float | None = None
    total_megabytes: float | None = None
    total_wire_megabytes: float | None = None
    wall_seconds: float | None = None
    client_accuracy_mean: float | None = None
    client_accuracy_worst_tenth: float | None = None
    client_accuracy_std: float | None = None
    client_accuracy_never_selected: float | None = None
    unseen_accuracy: float | None = None
    participation_jain: float | None = None
    bytes_jain: float | None = None
