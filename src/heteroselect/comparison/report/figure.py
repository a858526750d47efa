"""How pictures look, and how they become files."""

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, PercentFormatter, ScalarFormatter

from heteroselect.comparison.report import MARK
from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole

OURS = "#1f5fa8"
# a fixed salt: the same run gives the same file
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "heteroselect", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


def plain(label: str) -> str:
    """A dollar is no formula, and a leading underscore does not hide a method."""
    return " " * label.startswith("_") + label.replace("$", r"\$")


def written(measure: Measure) -> Formatter:
    """Ticks with as many digits as it takes to tell them apart."""
    return PercentFormatter(xmax=1, decimals=None) if measure.unit == "%" else ScalarFormatter(useOffset=False)


def saved(figure: Figure, ending: str, dpi: int = 150) -> bytes:
    """The file of a picture in the format of this ending. It says who made it, and no date, so that the same runs give
    the same file."""
    about: dict[str, str | None] = {"Creator": MARK, "CreationDate" if ending == ".pdf" else "Date": None}
    content = io.BytesIO()
    figure.savefig(content, format=ending[1:], dpi=dpi, metadata={"Software": MARK} if ending == ".png" else about)
    return content.getvalue()


def save(figure: Figure, path: Path, option: str) -> None:
    """Write the file that the user named with `option`."""
    try:
        write_whole(path, saved(figure, path.suffix.lower()))
    except OSError as error:
        raise HeteroSelectError(f"{option}: {path} cannot be written ({error.strerror}).") from error
