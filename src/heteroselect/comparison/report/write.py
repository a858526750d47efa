"""A page of runs, and figures for a paper, as files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from heteroselect.comparison.report import MARK
from heteroselect.errors import HeteroSelectError
from heteroselect.files import TooLargeError, opened, read_json, write_whole

if TYPE_CHECKING:
    from heteroselect.comparison.report.load import Comparison

LARGEST = 100_000_000
"""Bytes of a page or a figure: there are bounds to the points and cells that one has."""


def write_comparison(comparison: "Comparison", page: Path, figures: Path | None, command: str) -> list[str]:
    """Write the page of these runs, and the figures where they are wanted; returns what there is to say of it. All is
    drawn and checked before anything is written, so that an error leaves nothing half done."""
    from heteroselect.comparison.report import pictures  # the drawing library takes a second to import
    from heteroselect.comparison.report.page import render

    refuse_others(page, "--out", MARK)
    text = render(comparison, command)
    drawn: list[Path] = []
    if figures is not None:
        for name in pictures.names():
            refuse_others(figures / name, "--figures", MARK)
        drawn = pictures.write(comparison, figures)
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, text.encode())
    except OSError as error:
        raise HeteroSelectError(f"--out: {page} cannot be written ({error.strerror}).") from error
    return [*comparison.left_out, *(f"written: {path}" for path in (page, *drawn))]


def refuse_others(path: Path, option: str, mark: str) -> None:
    """Refuse to overwrite a file that is no report; a report may be written again in its place. (So may a link that
    leads nowhere: it is replaced, not followed.)"""
    try:
        with opened(path, LARGEST) as file:
            taken = mark.encode() not in file.read()
    except (FileNotFoundError, NotADirectoryError):
        return
    except ValueError:  # a pipe, or far more than a page has
        taken = True
    except OSError as error:
        raise HeteroSelectError(f"{option}: {path} cannot be written ({error.strerror}).") from error
    if taken:
        raise HeteroSelectError(f"{option}: {path} exists and is no report of heteroselect; name another place.")


def read_former(path: Path, option: str) -> Any:
    """What a JSON file holds that is about to be written again; None where there is none, or none that can be lost. One
    that is too large, or cannot be read, is refused: nobody can tell what would be lost with it."""
    try:
        return read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (TooLargeError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        lost = f"{path} cannot be read ({why}), and what it holds would be lost"
        raise HeteroSelectError(f"{option}: {lost}; name a new folder.") from error
    except ValueError:
        return None
