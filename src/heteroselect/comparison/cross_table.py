"""The tables of a crossing as Markdown, CSV and JSON, and the sentences that its page shares with them."""

from pathlib import Path
from typing import Any

import numpy as np

from heteroselect.comparison.cross import OUTCOMES, Crossing, Outcome, Place
from heteroselect.comparison.effects import Effects, Estimate
from heteroselect.comparison.over_seeds import in_line
from heteroselect.comparison.table_files import as_csv, as_json, as_markdown, write_files
from heteroselect.methods import gaps
from heteroselect.world.clock import clock_sentence

MADE = "Made by `heteroselect compare"


def told(crossing: Crossing, name: str, place: Place) -> tuple[str, str]:
    """What stands in a cell, and what beside it: the mean and the standard deviation over seeds, or the median to the
    target with the range of the seeds and how many arrived; why it is empty where no run has ended."""
    outcome, values = OUTCOMES[name], crossing.values(name)[place]
    if not any((*place, at) in crossing.runs for at in range(len(values))):
        return "refused" if place in crossing.refused else "failed", ""
    if outcome.end:
        return crossing.arrivals(name, place).told(outcome.shown)
    known = np.count_nonzero(np.isfinite(values))
    if known < len(values):
        return "—", f"{known} of {len(values)} runs"
    return outcome.shown(values.mean()), f"± {outcome.shown(values.std(ddof=1))}" if known > 1 else ""


def ranged(outcome: Outcome, one: Estimate) -> str:
    """An effect with its interval."""
    text = outcome.effect(one.value)
    if one.low is None or one.high is None:
        return text
    return f"{text} ({outcome.effect(one.low).removeprefix('× ')} to {outcome.effect(one.high).removeprefix('× ')})"


def interaction(outcome: Outcome, effects: Effects) -> str:
    """One sentence on how far pairs are from the sum of their values' effects."""
    size = effects.interaction
    if size is None:
        return "The pairs are too few to tell an interaction."
    text = f"Interaction (root mean square over pairs): {ranged(outcome, size).replace('+', '')}"
    if outcome.total:
        return f"{text}. A sum over both directions is no product of factors: no chance is given."
    if effects.p is not None:
        text += f"; so large an interaction would come by chance with p = {effects.p:.2g}"
    return text + "."


def effect_rows(crossing: Crossing, outcome: str, effects: Effects) -> list[list[str]]:
    """A line for each value of each axis: the axis, the value, its effect."""
    rows = []
    for key, levels, found in zip(crossing.keys, crossing.levels, (effects.rows, effects.columns), strict=True):
        rows += [[key, level, ranged(OUTCOMES[outcome], one)] for level, one in zip(levels, found, strict=True)]
    return rows


def pair_rows(crossing: Crossing, outcome: str, effects: Effects) -> list[list[str]]:
    """A line for each value of the first axis: what its pair with each value of the second has beyond the effects of
    the two, with its interval."""
    rows = zip(crossing.levels[0], effects.pairs, strict=True)
    return [[level, *("" if one is None else ranged(OUTCOMES[outcome], one) for one in same)] for level, same in rows]


def brought(crossing: Crossing) -> list[str]:
    """What the values brought to other roles, in the words of `run`."""
    return list(dict.fromkeys(text for cell in crossing.all_cells for text in cell.loaded.brought))


def left_out(crossing: Crossing) -> list[str]:
    """A sentence for each pair that was refused, and each run that did not come to its end."""
    lines = [f"{crossing.pair(place)}: refused: {reason}" for place, reason in crossing.refused.items()]
    for place, same in crossing.cells.items():
        seeds = [str(cell.seed) for cell in same if not cell.done]
        lines += [f"{crossing.pair(place)}: no result with seed {', '.join(seeds)}."] if seeds else []
    return lines


def missing_of_papers(crossing: Crossing) -> list[str]:
    """What the method that is crossed, and the kinds that are chosen for it, leave out of their papers."""
    names = [cell.loaded.method.name for cell in crossing.all_cells]
    for key, levels in zip(crossing.axes, crossing.levels, strict=True):
        names += levels if key.endswith(".kind") else []
    return gaps(names)


NOTE = (
    "Mean ± standard deviation over seeds; to the target the median and the range of the seeds, where one that never "
    "arrives is later than all others. An effect is what a value adds to the grand mean, in points of accuracy or "
    "as a factor of a cost; in brackets its 95 % interval, by a bootstrap over whole seeds. The interaction is what a "
    "pair has beyond the effects of its two values."
)


def note(crossing: Crossing) -> str:
    """How to read the tables, and what the seconds count."""
    return f"{NOTE} {clock_sentence(cell.config.world.charge for cell in crossing.all_cells)}"


def markdown(crossing: Crossing, command: str) -> str:
    rows, columns = crossing.levels
    parts = [f"{MADE}{command.removeprefix('heteroselect compare')}`. {note(crossing)}"]
    for name, outcome in OUTCOMES.items():
        effects, corner = crossing.effects(name), " / ".join(crossing.keys)
        body = [
            [row, *(in_line(*told(crossing, name, (a, b))) for b in range(len(columns)))] for a, row in enumerate(rows)
        ]
        parts += [f"## {outcome.title}, {outcome.unit}", as_markdown([corner, *columns], body)]
        if effects is not None:
            parts.append(as_markdown(["setting", "value", "effect"], effect_rows(crossing, name, effects)))
            parts.append(interaction(outcome, effects))
            if effects.interaction is not None:
                parts.append(as_markdown([f"interaction: {corner}", *columns], pair_rows(crossing, name, effects)))
    lists = {
        "What came with the values": brought(crossing),
        "What is missing of the papers": missing_of_papers(crossing),
        "Pairs without a result": left_out(crossing),
    }
    for heading, lines in lists.items():
        parts += [f"## {heading}", "\n".join(f"- {line}" for line in lines)] if lines else []
    return "\n\n".join(parts) + "\n"


def _csv(crossing: Crossing) -> str:
    """A line for each run, and one for each pair that was refused."""
    rows: list[dict[str, Any]] = []
    for place, same in crossing.cells.items():
        named = {key: levels[at] for key, levels, at in zip(crossing.axes, crossing.levels, place, strict=True)}
        for cell in same:
            run = crossing.runs.get((*place, crossing.seeds.index(cell.seed)), {"summary": {"status": "failed"}})
            rows.append({**run["summary"], **run, **named, "seed": cell.seed})
        if place in crossing.refused:
            rows.append({**named, "status": "refused", "refused": crossing.refused[place]})
    return as_csv([*crossing.axes, "seed", "status", *OUTCOMES, "model_sha256", "refused"], rows)


def _json(crossing: Crossing, command: str) -> dict[str, Any]:
    outcomes = {}
    for name in OUTCOMES:
        effects = crossing.effects(name)
        outcomes[name] = {
            "values": _plain(crossing.values(name)),
            "effects": None if effects is None else {key: _plain(value) for key, value in vars(effects).items()},
        }
    return {
        "command": command,
        "method": crossing.base,
        "axes": {key: list(values) for key, values in crossing.axes.items()},
        "seeds": list(crossing.seeds),
        "runs": [{"row": cell.method, "seed": cell.seed} for cell in crossing.all_cells],
        "refused": {crossing.pair(place): reason for place, reason in crossing.refused.items()},
        "outcomes": outcomes,
    }


def _plain(value: Any) -> Any:
    """As JSON has it: no NaN, no arrays."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Estimate):
        return vars(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write(crossing: Crossing, out: Path, command: str) -> None:
    """The tables as Markdown, CSV and JSON."""
    texts = {"md": markdown(crossing, command), "csv": _csv(crossing), "json": as_json(_json(crossing, command))}
    write_files(out, {f"cross.{kind}": text for kind, text in texts.items()})
