"""Traces of links and intervals of availability, read from CSV files (`.xz` is unpacked)."""

import csv
import lzma
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from heteroselect.errors import HeteroSelectError
from heteroselect.world.availability import Availability
from heteroselect.world.traces import LinkTrace, Rates


def read_link_trace(path: str | Path, offset: float = 0.0) -> LinkTrace:
    """The trace in a file with the columns `second`, `up_mbps` and, where known, `client` and `down_mbps`.

    A rate holds from its second until that of the next row. A link's first row counts as second 0; its last rate
    holds as long as the one before, and then the trace begins again. Links are numbered in rising order of `client`.
    """
    table: dict[float, list[dict[str, float]]] = {}
    for line, row in _rows(path, ("second", "up_mbps"), ("client", "down_mbps")):
        rows = table.setdefault(row.get("client", 0.0), [])
        if rows and row["second"] <= rows[-1]["second"]:
            _refuse(path, line, "second", f"a number above {rows[-1]['second']:g}, that of the link's row before", row)
        rows.append(row)
    links = [table[client] for client in sorted(table)]
    traced = "down_mbps" in links[0][0]
    try:
        up = tuple(_rates(rows, "up_mbps") for rows in links)
        return LinkTrace(up, tuple(_rates(rows, "down_mbps") for rows in links) if traced else (), offset)
    except ValueError:
        raise HeteroSelectError(f"{path}: a link has no rate at all; allowed is one above 0 in some row.") from None


def _rates(rows: list[dict[str, float]], column: str) -> Rates:
    seconds = np.array([row["second"] for row in rows]) - rows[0]["second"]
    last = seconds[-1] - seconds[-2] if len(rows) > 1 else 1.0
    return Rates(seconds, np.array([row[column] for row in rows]) * 1e6, float(seconds[-1] + last))


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
    clients = sorted(table)
    try:
        return Availability.of(
            [table[client] for client in clients], [periods.get(client, period or last) for client in clients]
        )
    except ValueError as error:
        raise HeteroSelectError(f"{path}: {error}.") from None


def _rows(
    path: str | Path, needed: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, float]]]:
    """The number of each line, and its columns; other columns are left out."""
    path = Path(path)
    opened = lzma.open if path.suffix == ".xz" else open
    try:
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            header = [name.strip().removesuffix("_s") for name in next(reader, [])]
            missing = [name for name in needed if name not in header]
            if missing:
                columns = f"{', '.join(needed)} and perhaps {', '.join(optional)}"
                raise HeteroSelectError(f"{path}, line 1: {missing[0]} is missing; allowed are the columns {columns}.")
            wanted = [(name, header.index(name)) for name in needed + optional if name in header]
            found = False
            for cells in reader:
                if cells:
                    row = {name: cells[place] if place < len(cells) else "" for name, place in wanted}
                    yield reader.line_num, {name: _number(path, reader.line_num, name, row) for name in row}
                    found = True
    except (OSError, UnicodeDecodeError, lzma.LZMAError, csv.Error) as error:
        raise HeteroSelectError(f"{path}: allowed is a CSV file that can be read ({error}).") from None
    if not found:
        raise HeteroSelectError(f"{path}: there is nothing below the header; allowed is a CSV file of at least a row.")


def _number(path: Path, line: int, name: str, row: dict[str, str]) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        _refuse(path, line, name, "a number of at least 0", row)
    return value


def _refuse(path: str | Path, line: int, name: str, allowed: str, row: dict[str, str] | dict[str, float]) -> None:
    raise HeteroSelectError(f"{path}, line {line}: {name}: allowed is {allowed}, not {row[name]!r}.")
