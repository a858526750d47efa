"""What a measurement was made on."""

import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch

from heteroselect import __version__


def description() -> dict[str, Any]:
    cpu = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    return {
        "processor": cpu[0] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory[0] / 1e6, 1) if memory else None,
        "load_average": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "heteroselect": __version__,
        "date": date.today().isoformat(),
    }


def markdown(machine: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items())


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []
