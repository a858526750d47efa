"""Scripts of the project, which are no part of the package, as modules."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]


def script(path: str) -> ModuleType:
    """The script at this path of the project, imported under its own name: another may import it by that, and it the
    others of its folder. It is imported once: doctest leaves out functions of a module that another has replaced."""
    file = ROOT / path
    known = sys.modules.get(file.stem)
    if known is not None and known.__file__ == str(file):
        return known
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded
