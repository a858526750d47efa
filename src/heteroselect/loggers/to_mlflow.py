"""MLflow: where MLFLOW_TRACKING_URI says, else files in the run's folder."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from heteroselect.loggers import Sink

EXPERIMENT = "heteroselect"


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Sink]:
    """A run in MLflow's experiment `heteroselect`. It goes by MLflow's client: what is built on that also notes
    the user, the script and its commit."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # its files need no data base, but have to be asked for
    client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or folder.absolute().as_uri())
    there = client.get_experiment_by_name(EXPERIMENT)
    experiment = there.experiment_id if there is not None else client.create_experiment(EXPERIMENT)
    run = client.create_run(experiment, run_name=name).info.run_id

    def log(step: int, figures: Mapping[str, float]) -> None:
        now = int(1000 * time.time())
        client.log_batch(run, [Metric(key, value, now, step) for key, value in figures.items()])

    status = "FAILED"
    try:
        yield log
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        client.set_terminated(run, status)
