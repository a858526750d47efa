"""The settings of the world: devices, links, who is there, and what goes wrong."""

from typing import Literal

from pydantic import model_validator

from heteroselect.settings.group import Group, setting


class FaultSettings(Group):
    missing: float = setting(0.0, "chance that a selected client never answers", ge=0, le=1)
    late: float = setting(0.0, "chance that an answer takes late_factor times as long", ge=0, le=1)
    late_factor: float = setting(3.0, "factor by which a late answer takes longer", ge=1)
    late_rule: Literal["drop", "wait"] = setting(
        "drop", "what happens to answers past the deadline: they are dropped, or the server waits"
    )
    corrupt: float = setting(0.0, "chance that a payload arrives with a flipped byte", ge=0, le=1)
    nan: float = setting(0.0, "chance that an update has a NaN in it", ge=0, le=1)
    inf: float = setting(0.0, "chance that an update has an infinity in it", ge=0, le=1)
    scaled: float = setting(0.0, "chance that an update is a million times too long", ge=0, le=1)

    @model_validator(mode="after")
    def _one_fate_each(self) -> "FaultSettings":
        total = self.missing + self.late + self.corrupt + self.nan + self.inf + self.scaled
        if total > 1 + 1e-9:
            raise ValueError(f"missing, late, corrupt, nan, inf and scaled must sum to at most 1, not {total:g}")
        return self


class AttackSettings(Group):
    kind: Literal["none", "flip", "hidden", "gaussian", "labels", "lie"] = setting(
        "none",
        "attack of hostile clients: −strength times the update, its opposite just below the filter of outliers, noise, "
        "training on labels turned around, or losses and lengths claimed strength times the true ones",
    )
    share: float = setting(0.0, "share of all clients that are hostile", ge=0, le=1)
    strength: float = setting(10.0, "factor by which hostile clients exaggerate their update or their claims", gt=0)


class AvailabilitySettings(Group):
    kind: Literal["always", "day", "file"] = setting(
        "always", "which clients are available when: all always, each once a day, or as a file of intervals says"
    )
    file: str = setting(
        "", "CSV file of intervals with client, start, end and perhaps period, in seconds; dealt to clients by seed"
    )
    share: float = setting(0.3, "share of a day in which each client is available", gt=0, le=1)
    period: float = setting(86400.0, "seconds of a day", gt=0)
    spread: float = setting(
        0.8, "part of the day over which clients come: 0 is all at once, 1 as many at all times", ge=0, le=1
    )

    @model_validator(mode="after")
    def _a_file(self) -> "AvailabilitySettings":
        if self.kind == "file" and not self.file:
            raise ValueError("file must be the path of a CSV file where kind is file")
        return self


class CouplingSettings(Group):
    persistence: float = setting(0.0, "correlation of a drawn link with that of the round before", ge=0, lt=1)
    links_by_speed: float = setting(0.0, "correlation of links with the speed of their devices", ge=-1, le=1)
    links_by_label: float = setting(
        0.0, "correlation of links with the clients' main class; at 1, class 0 has the slowest links", ge=-1, le=1
    )
    speed_by_label: float = setting(0.0, "correlation of the devices' speeds with the clients' main class", ge=-1, le=1)

    @model_validator(mode="after")
    def _at_most_one(self) -> "CouplingSettings":
        by_speed, by_label = self.links_by_speed, self.links_by_label
        if by_speed**2 + by_label**2 + 2 * by_speed * by_label * self.speed_by_label > 1:
            terms = "links_by_speed² + links_by_label² + 2·links_by_speed·links_by_label·speed_by_label"
            raise ValueError(f"{terms} must be at most 1")
        return self

    @property
    def active(self) -> bool:
        return any(self.model_dump().values())


class WorldSettings(Group):
    links: Literal["drawn", "measured", "table", "trace", "own"] = setting(
        "drawn",
        "source of the links: drawn within their bounds, the table of devices, a trace, measured at every upload "
        "(Flower on machines only), or your own world from Python, which decides on links and devices alone",
    )
    table: str = setting(
        "",
        "CSV file of devices with gflops or compute_ms, up_mbps or up_kbps, down_mbps or down_kbps, drawn by seed; "
        "empty: the 9,242 devices of the extra phones",
    )
    trace: str = setting(
        "",
        "CSV file of links with second, up_mbps and perhaps client, down_mbps; each client begins where its seed says",
    )
    bandwidth_min_mbps: float = setting(1.0, "slowest uplink in Mb/s; links are drawn anew per client and round", gt=0)
    bandwidth_max_mbps: float = setting(5.0, "fastest uplink in Mb/s", gt=0)
    stress: Literal["none", "inverse", "permuted"] = setting(
        "none",
        "coupling of links to the loss: the authors' formula, or the usual draws handed out in inverse order of loss",
    )
    step_seconds_min: float = setting(0.1, "seconds of a local step on the fastest device, drawn once per client", ge=0)
    step_seconds_max: float = setting(0.5, "seconds of a local step on the slowest device", ge=0)
    devices: Literal["streams", "authors", "flops", "table"] = setting(
        "streams",
        "source of the speeds: streams draws seconds per step, authors takes those behind the authors' logs, flops "
        "counts the operations of a step and draws operations per second, table takes these from the table of devices",
    )
    gflops_min: float = setting(3.0, "billion operations per second of the slowest device, drawn once per client", gt=0)
    gflops_max: float = setting(30.0, "billion operations per second of the fastest device", gt=0)
    downlink_min_mbps: float = setting(5.0, "slowest downlink in Mb/s", gt=0)
    downlink_max_mbps: float = setting(25.0, "fastest downlink in Mb/s", gt=0)
    charge: Literal["paper", "uplink", "everything"] = setting(
        "paper",
        "what the clock counts: θ·32N bits up, the real payloads, or also downloads, scoring, calibration and coding",
    )
    latency_seconds: float = setting(
        0.0, "seconds that each message takes besides its bits, up and down, where charge is everything", ge=0
    )
    packet_loss: float = setting(
        0.0, "share of the bits that are lost and sent again, up and down, where charge is everything", ge=0, lt=1
    )
    budget_seconds: float = setting(
        0.0, "time budget of a round that the ceiling of densities keeps; 0: the round of an average client", ge=0
    )
    deadline: float = setting(
        0.0, "seconds that a round waits for answers; 0: as long as the slowest of the cohort should take", ge=0
    )
    availability: AvailabilitySettings = AvailabilitySettings()
    coupling: CouplingSettings = CouplingSettings()
    faults: FaultSettings = FaultSettings()
    attack: AttackSettings = AttackSettings()

    @model_validator(mode="after")
    def _drawn_or_given(self) -> "WorldSettings":
        if self.links in ("measured", "table", "trace") and self.stress != "none":
            raise ValueError(f"stress must be none unless links are drawn; {self.links} gives them as they are")
        if self.links == "trace" and not self.trace:
            raise ValueError("trace must be the path of a CSV file where links is trace")
        drawn = self.links in ("drawn", "own") and self.devices in ("streams", "flops") and self.stress == "none"
        if self.coupling.active and not drawn:
            raise ValueError("coupling must be 0 unless links is drawn, devices is streams or flops and stress is none")
        return self

    @model_validator(mode="after")
    def _in_order(self) -> "WorldSettings":
        for name in ("bandwidth_{}_mbps", "downlink_{}_mbps", "step_seconds_{}", "gflops_{}"):
            low, high = name.format("min"), name.format("max")
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must be at most {high}, which is {getattr(self, high)}")
        return self
