"""Data frames and pictures, where the libraries for them are installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from heteroselect.core.measure import Measure
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.display.curves import Curve


def needed(module: str, who: str, package: str) -> Any:
    """The module, or one sentence that names what has to be installed for it."""
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and broken
        raise HeteroSelectError(f"{who}: {package} is not installed; `pip install {package}` brings it.") from error


def frame(rows: Sequence[Mapping[str, Any]], index: Sequence[str]) -> Any:
    """A pandas.DataFrame with a line for each row, by these of its columns."""
    pandas = needed("pandas", "to_frame", "pandas")
    return pandas.DataFrame.from_records(list(rows)).set_index(list(index))


def plot(curves: Sequence[Curve], across: str, measure: Measure, target: float | None, axes: Any = None) -> Any:
    """Draw the curves with Matplotlib, on new axes or on these, and return the axes."""
    pyplot = needed("matplotlib.pyplot", "plot", "matplotlib")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for curve in curves:
        marker = "o" if len(curve.x) == 1 else ""
        name = {"label": curve.label.replace("$", r"\$")} if curve.label else {}
        axes.plot(curve.x, curve.y, color=curve.colour, marker=marker, **name)
    if target is not None:
        axes.axhline(target, color="#8a8f98", lw=0.8, ls="--")
    axes.set(xlabel=across, ylabel=measure.axis.replace("$", r"\$"))
    if measure.unit == "%":
        axes.yaxis.set_major_formatter(lambda value, _: measure.short(round(value, 6)))
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(frameon=False)
    return axes
