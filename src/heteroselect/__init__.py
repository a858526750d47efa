"""Federated learning: who takes part, how much may each client send, and how much does it count?

    import heteroselect
    result = heteroselect.run("mnist", seed=42)
    print(result.peak_accuracy, result.rounds_to_target)

The command line does the same: `heteroselect run mnist --seed 42`.
"""

from importlib import import_module
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from heteroselect.errors import (
    DataError,
    Diverged,
    FolderError,
    HeteroSelectError,
    MissingExtra,
    OwnCodeError,
    SettingError,
    in_python,
)
from heteroselect.version import __version__

if TYPE_CHECKING:
    from heteroselect.comparison.calls import compare, study, tune
    from heteroselect.comparison.result import Comparison
    from heteroselect.comparison.tune import Tuned
    from heteroselect.core.evaluate import Metric
    from heteroselect.round.method import Method
    from heteroselect.runs.api import settings_of as load
    from heteroselect.runs.calls import read, resume, run
    from heteroselect.runs.result import Interrupted, Result
    from heteroselect.settings import Config

__all__ = [
    "Comparison",
    "Config",
    "DataError",
    "Diverged",
    "FolderError",
    "HeteroSelectError",
    "Interrupted",
    "Method",
    "Metric",
    "MissingExtra",
    "OwnCodeError",
    "Result",
    "SettingError",
    "Tuned",
    "__version__",
    "compare",
    "load",
    "read",
    "resume",
    "run",
    "study",
    "tune",
]

# where a name lives; it is imported when it is used, because PyTorch takes seconds
_HOMES = {
    "Comparison": "comparison.result:Comparison",
    "Config": "settings:Config",
    "Interrupted": "runs.result:Interrupted",
    "Method": "round.method:Method",
    "Metric": "core.evaluate:Metric",
    "Result": "runs.result:Result",
    "Tuned": "comparison.tune:Tuned",
    "compare": "comparison.calls:compare",
    "load": "runs.api:settings_of",
    "read": "runs.calls:read",
    "resume": "runs.calls:resume",
    "run": "runs.calls:run",
    "study": "comparison.calls:study",
    "tune": "comparison.calls:tune",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, inside = _HOMES[name].partition(":")
    found = getattr(import_module(f"{__name__}.{home}"), inside)
    # errors name options of the command line, which are arguments here
    globals()[name] = found = in_python(found) if isfunction(found) else found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
