"""A run as a picture: accuracy against rounds, simulated seconds and megabytes, with the paper's mark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from heteroselect.errors import HeteroSelectError
from heteroselect.settings import PaperRow

FORMATS = (".png", ".svg", ".pdf")
_OURS, _THEIRS, _QUIET = "#1f5fa8", "#d1495b", "#8a8f98"


def draw_run(
    summary: Mapping[str, Any], rounds: Sequence[Mapping[str, Any]], paper: Sequence[PaperRow], path: Path
) -> None:
    """Write the picture; the ending of `path` is its format."""
    if path.suffix.lower() not in FORMATS:
        raise HeteroSelectError(
            f"--figure: allowed endings are {', '.join(FORMATS)}, not {path.suffix or path.name!r}."
        )
    evaluated = [line for line in rounds if line["accuracy"] is not None]
    accuracy = [line["accuracy"] for line in evaluated]
    paper_mb, wire_mb = _running(rounds, "bytes_up_paper"), _running(rounds, "bytes_up")
    # a fixed salt and no date: the same run gives the same file
    with rc_context(
        {"svg.hashsalt": "heteroselect", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    ):
        figure = Figure(figsize=(10, 3.2), layout="constrained")
        FigureCanvasAgg(figure)
        left, middle, right = figure.subplots(1, 3, sharey=True)
        left.plot([line["round"] for line in evaluated], accuracy, color=_OURS, label="this run")
        middle.plot([line["cumulative_seconds"] for line in evaluated], accuracy, color=_OURS)
        right.plot([paper_mb[line["round"]] for line in evaluated], accuracy, color=_OURS)
        right.plot([wire_mb[line["round"]] for line in evaluated], accuracy, color=_OURS, ls=":", label="real bytes")
        marks = ("rounds_to_target", "seconds_to_target", "megabytes_to_target")
        names = ("round", "simulated seconds", "MB sent by clients (values only)")
        for axis, field, name in zip((left, middle, right), marks, names, strict=True):
            axis.axhline(summary["target"], color=_QUIET, lw=0.8, ls="--")
            axis.set_xlabel(name)
            axis.set_xlim(left=0)
            for row in paper[:1]:
                if getattr(row, field) is not None:
                    axis.plot(getattr(row, field), summary["target"], "*", ms=11, color=_THEIRS, label="the paper")
        left.set_ylabel("test accuracy")
        left.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        left.legend(frameon=False, loc="lower right")
        right.legend(frameon=False, loc="lower right")
        figure.suptitle(f"{summary['method']} on {summary['dataset']}, seed {summary['seed']}", fontsize=10)
        try:
            figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as error:
            raise HeteroSelectError(f"--figure: {path} cannot be written ({error.strerror}).") from error


def _running(rounds: Sequence[Mapping[str, Any]], kind: str) -> dict[int, float]:
    """Megabytes sent up to and including each round."""
    total, found = 0.0, {}
    for line in rounds:
        total += line[kind] / 1e6
        found[line["round"]] = total
    return found
