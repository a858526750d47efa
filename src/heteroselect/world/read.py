"""Traces of links, intervals of availability and tables of devices, read from CSV files (`.xz` is unpacked)."""

import csv
import lzma
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.errors import HeteroSelectError
from heteroselect.files import opened_text
from heteroselect.world.availability import Availability
from heteroselect.world.devices import REFERENCE_GFLOP, DeviceTable
from heteroselect.world.traces import LinkTrace, Rates

LONGEST = 64_000_000  # bytes of a file's text, a hundred times those of the measured traces: half a minute


def read_link_trace(path: str | Path, offset: float = 0.0) -> LinkTrace:
    """The trace in a file with the columns `second`, `up_mbps` and, where known, `client` (or `trace`) and `down_mbps`.

    A rate holds from its second until that of the next row. A link's first row counts as second 0; its last rate
    holds as long as the one before, and then the trace begins again. Links are numbered in rising order of `client`;
    one whose rates up are all empty is left out.
    """
    table: dict[float, list[tuple[int, dict[str, float]]]] = {}
    measured = ("up_mbps", "down_mbps")
    for line, row in _rows(path, ("second", "up_mbps"), ("client", "down_mbps"), {"trace": "client"}, measured):
        rows = table.setdefault(row.get("client", 0.0), [])
        if rows and row["second"] <= rows[-1][1]["second"]:
            before = rows[-1][1]["second"]
            _refuse(path, line, "second", f"a number above {before:g}, that of the link's row before", row)
        rows.append((line, row))
    links = [rows for _, rows in sorted(table.items()) if not all(math.isnan(row["up_mbps"]) for _, row in rows)]
    if not links:
        raise HeteroSelectError(f"{path}: there is no rate up in it; allowed is one in each row of some link.")
    traced = any(not math.isnan(row.get("down_mbps", math.nan)) for rows in links for _, row in rows)
    try:
        up = tuple(_rates(path, rows, "up_mbps") for rows in links)
        return LinkTrace(up, tuple(_rates(path, rows, "down_mbps") for rows in links) if traced else (), offset)
    except ValueError:
        raise HeteroSelectError(f"{path}: a link has no rate at all; allowed is one above 0 in some row.") from None


def _rates(path: str | Path, rows: list[tuple[int, dict[str, float]]], column: str) -> Rates:
    for line, row in rows:
        if math.isnan(row[column]):
            _refuse(path, line, column, "a number of at least 0", {column: ""})
    seconds = np.array([row["second"] for _, row in rows]) - rows[0][1]["second"]
    last = seconds[-1] - seconds[-2] if len(rows) > 1 else 1.0
    return Rates(seconds, np.array([row[column] for _, row in rows]) * 1e6, float(seconds[-1] + last))


def read_devices(path: str | Path) -> DeviceTable:
    """The table in a file with a row per device and some of the columns `gflops` or `compute_ms`, `up_mbps` or
    `up_kbps`, `down_mbps` or `down_kbps`.

    `gflops` are billions of operations per second; `compute_ms` are the milliseconds of a forward pass of MobileNet V2.
    """
    scales = {
        "flops": {"gflops": 1e9, "compute_ms": REFERENCE_GFLOP * 1e12},
        "up": {"up_mbps": 1e6, "up_kbps": 1e3},
        "down": {"down_mbps": 1e6, "down_kbps": 1e3},
    }
    names = tuple(name for scale in scales.values() for name in scale)
    rows = []
    for line, row in _rows(path, (), names):
        for name in (name for name, value in row.items() if value == 0):
            _refuse(path, line, name, "a number above 0", row)
        rows.append(row)
    if not rows[0]:
        raise HeteroSelectError(f"{path}, line 1: no column is known; allowed are {', '.join(names)}.")
    found: dict[str, Reals] = {}
    for column, name, factor in [(column, *one) for column, scale in scales.items() for one in scale.items()]:
        if name in rows[0]:
            values = np.array([row[name] for row in rows])
            found.setdefault(column, factor / values if name == "compute_ms" else factor * values)
    return DeviceTable(**found)


def read_intervals(path: str | Path, period: float | None = None) -> Availability:
    """The intervals in a file with the columns `client`, `start`, `end` and, where they differ, `period` (all but the
    first also with `_s` behind), in seconds.

    Without a period in the file and without one given it is the last end of all. Clients are numbered in rising order.
    """
    table: dict[float, list[tuple[float, float]]] = {}
    periods: dict[float, float] = {}
    for line, row in _rows(path, ("client", "start", "end"), ("period",)):
        if row["end"] < row["start"]:
            _refuse(path, line, "end", f"a number of at least {row['start']:g}, the interval's start", row)
        table.setdefault(row["client"], []).append((row["start"], row["end"]))
        if "period" in row and row["period"] != periods.setdefault(row["client"], row["period"]):
            _refuse(path, line, "period", f"{periods[row['client']]:g}, as in the client's rows before", row)
    last = max(end for intervals in table.values() for _, end in intervals)
    try:
        return Availability.of(
            [intervals for _, intervals in sorted(table.items())],
            [periods.get(k, period or last) for k in sorted(table)],
        )
    except ValueError as error:
        raise HeteroSelectError(f"{path}: {error}.") from None


def _rows(
    path: str | Path,
    needed: tuple[str, ...],
    optional: tuple[str, ...],
    called: Mapping[str, str] = MappingProxyType({}),
    empty: tuple[str, ...] = (),
) -> Iterator[tuple[int, dict[str, float]]]:
    """The number of each line, and its columns; other columns are left out. A column may be `called` otherwise; in
    those of `empty` a cell may have nothing in it, which is NaN."""
    line = 1
    try:
        with opened_text(Path(path), LONGEST) as file:
            reader = csv.DictReader(file, restval="")
            names = [name.strip().removesuffix("_s") for name in reader.fieldnames or []]
            reader.fieldnames = [name if called.get(name, name) in names else called[name] for name in names]
            if missing := [name for name in needed if name not in reader.fieldnames]:
                columns = f"{', '.join(needed)} and perhaps {', '.join(optional)}"
                raise HeteroSelectError(f"{path}, line 1: {missing[0]} is missing; allowed are the columns {columns}.")
            wanted = [name for name in needed + optional if name in reader.fieldnames]
            for row in reader:
                line = reader.line_num
                yield line, {name: _number(path, line, name, row, name in empty) for name in wanted}
    except (OSError, EOFError, ValueError, lzma.LZMAError, csv.Error) as error:
        raise HeteroSelectError(f"{path}: allowed is a CSV file that can be read ({error}).") from None
    if line == 1:
        raise HeteroSelectError(f"{path}: there is nothing below the header; allowed is a CSV file of at least a row.")


def _number(path: str | Path, line: int, name: str, row: dict[str, str], may_be_empty: bool) -> float:
    if may_be_empty and row[name] == "":
        return math.nan
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        _refuse(path, line, name, "a number of at least 0", row)
    return value


def _refuse(path: str | Path, line: int, name: str, allowed: str, row: dict[str, str] | dict[str, float]) -> None:
    raise HeteroSelectError(f"{path}, line {line}: {name}: allowed is {allowed}, not {row[name]!r}.")
