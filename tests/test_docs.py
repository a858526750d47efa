"""The README and the examples: what they show was made by a command, and runs."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

import heteroselect
from heteroselect.report.tables import settings_page
from heteroselect.settings import describe

ROOT = Path(__file__).resolve().parents[1]


def module(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def test_the_readmes_table_is_what_the_result_files_give():
    study = module(ROOT / "studies" / "mnist_seeds.py")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{study.START}\n{study.table()}{study.END}" in readme


def test_the_result_files_meet_what_the_readme_promises():
    for path in sorted((ROOT / "docs" / "results" / "mnist").glob("heteroselect-4?.json")):
        summary = json.loads(path.read_text())
        assert summary["rounds_to_target"] <= 8
        assert summary["peak_accuracy"] >= 0.915
        assert summary["rounds_run"] == 100


def test_every_link_of_the_docs_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_page_of_settings_is_whole():
    """Every setting, as `make docs` writes them, and every field of a run folder's files."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert settings_page(list(describe())) in page
    result = heteroselect.run("mnist", settings={"stop_after": 1, "method.train.steps": 1})
    for field in (*result.summary, *result.rounds[0]):
        assert f"`{field}`" in page, field


@pytest.mark.slow
def test_the_example_is_short_and_learns():
    path = ROOT / "examples" / "own_model.py"
    assert len(path.read_text().splitlines()) < 60
    result = module(path).main(rounds=12)
    assert result.final_accuracy > 0.8


def test_no_pickle_and_no_global_generator():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "import pickle" not in text
        assert not re.search(r"torch\.(load|save)\(|np\.random\.(seed|rand|randn|choice|permutation)\(", text), (
            path.name
        )
