"""heteroselect data."""

from pathlib import Path
from typing import Annotated

import typer

from heteroselect.runs.display.progress import err


def data(
    name: Annotated[str, typer.Argument(help="mnist, cifar10, cifar100 or tinyimagenet.")],
    data_dir: Annotated[Path | None, typer.Option(help="The folder to put it in.")] = None,
    url: Annotated[str | None, typer.Option(help="A mirror to take the publisher's file from.")] = None,
) -> None:
    """Download a data set from its publisher and verify it."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from heteroselect.data import download, sources

    folder = data_dir or sources.default_folder()
    columns = (TextColumn(name), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(name, total=None)
        path = download.fetch(
            name, folder, url=url, progress=lambda done, total: progress.update(task, completed=done, total=total)
        )
    typer.echo(f"mnist is installed: {path}" if path == sources.installed_mnist() else f"{name}: {path}")
