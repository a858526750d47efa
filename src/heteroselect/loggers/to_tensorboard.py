"""TensorBoard: event files in the run's folder; `tensorboard --logdir runs` shows all runs side by side."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heteroselect.loggers import Sink


@contextmanager
def opened(_: str, folder: Path) -> Iterator[Sink]:
    """Event files in `folder`, by which TensorBoard names the run; what earlier ones have of it is void."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder), purge_step=1)

    def log(step: int, figures: Mapping[str, float]) -> None:
        for key, value in figures.items():
            writer.add_scalar(key, value, step)
        writer.flush()

    try:
        yield log
    finally:
        writer.close()
