"""The distributions: built without a network, installed into an empty environment, and run from any folder."""

import email.message
import email.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # they build, install and run

ROOT = Path(__file__).resolve().parents[1]
OURS = ("heteroselect", "__editable__")
EXTRAS = ("matplotlib", "pil", "pillow", "mpl_toolkits", "pylab")
OFFLINE = {"PIP_NO_INDEX": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist of the package, the wheel that is made of it, and the wheel of MNIST."""
    here = tmp_path_factory.mktemp("package")
    source, out = here / "source", here / "dist"
    unwanted = shutil.ignore_patterns("*.egg-info", "__pycache__", "build")
    shutil.copytree(ROOT / "src", source / "src", ignore=unwanted)
    shutil.copytree(ROOT / "packages", here / "packages", ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    for words in ([source], ["--wheel", here / "packages" / "heteroselect-mnist"]):
        done(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, *words)
    return out


def done(*words: object, code: int = 0, **more: str) -> tuple[str, str]:
    """What a command prints, on standard output and on standard error; it ends with this code."""
    environment = {key: value for key, value in os.environ.items() if key not in ("HETEROSELECT_DATA", "PYTHONPATH")}
    found = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, env={**environment, **OFFLINE, **more}
    )
    assert found.returncode == code, found.stdout + found.stderr
    return found.stdout, found.stderr


def opened(dist: Path, name: str) -> tuple[list[str], email.message.Message]:
    """The files of a wheel, and its metadata."""
    (wheel,) = dist.glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = sorted(archive.namelist())
        (place,) = (file for file in files if file.endswith(".dist-info/METADATA"))
        return files, email.parser.Parser().parsestr(archive.read(place).decode())


def test_the_wheel_holds_the_package_and_nothing_under_another_licence(dist: Path) -> None:
    files, facts = opened(dist, "heteroselect")
    presets = {f"heteroselect/presets/{path.name}" for path in (ROOT / "src/heteroselect/presets").glob("*.toml")}
    phones = {"heteroselect/world/phones/devices.csv.xz", "heteroselect/world/phones/LICENSE.md"}
    code = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    page = {"heteroselect/report/page.css", "heteroselect/report/page.js"}
    assert {file for file in files if ".dist-info/" not in file} == {
        *code,
        *presets,
        *phones,
        *page,
        "heteroselect/py.typed",
    }
    assert facts["License-Expression"] == "Apache-2.0 AND MIT"
    assert facts.get_all("License-File") == ["LICENSE", "src/heteroselect/world/phones/LICENSE.md"]
    assert "MIT licence" in (ROOT / "src/heteroselect/world/phones/LICENSE.md").read_text()


def test_the_wheel_says_what_it_is_and_needs_only_what_a_run_needs(dist: Path) -> None:
    _, facts = opened(dist, "heteroselect")
    assert facts["Author"]
    assert facts["Requires-Python"] == ">=3.11"
    versions = [f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)]
    assert set(versions) <= set(facts.get_all("Classifier", []))
    assert all(" https://" in url for url in facts.get_all("Project-URL", [""]))
    core = {re.split("[<>=]", need)[0] for need in facts.get_all("Requires-Dist", []) if "extra ==" not in need}
    running = "torch numpy scipy pydantic typer rich safetensors tomli-w zstandard constriction"
    assert core == set(running.split())
    assert {"report", "images", "mnist", "flower", "hf"} <= set(facts.get_all("Provides-Extra", []))


def test_mnist_has_a_distribution_and_a_licence_of_its_own(dist: Path) -> None:
    files, facts = opened(dist, "heteroselect_mnist")
    assert [file.rpartition("/")[2] for file in files if file.startswith("heteroselect_mnist/")] == [
        "__init__.py",
        "t10k-images-idx3-ubyte.xz",
        "t10k-labels-idx1-ubyte.xz",
        "train-images-idx3-ubyte.xz",
        "train-labels-idx1-ubyte.xz",
    ]
    assert any(file.endswith("licenses/LICENSE.md") for file in files)
    assert facts["License-Expression"] == "CC-BY-SA-3.0"
    assert facts.get_all("Requires-Dist") is None


def test_the_sdist_holds_the_sources_of_the_wheel(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files, _ = opened(dist, "heteroselect")
    assert {f"src/{file}" for file in files if ".dist-info/" not in file} <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [name for name in names if name.startswith(("packages", "tests")) or "ubyte" in name]


def borrowed() -> Iterator[Path]:
    """What is installed here, but for this package and for what the extras bring."""
    for place in map(Path, sys.path):
        if place.name in ("site-packages", "dist-packages"):
            yield from (one for one in place.iterdir() if not one.name.lower().startswith((*OURS, *EXTRAS)))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The interpreter of an empty environment that finds the large packages in this one."""
    done(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    links = tmp_path / "links"
    links.mkdir()
    for one in borrowed():
        if not (links / one.name).exists() and one.suffix != ".pth":
            (links / one.name).symlink_to(one)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(f"{links}\n")
    return tmp_path / "venv" / "bin" / "python"


def test_installed_from_a_folder_it_runs_and_says_what_is_missing(
    dist: Path, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = empty.parent / "heteroselect"

    def install(name: str) -> None:
        done(sys.executable, "-m", "pip", "--python", empty, "install", "--no-index", "--find-links", dist, name)

    install("heteroselect")
    _, said = done(command, "run", "mnist", "--rounds", "1", code=2)
    assert "`pip install heteroselect-mnist` brings it, `heteroselect data mnist` downloads it" in said
    assert len(said.splitlines()) == 1

    install("heteroselect[mnist]")
    printed, _ = done(command, "run", "mnist", "--rounds", "1", "--json", "--quiet", "--out", "run")
    assert json.loads(printed)["dataset"] == "mnist"
    assert (elsewhere / "run" / "model.safetensors").is_file()
    for words, name in ((["show", "run", "--figure", "run.svg"], "--figure"), (["report", "run"], "report")):
        _, said = done(command, *words, code=2)
        assert said.startswith(f"heteroselect: {name}: ")
        assert said.endswith(" is not installed; `pip install 'heteroselect[report]'` brings it.\n")
