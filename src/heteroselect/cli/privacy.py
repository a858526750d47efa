"""heteroselect privacy: what the noise of a method promises."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heteroselect.cli import options
from heteroselect.cli.terminal import undamaged
from heteroselect.errors import FolderError
from heteroselect.runs.folder import CONFIG, finished, read_rounds

if TYPE_CHECKING:
    from heteroselect.runs.accountant import Promise

MULTIPLIERS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
CHANCE = "Probability δ that ε does not hold; choose it below 1/number of users."
WHAT = "A preset, a TOML file or a run folder; without it, a table of all presets."


def privacy(
    what: Annotated[str | None, typer.Argument(help=WHAT)] = None,
    method: options.Named = None,
    rounds: options.Rounds = None,
    set_: options.Changes = None,
    delta: Annotated[float, typer.Option(help=CHANCE)] = DELTA,
    as_json: Annotated[bool, typer.Option("--json", help="Print the promise as JSON and nothing else.")] = False,
) -> None:
    """Say what the noise of a method promises to each user. That is ε at δ, by the accountant of dp-accounting."""
    from heteroselect.runs.accountant import promise
    from heteroselect.settings.config import load

    if what is None:
        typer.echo(presets_table(delta), nl=False)
        return
    source, played = Path(what), None
    if source.is_dir():
        source, played = source / CONFIG, rounds_of(source, method, rounds, set_)
    loaded = load(source, method=method, changes=options.changes_of(set_, rounds=rounds), any_target=True)
    found = promise(loaded.method, loaded.config, delta=delta, played=played)
    typer.echo(json.dumps(asdict(found), indent=2) if as_json else sentences(found))


def rounds_of(folder: Path, method: str | None, rounds: int | None, set_: list[str] | None) -> list[dict[str, Any]]:
    """The rounds of a run that has ended, of which nothing can be set any more."""
    from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
    from heteroselect.settings import own
    from heteroselect.settings.config import read_config

    if not (folder / CONFIG).is_file():
        raise FolderError(f"privacy: {folder} is no run folder; it needs {CONFIG}.")
    chosen = [one for one in set_ or [] if not own.is_path(one.partition("=")[2])]
    if chosen or rounds is not None or (method is not None and not own.is_path(method)):
        raise FolderError(f"privacy: the run in {folder} is over; change settings of its {CONFIG} instead.")
    if not finished(folder):
        raise FolderError(f"privacy: the run in {folder} has not ended; name one that has, or its {CONFIG}.")
    with undamaged(folder, "privacy"):
        refuse_edited(folder, Fingerprint.read(folder), read_config(folder / CONFIG))
        played = read_rounds(folder)
        if not played or not all(line["weights"] for line in played):
            raise ValueError("no weights")
        return played


def sentences(found: "Promise") -> str:
    """A promise for people."""
    whose = "its own noise alone" if found.together == 1 else f"the noise of {found.together} clients"
    draw = f"{found.drawn} of {found.users} drawn without replacement, all cohorts as likely"
    counted = draw if found.amplified else "who was drawn is taken to be known"
    return (
        f"ε = {found.epsilon:.3g} at δ = {found.delta:g}, for each of {found.users} users and the models of "
        f"{found.rounds} round{'s' * (found.rounds != 1)}.\n"
        f"Each is hidden by {whose}, {found.multiplier:.3g} times what replacing a user can move (2 clip); {counted}.\n"
        "Whoever knows the seed can take the noise off again: hand out the model, not the run folder."
    )


def presets_table(delta: float = DELTA) -> str:
    """ε of every preset for some amounts of noise, as Markdown."""
    from heteroselect.runs.accountant import epsilon
    from heteroselect.settings.config import load, presets

    heads = ["preset", "users", "drawn", "rounds", *(f"z = {z:g}" for z in MULTIPLIERS)]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    known: dict[tuple[int, int, int], list[str]] = {}
    for name in presets():
        config = load(name).config
        key = (config.clients, min(config.selected, config.clients), config.last_round)
        if key not in known:
            known[key] = [f"{epsilon(z, *key, delta):.3g}" for z in MULTIPLIERS]
        lines.append("| " + " | ".join([f"`{name}`", *map(str, key), *known[key]]) + " |")
    return "\n".join(lines) + "\n"
