"""The wheel: it carries all that a run needs, and runs from any folder."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_the_wheel_is_whole_and_runs_from_any_folder(tmp_path):
    source, site, elsewhere = tmp_path / "source", tmp_path / "site", tmp_path / "elsewhere"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    package = site / "heteroselect"
    presets = {path.name for path in (ROOT / "src" / "heteroselect" / "presets").glob("*.toml")}
    assert {path.name for path in (package / "presets").iterdir()} == presets
    assert len(list((package / "data" / "mnist").glob("*.xz"))) == 4
    assert (package / "data" / "mnist" / "LICENSE.md").is_file()
    assert {path.name for path in (package / "world" / "phones").iterdir()} == {"devices.csv.xz", "LICENSE.md"}
    assert (package / "py.typed").is_file()
    assert {path.name for path in (package / "report").glob("page.*")} == {"page.py", "page.css", "page.js"}

    elsewhere.mkdir()
    command = [sys.executable, "-m", "heteroselect", "run", "--set", "stop_after=1", "--json", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    run = subprocess.run(command, capture_output=True, text=True, cwd=elsewhere, env=environment)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["dataset"] == "mnist"
    assert (elsewhere / "runs").is_dir()
