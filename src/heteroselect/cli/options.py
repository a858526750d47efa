"""The options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from heteroselect.errors import SettingError

Preset = Annotated[str, typer.Argument(help="A preset, see `heteroselect presets`, or the path of a TOML file.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A run folder.")]
Logs = Annotated[list[Path], typer.Argument(metavar="LOG…", help="Per-round logs of the paper's authors.")]
_CHANGE = "Change one setting, see `heteroselect settings`; as in method.select.kind=oort."
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_CHANGE)]
_PLACE = "The place of a file: method.ROLE.kind=FILE.py:NAME, or world.trace=PLACE."
OwnParts = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_PLACE)]
_NAME = "A method's name, see `heteroselect methods`; or your own, FILE.py:NAME."
Named = Annotated[str | None, typer.Option("--method", help=_NAME)]
_FILE = "The file of your own method, FILE.py:NAME, where the run has one."
OwnMethod = Annotated[str | None, typer.Option("--method", help=_FILE)]
Methods = Annotated[str, typer.Option("--methods", help="Names with commas, or your own, FILE.py:NAME.")]
Seed = Annotated[int | None, typer.Option(help="The seed of all random numbers.")]
Seeds = Annotated[str, typer.Option(help="Seeds with commas, or from one to another, as in 42-46.")]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds T (learning-rate schedules span them).")]
Out = Annotated[Path | None, typer.Option("--out", help="A new folder; by default one under runs/.")]
Threads = Annotated[int | None, typer.Option(help="Clients that train at once; the result does not depend on it.")]
DataDir = Annotated[Path | None, typer.Option(help="The folder of the data sets.")]
_LOG = "Also log the rounds' numbers, offline: tensorboard, mlflow, wandb or FILE.py:NAME; may be given again."
Log = Annotated[list[str] | None, typer.Option(metavar="LOGGER", help=_LOG)]
Json = Annotated[bool, typer.Option("--json", help="Print summary.json and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no notices and no table.")]


def changes_of(pairs: list[str] | None, data_dir: Path | None = None, **given: Any) -> dict[str, Any]:
    """The settings that `--set`, `--data-dir` and options of the same name change."""
    from heteroselect.settings.config import parse_changes

    changes = parse_changes(pairs or [])
    changes |= {key: value for key, value in given.items() if value is not None}
    return changes | ({"data.dir": str(data_dir.absolute())} if data_dir is not None else {})


def numbers(option: str, text: str) -> list[int]:
    """Whole numbers with commas between them, or from one to another.

    >>> numbers("--seeds", "1,42-44")
    [1, 42, 43, 44]
    """
    try:
        ends = [word.split("-") for word in listed(text)]
        return [number for low, *high in ends for number in range(int(low), int(*high or [low]) + 1)]
    except (TypeError, ValueError):
        raise SettingError(f"{option}: give whole numbers with commas, as in 1,2 or 42-46, not {text!r}.") from None


def listed(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]
