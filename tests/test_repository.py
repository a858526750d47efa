"""What stands beside the code says the same as the code: versions, licences, links, pins."""

import re
import tomllib
from pathlib import Path

import pytest

from heteroselect.settings.renamed import RENAMED

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")]
PAGES += sorted((ROOT / "packages").glob("*/README.md"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path: Path) -> dict:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra flower")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_newest_version_of_the_changelog_is_that_of_the_package():
    titles = re.findall(r"^## \[(.+?)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert [version for version, _ in titles] == [PROJECT["version"], "0.1.0"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d|unreleased", date) for _, date in titles)


def test_the_changelog_has_every_new_name():
    page = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(f"| `{old}` | `{new}` |" in page for old, new in RENAMED.items())


def test_the_citation_is_of_this_version_and_of_the_paper():
    cited = read_yaml(ROOT / "CITATION.cff")
    assert cited["version"] == PROJECT["version"]
    assert PROJECT["license"] == cited["license"]
    paper = cited["preferred-citation"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    names = ", ".join(f"{one['given-names']} {one['family-names']}" for one in paper["authors"])
    assert f"{names}: *{paper['title']}*" in readme


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_their_actions_and_may_do_only_what_they_must(path):
    read_yaml(path)
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", one) for one in used)
    assert "permissions:\n  contents: read\n" in text
    assert "secrets." not in text


def test_ci_runs_the_commands_of_the_readme_on_every_version_that_is_named():
    job = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1].splitlines()
    assert runs == [line.partition("#")[0].strip() for line in first if line]
    named = [word.rpartition(" ")[2] for word in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", word)]
    assert job["strategy"]["matrix"]["python"] == named


def test_ci_runs_the_commands_for_two_machines_as_root():
    job = read_yaml(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["network"]
    assert [step["run"] for step in job["steps"] if "run" in step] == [
        "make .venv/.installed-dev",
        "sudo make test-network",
    ]


def test_no_test_is_skipped_in_make_test_for_want_of_an_extra():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("/.installed-dev: ")[2].partition("\n\n")[0]
    (named,) = re.findall(r"'\.\[(.+?)\]'", recipe)
    assert "$(DATA)" in recipe, "the extras of files alone come from their folders"
    assert {*named.split(","), "mnist", "phones"} == set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("path", ["Makefile", ".github/workflows/release.yml"])
def test_every_distribution_of_files_is_installed_and_released(path):
    there = sorted(place.parent.name for place in (ROOT / "packages").glob("*/pyproject.toml"))
    assert re.findall(r"packages/([\w-]+)", (ROOT / path).read_text(encoding="utf-8")) == there


def test_a_commit_is_judged_by_the_tools_of_make_test():
    (local,) = read_yaml(ROOT / ".pre-commit-config.yaml")["repos"]
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    for hook in local["hooks"]:
        command = " ".join(word for word in hook["entry"].split() if word != "--force-exclude")
        assert command.replace(".venv/bin", "$(BIN)") in lint
