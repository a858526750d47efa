"""What only some commands need comes with an extra; a command that needs it says so before it does anything."""

from importlib.util import find_spec
from pathlib import Path

from heteroselect.errors import MissingExtra

MODULES = {
    "report": {"matplotlib": "Matplotlib"},
    "images": {"PIL": "Pillow"},
}
"""Of each extra, the modules that are used here, and what people call them."""


def require(extra: str, wanted: str) -> None:
    """Refuse `wanted`, a command or a setting, where something of the extra is not installed. Nothing is imported."""
    for module, title in MODULES[extra].items():
        if find_spec(module) is None:
            raise MissingExtra(f"{wanted}: {title} is not installed; `pip install 'heteroselect[{extra}]'` brings it.")


def installed_files(module: str) -> Path | None:
    """The folder of a distribution of files alone, which has a licence of its own; None where it is not installed."""
    found = find_spec(module)
    return Path(found.origin).parent if found is not None and found.origin else None
