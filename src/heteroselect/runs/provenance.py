"""Where a run was made: the processor, the versions, and the commit of the code.

Two processors round differently, and so their runs differ in their last bits; whoever compares two runs has to see it.
"""

import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heteroselect.version import __version__

_CPUINFO = Path("/proc/cpuinfo")


def environment(threads: int, device: str) -> dict[str, Any]:
    """What a summary notes of the place a run was made in."""
    return {
        "heteroselect": __version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "threads": threads,
        "device": device,
        "cpu": cpu(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        **commit(),
    }


@cache
def cpu(info: Path = _CPUINFO) -> str:
    """The name of the processor, with family, model and stepping where the system tells them: clouds give many
    processors one name."""
    try:
        text = info.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    first = text.partition("\n\n")[0].splitlines()
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in first)}
    numbers = ("cpu family", "model", "stepping")
    more = ", ".join(f"{name.removeprefix('cpu ')} {told[name]}" for name in numbers if name in told)
    name = told.get("model name") or platform.processor() or platform.machine()
    return f"{name} ({more})" if more else name


@cache
def commit() -> dict[str, Any]:
    """The commit that this package was run from, and whether its files were those of the commit; neither is known of a
    package that was installed from a wheel."""
    package = Path(__file__).resolve().parents[1]
    known = _git(package, "rev-parse", "HEAD") if _git(package, "ls-files", "--", "version.py") else None
    changed = _git(package, "status", "--porcelain", "--", ".") if known else None
    return {"commit": known, "clean": changed == "" if known else None}


def _git(folder: Path, *words: str) -> str | None:
    """What git says; None where there is none, or it knows nothing of the folder."""
    try:
        found = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
