"""Weights & Biases: where it keeps its runs itself, offline unless WANDB_MODE says otherwise; `wandb sync` uploads."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heteroselect.loggers import Sink


@contextmanager
def opened(name: str, _: Path) -> Iterator[Sink]:
    """A run in the project `heteroselect` (or WANDB_PROJECT), without what W&B notes of machine, code and console by
    itself. It is below WANDB_DIR or the current folder: W&B makes links, which a run's folder may not have."""
    import wandb

    quiet: dict[str, Any] = {
        **{"mode": os.environ.get("WANDB_MODE", "offline"), "silent": True, "console": "off"},
        **{"disable_git": True, "disable_code": True, "x_disable_stats": True, "x_disable_meta": True},
        **{"x_disable_machine_info": True, "x_save_requirements": False},
    }
    project = os.environ.get("WANDB_PROJECT", "heteroselect")
    run = wandb.init(project=project, name=name, settings=wandb.Settings(**quiet), reinit="create_new")

    def log(step: int, figures: Mapping[str, float]) -> None:
        run.log(dict(figures), step=step)

    code = 1
    try:
        yield log
        code = 0
    finally:
        run.finish(exit_code=code)
