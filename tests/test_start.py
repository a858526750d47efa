"""How the package starts: at once where nothing is to be computed, and from any of its modules."""

import subprocess
import sys

import pytest

import heteroselect

pytestmark = pytest.mark.slow  # they train, draw or start processes

EVERY = """
import importlib, pkgutil
import heteroselect
names = [found.name for found in pkgutil.walk_packages(heteroselect.__path__, "heteroselect.")]
for name in names:
    try:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.partition(".")[0] not in ("flwr", "cryptography"):  # they come with the extra
            raise
print(len(names))
"""


def python(*words: str) -> str:
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAVY = {"torch", "flwr", "matplotlib"}
PARTS = {"numpy", "pydantic", "heteroselect.parts.kinds"}
"""The parts and the settings take a third of a second, for which help does not wait."""


@pytest.mark.parametrize(
    "words",
    [["--help"], ["run", "--help"], ["flower", "deploy", "--help"], ["settings"], ["methods", "stc"], ["presets"]],
)
def test_who_only_asks_does_not_wait_for_pytorch(words):
    unwanted = HEAVY | PARTS if words[-1] == "--help" and words[0] != "flower" else HEAVY
    code = f"""
import sys
sys.argv = {["heteroselect", *words]}
from heteroselect.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print("imported:", sorted({unwanted} & set(sys.modules)))
"""
    assert python("-c", code).endswith("imported: []\n")


def test_a_supernode_starts_without_pytorch():
    code = "import sys, heteroselect.engines.flower.uplink; print('torch' in sys.modules)"
    assert python("-c", code) == "False\n"


def test_a_dry_run_does_not_wait_for_the_compiler():
    code = """
import sys
from heteroselect.settings.config import load
from heteroselect.runs.experiment import prepare
prepare(load("mnist"))
print("torch._dynamo" in sys.modules)
"""
    assert python("-c", code) == "False\n"


def test_every_module_can_be_imported():
    """In one order; that the order makes no difference is in tests/test_storeys.py."""
    assert int(python("-c", EVERY)) > 100


def test_every_name_is_where_it_should_be():
    assert all(hasattr(heteroselect, name) for name in heteroselect.__all__)
    assert set(heteroselect.__all__) <= set(dir(heteroselect))
    with pytest.raises(AttributeError, match="has no attribute 'walk'"):
        heteroselect.walk  # noqa: B018
