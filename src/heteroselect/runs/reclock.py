"""One run, three clocks: the seconds that a run would have taken under another way of charging; and the run as it would
then have been written.

Every round notes its seconds by each clock (`seconds_by_charge`), so that nothing has to be run again. What a method
decides may hang on the clock, though: then its rounds are those of the clock it ran with, and `depends` names these
parts.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heteroselect.core.traits import traits_of
from heteroselect.errors import FolderError, SettingError
from heteroselect.parts.kinds import KINDS
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.folder import CONFIG, RunFolder, read_model, read_rounds, read_summary
from heteroselect.settings import Config
from heteroselect.settings.config import read_config, to_toml

Line = Mapping[str, Any]


@dataclass(frozen=True)
class Reclocked:
    """A run under another clock. `seconds_to_target` is None where the target was not reached; `depends` names the
    parts whose decisions hang on the clock."""

    path: Path
    method: str
    ran_with: str
    charge: str
    seconds_to_target: float | None
    total_seconds: float
    depends: tuple[str, ...]


def reclock(path: Path, charge: str) -> Reclocked:
    """The seconds of a finished run, as charged otherwise."""
    try:
        config = read_config(path / CONFIG)
        summary, lines = read_summary(path), read_rounds(path)
    except (OSError, ValueError) as error:
        raise FolderError(f"reclock: {path} is no folder of a run that has ended ({error}).") from error
    if not all("seconds_by_charge" in line for line in lines):
        raise FolderError(f"reclock: the run in {path} was made by a version that does not note other clocks.")
    if lines and charge not in lines[0]["seconds_by_charge"]:
        allowed = ", ".join(lines[0]["seconds_by_charge"])
        raise SettingError(f"--charge: choose one of {allowed}, not {charge!r}.")
    reached = summary["rounds_to_target"]
    return Reclocked(
        path,
        str(summary["method"]),
        str(config["world"]["charge"]),
        charge,
        None if reached is None else _seconds(lines[:reached], charge),
        _seconds(lines, charge),
        depends(config.get("method", {})),
    )


def depends(method: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of a method, as it is written down, that decide by links, by simulated time, or by a ceiling that
    counts what is charged; of a part from a user's file nothing is known, so that it is named too."""
    found = []
    for role, table in method.items():
        if not isinstance(table, Mapping):
            continue
        kind = KINDS[role].get(table["kind"])
        by_links = kind is None or "links" in traits_of(kind()).needs
        of_time = {"allocate": "ceiling", "lr": "horizon"}.get(role, "")  # in bits that are charged, in seconds
        if by_links or table.get(of_time, "none") != "none" or (role, table["kind"]) in _BY_LINKS:
            found.append(f"{role} {table['kind']}")
    return tuple(found)


def decided(config: Config) -> tuple[str, ...]:
    """Whatever in a run hangs on its clock: parts that decide by it, and a world in which answers can come too late, or
    links and clients come and go with time."""
    world = config.world
    late = world.deadline > 0 or world.faults.late > 0 or world.faults.missing > 0
    return (
        *depends(config.method),
        *(["world.faults"] if late else []),
        *(["world.links"] if world.links not in ("drawn", "table") else []),
        *(["world.availability"] if world.availability.kind != "always" else []),
    )


def rewrite(path: Path, out: Path, charge: str) -> None:
    """Write the run in `path` into a new folder as it would have been under another clock; refused where anything in it
    hangs on the clock, because then the rounds themselves would have been others."""
    found, config = reclock(path, charge), Config.model_validate(read_config(path / CONFIG))
    if hanging := " and ".join(decided(config)):
        raise SettingError(f"reclock: {path} depends on the clock ({hanging}); it has to be run under {charge}.")
    tables = config.model_copy(update={"world": config.world.model_copy(update={"charge": charge})})
    try:
        before = read_summary(path)
        model = read_model(path, before)
    except (OSError, ValueError) as error:
        raise FolderError(f"reclock: the files in {path} are damaged ({error}).") from error
    mine = Fingerprint.read(path)
    if mine is not None:  # its rounds are those of a run under the other clock
        mine = replace(mine, settings={**mine.settings, "world.charge": charge})
    folder, now = RunFolder.create(out, to_toml(tables), mine), 0.0
    with closing(folder):
        for line in read_rounds(path):
            now += line["seconds_by_charge"][charge]
            line = {**line, "seconds": line["seconds_by_charge"][charge], "cumulative_seconds": now}
            # where the seconds went is noted by the clock of the run alone
            folder.add_round({**line, "world": {}} if "world" in line else line)
        summary = {**before, "charge": charge, "total_seconds": now}
        summary |= {**folder.noted}
        folder.finish({**summary, "seconds_to_target": found.seconds_to_target}, model)


# allocators are always given the links, and who is done first hangs on them
_BY_LINKS = {("allocate", "flexcom"), ("allocate", "fedcg"), ("async_mode", "buffer")}


def _seconds(lines: Sequence[Line], charge: str) -> float:
    total = 0.0
    for line in lines:
        total += line["seconds_by_charge"][charge]
    return total
