"""A run as a picture: its metric against rounds, simulated seconds and megabytes, with the paper's mark."""

import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, MaxNLocator, PercentFormatter, ScalarFormatter

from heteroselect.comparison.figures import Lines
from heteroselect.comparison.report import MARK, curves
from heteroselect.comparison.report.style import QUIET
from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.files import write_whole
from heteroselect.settings import PaperRow

FORMATS = (".png", ".svg", ".pdf")
OURS, _THEIRS = "#1f5fa8", "#d1495b"
# a fixed salt: the same run gives the same file
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "heteroselect", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


def draw_run(summary: Mapping[str, Any], rounds: Lines, paper: Sequence[PaperRow], path: Path) -> None:
    """Write the picture; the ending of `path` is its format."""
    if path.suffix.lower() not in FORMATS:
        found = path.suffix or path.name
        raise HeteroSelectError(f"--figure: allowed endings are {', '.join(FORMATS)}, not {found!r}.")
    with rc_context(STYLE):
        save(drawn(summary, rounds, paper), path, "--figure")


def drawn(summary: Mapping[str, Any], rounds: Lines, paper: Sequence[PaperRow]) -> Figure:
    """The picture; of values that are not float32 there is no count of values alone."""
    figure, measure = Figure(figsize=(10, 3.2), layout="constrained"), Measure.of(summary)
    left, middle, right = figure.subplots(1, 3, sharey=True)
    wire, few_bits = curves.accuracy(rounds, "wire_megabytes"), not summary.get("sends_float32", True)
    marker = "o" if len(wire.x) == 1 else ""
    for panel, axis in ((left, "rounds"), (middle, "seconds"), (right, "wire_megabytes" if few_bits else "megabytes")):
        curve = curves.accuracy(rounds, axis)
        panel.plot(curve.x, curve.y, color=OURS, marker=marker, label="this run" if panel is left else None)
        if axis == "megabytes":
            panel.plot(wire.x, wire.y, color=OURS, ls=":", marker=marker, label="real bytes")
        panel.axhline(summary["target"], color=QUIET, lw=0.8, ls="--")
        reached = getattr(paper[0], f"{axis}_to_target", None) if paper else None
        if reached is not None:
            panel.plot(reached, summary["target"], "*", ms=11, color=_THEIRS, label="the paper")
        panel.set(xlabel=curves.AXES[axis], xlim=(0, None))  # after all is drawn: it fixes the other end, too
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_ylabel(plain(f"{summary.get('evaluated_on', 'test')} {measure.axis}"))
    left.yaxis.set_major_formatter(written(measure))
    for panel in (left, right):
        if panel.get_legend_handles_labels()[1]:
            panel.legend(frameon=False, loc="lower right" if measure.higher else "upper right")
    name = summary.get("title", summary["method"])
    title = f"{name} on {summary['dataset']}, seed {summary['seed']}"
    figure.suptitle("\n".join(plain(line) for line in textwrap.wrap(title, 120)), fontsize=10)
    return figure


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
