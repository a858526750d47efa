"""One look for page and paper: a method has the same colour and stroke in every picture."""

from dataclasses import dataclass

# Okabe and Ito's colours, which colour-blind readers can tell apart, less the yellow, which is lost on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
DASHES = ("solid", "dash", "dot", "dashdot")
PAPER, QUIET, INK, GRID = "#7a8088", "#8a8f98", "#22262b", "#e8eaed"
KIND_COLOURS = ("#0072b2", "#56b4e9", "#e69f00", "#cc79a7")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Look:
    colour: str
    dash: str

    @property
    def fill(self) -> str:
        """The colour of a seed band, as CSS."""
        red, green, blue = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({red},{green},{blue},0.16)"


def look(index: int) -> Look:
    """Of the method at `index`; once the colours are used up they come again with another stroke."""
    return Look(COLOURS[index % len(COLOURS)], DASHES[index // len(COLOURS) % len(DASHES)])
