"""One look for page and paper: a method has the same colour and stroke in every picture."""

from dataclasses import dataclass
from typing import Any

# Okabe and Ito's colours, which colour-blind readers can tell apart, less the yellow, which is lost on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
ON_DARK = ("#3f9fdf", "#f07f35", "#20b58b", "#db8fbb", "#eeb02f", "#7cc8f4", "#b6bbc2")
"""The same hues for a dark page, light enough to stand out there."""

STROKES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}
"""The names of strokes on a page, and how Matplotlib writes them."""
PAPER, QUIET, INK, GRID = "#7a8088", "#8a8f98", "#22262b", "#e8eaed"


@dataclass(frozen=True)
class Look:
    colour: str
    dash: str

    @property
    def css(self) -> str:
        """The classes of a page's style that give this look."""
        return f"c{COLOURS.index(self.colour)} {self.dash}"

    @property
    def matplotlib(self) -> dict[str, Any]:
        return {"color": self.colour, "ls": STROKES[self.dash]}


def look(index: int) -> Look:
    """Of the method at `index`; once the colours are used up they come again with another stroke."""
    return Look(COLOURS[index % len(COLOURS)], tuple(STROKES)[index // len(COLOURS) % len(STROKES)])
