"""Federated learning where one informativeness score decides who speaks, how much, and how loudly.

    import heteroselect
    result = heteroselect.run("mnist", seed=42)
    print(result.peak_accuracy, result.rounds_to_target)

The command line does the same: `heteroselect run mnist --seed 42`.
"""

from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.run import Result, resume, run
from heteroselect.run import settings_of as load
from heteroselect.settings import Config
from heteroselect.version import __version__

__all__ = ["Config", "HeteroSelectError", "Method", "Result", "__version__", "load", "resume", "run"]
