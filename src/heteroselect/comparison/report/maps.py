"""Maps of clients and rounds on a page: a picture of one pixel per cell, which the browser enlarges."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from heteroselect.comparison.report.scale import Scale
from heteroselect.comparison.report.style import STOPS

SHADES = 64


@dataclass(frozen=True)
class Map:
    """Cells, clients down and rounds across, and how many clients and rounds share one; NaN is empty."""

    title: str
    cells: npt.NDArray[np.float32]
    says: str
    """what a value is, in the word that stands before it"""
    per_cell: tuple[int, int] = (1, 1)
    shades: bool = True

    def html(self, scale: Scale, pictures: str) -> str:
        """The frame around its own and other pictures of the same shape."""
        (rows, columns), (down, across) = self.cells.shape, self.per_cell
        ends = bar = ""
        if self.shades:
            ends = f' data-v="{scale.low:.6g} {scale.high:.6g}"'
            low, high = (escape(scale.text(end)) for end in (scale.low, scale.high))
            bar = f'<div class="shades"><span>{low}</span><i></i><span>{high}</span></div>'
        x, y = (Scale.over([1, columns * across]), Scale.over([0, rows * down - 1]))
        return (
            f'<div class="map" tabindex="0" role="group" aria-label="Map: {escape(self.title)}, clients down and '
            f'rounds across. Arrow keys read it."{ends} data-says="{escape(self.says)}" data-cell="{down} {across}">'
            f'<h3>{escape(self.title)}</h3>{bar}<div class="yname">client</div>'
            f'<div class="yticks">{_ticks(y, "top", rows * down)}</div><div class="area">{pictures}</div>'
            f'<div class="xticks">{_ticks(x, "left", columns * across)}</div><div class="xname">round</div></div>'
        )


@dataclass(frozen=True)
class Maps:
    """Several maps of each choice, of which one is shown; each map has one scale for all choices."""

    choices: Mapping[str, Sequence[Map]]

    def html(self) -> str:
        shapes: dict[tuple[int, ...], list[int]] = {}
        every = list(self.choices.values())
        for number, (first, *_) in enumerate(every):
            shapes.setdefault((*first.cells.shape, *first.per_cell), []).append(number)
        body = ""
        for alike in shapes.values():
            maps = enumerate(every[alike[0]])
            drawn = "".join(self._map(one, place, alike) for place, one in maps)
            body += f'<div class="panels p{len(every[0])}"{"" if 0 in alike else " hidden"}>{drawn}</div>'
        if len(every) == 1:
            return body
        options = "".join(f'<option value="{at}">{escape(name)}</option>' for at, name in enumerate(self.choices))
        return f'<label class="choice">Run: <select>{options}</select></label>{body}'

    def _map(self, one: Map, place: int, alike: Sequence[int]) -> str:
        """The map at this place of all choices that are alike in shape."""
        every = [maps[place].cells for maps in self.choices.values()]
        scale = Scale.over(np.concatenate([cells[np.isfinite(cells)] for cells in every]))
        pictures = (
            f'<img alt="" data-choice="{number}"{" hidden" if number else ""} src="{picture(every[number], scale)}">'
            for number in alike
        )
        return one.html(scale, "".join(pictures))


def picture(cells: npt.NDArray[np.float32], scale: Scale) -> str:
    """The cells as a PNG with a palette, as an address that holds the whole picture; what is empty is transparent.

    A shade is one of 64 steps between both ends of the scale, which a page's script turns back into a value.
    """
    shares = np.clip((cells - scale.low) / (scale.high - scale.low), 0, 1)
    shades = np.where(np.isnan(cells), 0, 1 + np.rint(np.nan_to_num(shares) * (SHADES - 1))).astype(np.uint8)
    rows, columns = cells.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), shades], axis=1)  # each begins with its filter: none
    palette = b"\0\0\0" + palette_of_shades().tobytes()
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return f"data:image/png;base64,{b64encode(png).decode()}"


def palette_of_shades() -> npt.NDArray[np.uint8]:
    """Red, green and blue of every shade, by straight lines between the STOPS."""
    stops = np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in STOPS])
    at = np.linspace(0, len(STOPS) - 1, SHADES)
    colours = [np.interp(at, np.arange(len(STOPS)), stops[:, channel]) for channel in range(3)]
    found: npt.NDArray[np.uint8] = np.rint(np.stack(colours, axis=1)).astype(np.uint8)
    return found


def _ticks(scale: Scale, side: str, count: int) -> str:
    """Round numbers in the middle of their cells."""
    places = [(share * (scale.high - scale.low) + 0.5, label) for share, label in scale.ticks if "." not in label]
    return "".join(f'<span style="{side}:{100 * at / count:.2f}%">{label}</span>' for at, label in places)
