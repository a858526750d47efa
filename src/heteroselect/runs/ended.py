"""A run that has ended, from its folder: what the run wrote, or one sentence."""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load

from heteroselect.errors import FolderError
from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
from heteroselect.runs.folder import CONFIG, read_model, read_rounds, read_summary
from heteroselect.runs.guard import CheckedSummary, reason
from heteroselect.runs.result import Result
from heteroselect.settings import Config
from heteroselect.settings.config import read_config
from heteroselect.settings.method import completed


def read_settings(path: Path, who: str) -> Config:
    """The settings of a run that has ended, none of which was changed since it began."""
    try:
        written = read_config(path / CONFIG)
        refuse_edited(path, Fingerprint.read(path), written)
        config = Config.model_validate(written)
        return config.model_copy(update={"method": completed(config.method)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(f"{who}: the files in {path} are damaged ({reason(error)}).") from error


def read_ended(path: Path, config: Config, who: str) -> Result:
    """All of a run that has ended."""
    try:
        summary = read_summary(path)
        CheckedSummary.model_validate(summary)
        return Result(config, summary, read_rounds(path), load(read_model(path, summary)), path)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise FolderError(f"{who}: the files in {path} are damaged ({reason(error)}).") from error
