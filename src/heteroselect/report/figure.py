"""A run as a picture: accuracy against rounds, simulated seconds and megabytes, with the paper's mark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from heteroselect.errors import HeteroSelectError
from heteroselect.report import curves
from heteroselect.report.style import QUIET
from heteroselect.settings import PaperRow

FORMATS = (".png", ".svg", ".pdf")
OURS, _THEIRS = "#1f5fa8", "#d1495b"
# a fixed salt, and no date in what is saved: the same run gives the same file
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "heteroselect", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip


def draw_run(
    summary: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], paper: Sequence[PaperRow], path: Path
) -> None:
    """Write the picture; the ending of `path` is its format."""
    if path.suffix.lower() not in FORMATS:
        raise HeteroSelectError(
            f"--figure: allowed endings are {', '.join(FORMATS)}, not {path.suffix or path.name!r}."
        )
    with rc_context(STYLE):
        figure = Figure(figsize=(10, 3.2), layout="constrained")
        left, middle, right = figure.subplots(1, 3, sharey=True)
        wire = curves.accuracy(rounds, "wire_megabytes")
        for panel, axis in ((left, "rounds"), (middle, "seconds"), (right, "megabytes")):
            curve = curves.accuracy(rounds, axis)
            panel.plot(curve.x, curve.y, color=OURS, label="this run" if panel is left else None)
            if panel is right:
                panel.plot(wire.x, wire.y, color=OURS, ls=":", label="real bytes")
            panel.axhline(summary["target"], color=QUIET, lw=0.8, ls="--")
            panel.set(xlabel=curves.AXES[axis], xlim=(0, None))
            reached = getattr(paper[0], f"{axis}_to_target") if paper else None
            if reached is not None:
                panel.plot(reached, summary["target"], "*", ms=11, color=_THEIRS, label="the paper")
        left.set_ylabel("test accuracy")
        left.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        left.legend(frameon=False, loc="lower right")
        right.legend(frameon=False, loc="lower right")
        name = summary.get("title", summary["method"])
        figure.suptitle(f"{name} on {summary['dataset']}, seed {summary['seed']}", fontsize=10)
        save(figure, path, "--figure")


def save(figure: Figure, path: Path, option: str) -> None:
    """Write the file that the user named with `option`."""
    try:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise HeteroSelectError(f"{option}: {path} cannot be written ({error.strerror}).") from error
