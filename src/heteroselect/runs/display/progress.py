"""How far a run is: one line that is written again and again, in a notebook or on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from heteroselect.core.measure import ACCURACY, Measure
from heteroselect.runs.display.curves import size

if TYPE_CHECKING:
    from rich.progress import Progress

Line = dict[str, Any]
Where = Literal["notebook", "terminal", "lines", "nowhere"]
Show = Callable[[str, int], None]
"""Shows a text, and how much of the whole is done."""

SECONDS = 0.25
"""Between two updates in a notebook, each of which is a message to the browser."""

err = Console(stderr=True, markup=False)  # what is printed has names of strangers in it, which are no markup


def note(text: str) -> None:
    """Print one line on standard error, as it is."""
    err.print(text, markup=False, highlight=False, soft_wrap=True)


def where(wanted: bool | None, *, watched: bool = False) -> Where:
    """Where progress is to be shown. By default (None) that is where somebody is looking: in a notebook or on a
    terminal, unless the run is `watched` by a function of the user's own."""
    if wanted is False or (wanted is None and watched):
        return "nowhere"
    if in_notebook():
        return "notebook"
    if err.is_terminal:
        return "terminal"
    return "lines" if wanted else "nowhere"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    found = sys.modules.get("IPython")
    return found is not None and getattr(found.get_ipython(), "kernel", None) is not None


@contextmanager
def shown(place: Where, total: int) -> Iterator[Show]:
    """Gives a function that shows where things stand; on a terminal the line vanishes at the end."""
    if place == "nowhere":
        yield lambda _, __: None
    elif place == "lines":
        yield lambda text, _: note(text)
    elif place == "notebook":
        with _in_cell(total) as show:
            yield show
    else:
        with progress_bar() as progress:
            task = progress.add_task("", total=total)
            yield lambda text, done: progress.update(task, description=text, completed=done)


@contextmanager
def _in_cell(total: int) -> Iterator[Show]:
    """A line and a bar below the cell of a notebook, which stay as they are at the end."""
    cell = import_module("IPython.display")
    handle, last, late = cell.display(cell.HTML(""), display_id=True), 0.0, ""

    def show(text: str, done: int) -> None:
        nonlocal last, late
        late = f"<progress max='{max(1, total)}' value='{done}'></progress> <code>{escape(text)}</code>"
        if time.monotonic() - last >= SECONDS:
            handle.update(cell.HTML(late))
            last, late = time.monotonic(), ""

    try:
        yield show
    finally:
        if late:
            handle.update(cell.HTML(late))


def progress_bar(*, disable: bool = False) -> "Progress":
    """A bar on standard error that vanishes at the end."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn(), TextColumn("left"))
    return Progress(*columns, console=err, transient=True, disable=disable)


class Watch:
    """Shows each round of a run as it ends; before the first one, what is being prepared."""

    def __init__(self, show: Show, last: int, *, sent: Callable[[int], float], some: bool, measure: Measure) -> None:
        self._show, self._last, self._some, self._measure = show, last, some, measure
        self._before, self._sent = sent, 0.0
        self._value: float | None = None
        self._first = True

    def stage(self, text: str) -> None:
        """Show what is being done before the first round, where that vanishes: an error is one line and no more."""
        if not self._some:
            self._show(text, 0)

    def __call__(self, line: Line) -> None:
        number, last = line["round"], self._last
        if self._first:
            self._sent, self._first = self._before(number), False
        self._sent += line["bytes_up"] / 1e6
        self._value = self._value if line["accuracy"] is None else line["accuracy"]
        if self._some and number % max(1, last // 10) and number not in (1, last):
            return
        value = "" if self._value is None else f"{self._measure.name} {self._measure.text(self._value):>6} · "
        seconds = f"{line['cumulative_seconds']:,.0f} simulated s"
        self._show(f"round {number}/{last} · {value}{seconds} · {size(self._sent)} sent", number)


@contextmanager
def watching(
    last: int, place: Where, *, sent: Callable[[int], float] = lambda _: 0.0, measure: Measure = ACCURACY
) -> Iterator[Watch]:
    """Show the progress of a run up to its last round: live where somebody looks, else in about ten lines. `sent` tells
    the megabytes that clients had sent before a round, of a run that goes on."""
    with shown(place, last) as show:
        sent = sent if place != "nowhere" else lambda _: 0.0
        yield Watch(show, last, sent=sent, some=place == "lines", measure=measure)
