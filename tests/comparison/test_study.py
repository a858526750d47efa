"""Studies: files that stand for grids of runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from commands import call
from heteroselect import HeteroSelectError
from heteroselect.comparison.result import refuse_to_lose
from heteroselect.comparison.study import estimate, plan, read

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # they train, draw or start processes

ROOT = Path(__file__).resolve().parents[2]
SMALL = """
preset = "mnist"
seeds = [1, 2]

[settings]
clients = 8
selected = 3
rounds = 2
method.solver.steps = 2
target = 0.1

[[row]]
method = "fedavg"

[[row]]
name = "no score"
method = "heteroselect"
seeds = [1]
settings = { "method.select.kind" = "uniform", "method.weigh.kind" = "uniform" }
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_rows_have_their_own_seeds_and_settings_and_the_clock_of_the_study(small: Path) -> None:
    cells = plan(read(small), Path("out")).cells
    assert [(cell.method, cell.seed) for cell in cells] == [("fedavg", 1), ("no score", 1), ("fedavg", 2)]
    assert cells[1].config.method["select"]["kind"] == "uniform"
    assert cells[1].config.method["allocate"]["kind"] == "score"
    assert cells[0].path == Path("out/fedavg/seed-1")
    assert {cell.config.world.charge for cell in cells} == {"everything"}
    small.write_text(f'charge = "paper"\n{SMALL}')
    assert {cell.config.world.charge for cell in plan(read(small), Path("out")).cells} == {"paper"}


def test_it_runs_what_is_missing_and_nothing_twice(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = call("study", small, "--out", out, "--dry-run")
    assert "3 of 3 runs are left." in before.output
    first = call("study", small, "--out", out, "--only", "fedavg", "--quiet")
    assert first.exit_code == 0, first.output
    between = call("study", small, "--out", out, "--dry-run")
    assert "no score, seed 1: 2 rounds" in between.output
    assert "1 of 3 runs are left, about 0 minutes" in between.output
    made = {path: path.stat().st_mtime_ns for path in out.rglob("summary.json")}
    assert call("study", small, "--out", out, "--quiet").exit_code == 0
    assert all(path.stat().st_mtime_ns == when for path, when in made.items())
    table = json.loads((out / "small.json").read_text())["table"]
    assert [row["method"] for row in table] == ["fedavg", "no score"]
    results, far = tmp_path / "results.json", tmp_path / "far" / "out"
    assert call("study", small, "--out", out, "--quiet", "--results", results).exit_code == 0
    recorded = f"3 of 3 runs are left (the figures of 3 of them are in {results})."
    assert recorded in call("study", small, "--out", far, "--dry-run").output
    for other in ("rounds = 3", "rounds = 2\ndata.validation_fraction = 0.1"):
        small.write_text(SMALL.replace("rounds = 2", other))
        assert "3 of 3 runs are left." in call("study", small, "--out", far, "--dry-run").output, "of other settings"
    small.write_text(f'charge = "paper"\n{SMALL}')
    assert "3 of 3 runs are left." in call("study", small, "--out", far, "--dry-run").output, "of another clock"
    results.write_text("[]")
    assert "3 of 3 runs are left." in call("study", small, "--out", far, "--dry-run").output, "no file of results"
    small.write_text(SMALL)
    assert "\n\\begin{tabular}" in (out / "small.tex").read_text()
    assert {"small.md", "small.csv", "report.html"} <= {path.name for path in out.iterdir()}


def test_equal_runs_of_other_studies_are_taken(small: Path, tmp_path: Path) -> None:
    assert call("study", small, "--out", tmp_path / "one", "--only", "fedavg", "--quiet").exit_code == 0
    beside = plan(read(small), tmp_path / "two")
    elsewhere = plan(read(small), tmp_path / "far" / "two")
    planned = plan(read(small), tmp_path / "far" / "two", also=[tmp_path / "one"])
    assert [[cell.done for cell in one.cells] for one in (beside, elsewhere)] == [[True, False, True], [False] * 3]
    left, seconds = estimate(planned.cells)
    assert ([cell.method for cell in left], seconds is None) == (["no score"], False)
    other = replace(left[0], row=replace(left[0].row, source="cifar10"))
    assert estimate([*planned.cells, other])[1] is None, "the pace of one preset says nothing of another"
    assert planned.cells[0].path == tmp_path / "one" / "fedavg" / "seed-1"
    again = call("study", small, "--out", tmp_path / "two", "--only", "fedavg", "--quiet")
    assert (again.exit_code, (tmp_path / "two" / "small.md").is_file()) == (0, True), again.output


def test_the_tables_of_another_study_are_not_overwritten(small: Path, tmp_path: Path) -> None:
    out, words = tmp_path / "out", ("--only", "fedavg", "--quiet")
    assert call("study", small, "--out", out, *words).exit_code == 0
    before = {path: path.read_bytes() for path in out.glob("small.*")}
    (tmp_path / "else").mkdir()
    other = tmp_path / "else" / "small.toml"
    other.write_text(SMALL.replace('"fedavg"', '"fedprox"'))
    refused = call("study", other, "--out", out, "--only", "fedprox", "--quiet")
    assert "small.md has the rows fedavg with the seeds 1, 2, some of" in str(refused.exception)
    assert {path: path.read_bytes() for path in out.glob("small.*")} == before
    assert not (out / "fedprox").exists()
    more = SMALL.replace("seeds = [1, 2]", "seeds = [1]") + '\n[[row]]\nmethod = "fedprox"\n'
    other.write_text(more)
    assert call("study", other, "--out", out, *words).exit_code == 0, "one that has its rows and more may"
    (out / "small.md").write_text("my own notes")
    assert call("study", small, "--out", out, *words).exit_code != 0
    assert (out / "small.md").read_text() == "my own notes"
    (tmp_path / "report-mnist-1.html").write_text("somebody's page")
    with pytest.raises(HeteroSelectError, match=r"report-mnist-1\.html exists and is no report"):
        refuse_to_lose(tmp_path, "small", "study", ["fedavg"])


ROW = '[[row]]\nmethod = "fedavg"\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("preset = ", "not valid TOML"),
        ('preset = "mnist"', r"row: it is missing; allowed is a list, of which each is a table with method, name"),
        (f'colour = "red"\n{ROW}', r"colour: there is no 'colour' in the top level; allowed are row, title, preset"),
        (f'charge = "free"\n{ROW}', r"charge: allowed is paper, uplink or everything, not 'free'\.$"),
        (f'seeds = [1, "two"]\n{ROW}', r"seeds 2: allowed is a whole number, not 'two'\.$"),
        (
            f'{ROW}[[claim]]\ntext = "t"\nbetter = "a"\nthan = "b"\nfigure = "speed"',
            r"claim 1.figure: allowed is peak_acc",
        ),
        ('[[row]]\nmethod = "fedavg"\n[[row]]\nmethod = "fedavg"', "a name of its own"),
        (f'{ROW}colour = "red"', r"row 1.colour: there is no 'colour' in row 1; allowed are method, name, preset"),
        ('[[row]]\nmethod = "nonsense"', "row nonsense: method: there is no method"),
    ],
)
def test_a_study_that_cannot_be_understood_is_refused_before_the_first_run(tmp_path, text, sentence) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(HeteroSelectError, match=sentence):
        plan(read(path), tmp_path)


def test_the_control_of_table_1_keeps_the_schedule_and_the_ceiling_of_the_paper() -> None:
    planned = plan(read(ROOT / "studies" / "table1.toml"), Path("out"))
    cells = {cell.method: cell.config for cell in planned.cells}
    control, whole = cells["control without the score"].method, cells["heteroselect"].method
    assert {role for role in control if control[role] != whole[role]} == {"score", "select", "allocate", "weigh"}
    assert {**control["allocate"], "kind": "score"} == whole["allocate"]
    assert cells["heteroselect-as-run"].paper[0].rounds_to_target == 83, "the figures of the row, not of the preset"


def test_rows_of_several_targets_have_a_page_each(small: Path, tmp_path: Path) -> None:
    """Data sets too: a page shows one experiment."""
    apart = SMALL.replace("seeds = [1, 2]", "seeds = [1]")
    small.write_text(apart.replace('method = "fedavg"', 'method = "fedavg"\nsettings = { target = 0.2 }'))
    out = tmp_path / "out"
    found = call("study", small, "--out", out, "--quiet")
    assert found.exit_code == 0, found.output
    assert sorted(path.name for path in out.glob("report*.html")) == ["report-mnist-1.html", "report-mnist-2.html"]
    assert "fedavg" in (out / "small.md").read_text()
    assert "no score" in (out / "small.md").read_text()
