"""A run that has ended, from its folder: what the run wrote, or one sentence."""

from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load

from heteroselect.errors import HeteroSelectError
from heteroselect.runs.checked import CheckedSummary
from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
from heteroselect.runs.folder import CONFIG, read_model, read_rounds, read_summary
from heteroselect.runs.result import Result
from heteroselect.settings import Config
from heteroselect.settings.config import read_config
from heteroselect.settings.method import completed


def read_settings(path: Path, who: str) -> Config:
    """The settings of a run that has ended, none of which was changed since it began."""
    try:
        written = read_config(path / CONFIG)
        refuse_edited(path, Fingerprint.read(path), written)
        if "version" not in written:
            raise HeteroSelectError(
                f"{who}: the run in {path} is of version 0.1.0; allowed are later ones (`heteroselect show` shows it)."
            )
        config = Config.model_validate(written)
        return config.model_copy(update={"method": completed(config.method)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path, who, error) from error


def read_ended(path: Path, config: Config, who: str) -> Result:
    """All of a run that has ended."""
    try:
        summary = read_summary(path)
        CheckedSummary.model_validate(summary)
        return Result(config, summary, read_rounds(path), load(read_model(path, summary)), path)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise _damaged(path, who, error) from error


def _damaged(path: Path, who: str, error: Exception) -> HeteroSelectError:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        reason = str(error).partition("\n")[0]
    return HeteroSelectError(f"{who}: the files in {path} are damaged ({reason}).")
