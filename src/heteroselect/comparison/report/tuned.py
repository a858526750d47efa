"""The page of a tuning: what each method gains over its default, and all its trials."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from heteroselect.comparison.over_seeds import FINAL
from heteroselect.comparison.report.figure import STYLE, saved
from heteroselect.comparison.report.html import listed, page, picture, row, section, table
from heteroselect.comparison.report.style import COLOURS, INK, QUIET
from heteroselect.comparison.trials import QUARTER, THIRD
from heteroselect.comparison.tune import Found, line, shown
from heteroselect.files import write_whole
from heteroselect.methods import gaps
from heteroselect.runs.folder import as_user_error
from heteroselect.world.clock import clock_sentence

NAMES = {
    "at-bytes": "accuracy at the bytes that clients send with the first method's default",
    "at-seconds": "accuracy at the simulated seconds that the first method's default takes",
    "final": "final accuracy",
    "time-to-target": "simulated seconds to the target, or to the end of the run",
}
LEAD = (
    "Every method had the same number of trials, the first of which is its default, with the same seeds and on "
    "examples that were set aside: the test part was not looked at. "
    f"After 1/{QUARTER} of the rounds the best 1/{THIRD} of the trials went on, and the default in any case. "
    f"An accuracy is {FINAL}. The best of many trials looks better than it is; what "
    "tuning is worth, a comparison with other seeds tells (compare --tuned)."
)


def draw(found: Sequence[Found], by: str) -> Figure:
    """A column of dots per method: trials that went to the end, the default ringed, the best filled in colour."""
    figure = Figure(figsize=(1.6 + 0.8 * len(found), 3.2), layout="constrained")
    panel = figure.subplots()
    for place, one in enumerate(found):
        values = {number: _value(by, score) for number, score in one.late.items()}
        panel.plot([place] * len(values), list(values.values()), "o", ms=3, color=QUIET)
        panel.plot(place, values[one.best], "o", ms=7, color=COLOURS[0], label="tuned" if place == 0 else None)
        label = "default" if place == 0 else None
        panel.plot(place, values[0], "o", ms=10, mfc="none", color=INK, label=label)
    panel.set_xticks(range(len(found)), [one.contest.name for one in found], rotation=30, ha="right", fontsize=7)
    panel.set_ylabel(NAMES[by], fontsize=6)
    panel.margins(x=0.1)
    if by != "time-to-target":
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:.1%}")
    figure.legend(loc="outside upper right", ncols=2, frameon=False, fontsize=7)
    return figure


def _value(by: str, score: Sequence[float]) -> float:
    value = -score[1] if by == "time-to-target" and len(score) > 1 else score[0]
    return value if abs(value) < float("inf") else float("nan")


def render(found: Sequence[Found], by: str, command: str) -> str:
    """The whole page."""
    with rc_context(STYLE):
        shot = picture(saved(draw(found, by), ".svg"), "the trials of each method")
    heads = ["method", "default", "tuned", "settings that differ"]
    caption = f"By {NAMES[by]}, the mean over seeds, on the validation examples."
    notes = listed(gaps(one.contest.name for one in found))
    sections = [section("Default and tuned", caption, table(heads, (row(line(one, by)) for one in found)), notes, shot)]
    for one in found:
        ranges = "; ".join(
            f"{knob.key.removeprefix('method.')} {knob.range.low:g} to {knob.range.high:g} ({knob.range.scale})"
            for knob in one.contest.knobs
        )
        sections.append(section(one.contest.name, f"Ranges: {ranges}.", _trials(one, by)))
    clock = clock_sentence(trial.cells[0].config.world.charge for one in found for trial in one.contest.trials)
    return page("Equal tuning", f"Tuned by {NAMES[by]}. {LEAD} {clock}", sections, command)


def _trials(one: Found, by: str) -> str:
    keys = [knob.key for knob in one.contest.knobs]
    heads = ["trial", *(key.removeprefix("method.") for key in keys), "after the first rounds", "at the end"]
    rows = []
    for trial in one.contest.trials:
        settings = [str(trial.settings[key]) if key in trial.settings else "default" for key in keys]
        scores = [shown(by, one.early[trial.number]), shown(by, one.late.get(trial.number))]
        number = f"{trial.number}{' (best)' if trial.number == one.best else ''}"
        rows.append(row([number, *settings, *scores]))
    return table(heads, rows)


def write(found: Sequence[Found], by: str, out: Path, command: str) -> None:
    text = render(found, by, command)
    with as_user_error(out):
        write_whole(out / "tune.html", text.encode())
