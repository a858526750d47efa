"""The settings of the world: devices, links, who is there, and what goes wrong."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from heteroselect.settings.group import BelowOne, Fraction, Group, NotNegative, Positive


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
    replacement; empty: the 9,242 devices of the extra phones"""
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
