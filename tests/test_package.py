"""The distributions: built without a network, installed into an empty environment, and run from any folder."""

import email.message
import email.parser
import importlib.metadata
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
    """A folder with the sdist of the package, the wheel that is made of it, and the wheels of files alone."""
    here = tmp_path_factory.mktemp("package")
    source, out = here / "source", here / "dist"
    unwanted = shutil.ignore_patterns("*.egg-info", "__pycache__", "build")
    shutil.copytree(ROOT / "src", source / "src", ignore=unwanted)
    shutil.copytree(ROOT / "packages", here / "packages", ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    for words in ([source], *(["--wheel", place] for place in (here / "packages").iterdir())):
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


def needed(facts: email.message.Message) -> set[str]:
    """The packages that a wheel needs without any extra."""
    return {re.split("[<>=]", need)[0] for need in facts.get_all("Requires-Dist", []) if "extra ==" not in need}


def test_the_wheel_holds_the_package_and_nothing_under_another_licence(dist: Path) -> None:
    files, facts = opened(dist, "heteroselect")
    presets = {f"heteroselect/presets/{path.name}" for path in (ROOT / "src/heteroselect/presets").glob("*.toml")}
    code = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    page = {"heteroselect/comparison/report/page.css", "heteroselect/comparison/report/page.js"}
    assert {file for file in files if ".dist-info/" not in file} == {
        *code,
        *presets,
        *page,
        "heteroselect/py.typed",
    }
    assert facts["License-Expression"] == "Apache-2.0"
    assert facts.get_all("License-File") == ["LICENSE"]


def test_the_wheel_says_what_it_is_and_needs_only_what_a_run_needs(dist: Path) -> None:
    _, facts = opened(dist, "heteroselect")
    assert facts["Author"]
    assert facts["Requires-Python"] == ">=3.11"
    versions = [f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)]
    assert set(versions) <= set(facts.get_all("Classifier", []))
    assert all(" https://" in url for url in facts.get_all("Project-URL", [""]))
    running = "torch numpy scipy pydantic typer rich safetensors tomli-w zstandard constriction"
    assert needed(facts) == set(running.split())
    assert {"report", "images", "mnist", "phones", "flower", "hf"} <= set(facts.get_all("Provides-Extra", []))


DIGITS = [f"{part}-{kind}-ubyte.xz" for part in ("t10k", "train") for kind in ("images-idx3", "labels-idx1")]


@pytest.mark.parametrize(
    ("name", "licence", "held"),
    [("heteroselect_mnist", "CC-BY-SA-3.0", DIGITS), ("heteroselect_phones", "MIT", ["devices.csv.xz"])],
)
def test_files_have_a_distribution_and_a_licence_of_their_own(
    dist: Path, name: str, licence: str, held: list[str]
) -> None:
    files, facts = opened(dist, name)
    assert [file for file in files if ".dist-info/" not in file] == [f"{name}/{one}" for one in ("__init__.py", *held)]
    assert any(file.endswith("licenses/LICENSE.md") for file in files)
    assert facts["License-Expression"] == licence
    assert facts.get_all("Requires-Dist") is None


def test_the_sdist_holds_the_sources_of_the_wheel(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    files, _ = opened(dist, "heteroselect")
    assert {f"src/{file}" for file in files if ".dist-info/" not in file} <= names
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names
    assert not [name for name in names if name.startswith(("packages", "tests")) or name.endswith(".xz")]


def borrowed() -> Iterator[Path]:
    """What is installed here, but for this package and for what the extras bring."""
    for place in map(Path, sys.path):
        if place.name in ("site-packages", "dist-packages"):
            yield from (one for one in place.iterdir() if not one.name.lower().startswith((*OURS, *EXTRAS)))


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder in which the large packages are found that are installed here."""
    folder = tmp_path / "links"
    folder.mkdir()
    for one in borrowed():
        if not (folder / one.name).exists() and one.suffix != ".pth":
            (folder / one.name).symlink_to(one)
    return folder


@pytest.fixture
def empty(tmp_path: Path, links: Path) -> Path:
    """The interpreter of an empty environment that finds the large packages in this one."""
    done(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
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
    run = ("run", "mnist", "--set", "world.devices=table", "--rounds", "1", "--json", "--quiet", "--out", "run")
    _, said = done(command, *run, code=2)
    assert said.startswith("heteroselect: world.table: the table of devices is not installed;")
    assert len(said.splitlines()) == 1
    assert not (elsewhere / "run").exists()

    install("heteroselect[phones]")
    printed, _ = done(command, *run)
    assert json.loads(printed)["dataset"] == "mnist"
    assert (elsewhere / "run" / "model.safetensors").is_file()
    for words, name in ((["show", "run", "--figure", "run.svg"], "--figure"), (["report", "run"], "report")):
        _, said = done(command, *words, code=2)
        assert said.startswith(f"heteroselect: {name}: ")
        assert said.endswith(" is not installed; `pip install 'heteroselect[report]'` brings it.\n")


def stand_in(folder: Path, name: str, links: Path) -> None:
    """Write the wheel of a package that is found among the links: torch alone would be a quarter of a gigabyte."""
    version = importlib.metadata.version(name)
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {
        f"{name}.pth": f"{links}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{info.removesuffix('.dist-info')}-py3-none-any.whl", "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)


def test_uvx_runs_it_from_a_folder_of_wheels(
    dist: Path, links: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv = pytest.importorskip("uv", reason="uv is not installed (it comes with the extra flower)").find_uv_bin()
    index = tmp_path / "index"
    shutil.copytree(dist, index)
    for name in needed(opened(dist, "heteroselect")[1]):
        stand_in(index, name, links)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    words = ("--offline", "--no-config", "--no-index", "--find-links", index, "--python", sys.executable)
    ours = ("--from", "heteroselect[mnist]", "heteroselect", "run", "mnist", "--rounds", "1", "--quiet", "--out", "run")
    done(uv, "tool", "run", *words, *ours, UV_CACHE_DIR=str(tmp_path / "cache"), UV_TOOL_DIR=str(tmp_path / "tools"))
    assert json.loads((elsewhere / "run" / "summary.json").read_text())["rounds_run"] == 1
