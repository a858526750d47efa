"""One run, three clocks."""

import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.comparison.study import plan, read
from heteroselect.runs.folder import read_rounds, read_summary
from heteroselect.runs.reclock import decided, depends, reclock, rewrite

pytestmark = pytest.mark.slow  # whole runs

SMALL = {"clients": 8, "selected": 3, "rounds": 3, "method.solver.steps": 3, "target": 0.1}
CLOCKS = ("paper", "uplink", "everything")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """FedAvg under each clock: its decisions do not go by any."""
    folder = tmp_path_factory.mktemp("clocks")
    for charge in CLOCKS:
        settings = {**SMALL, "world.charge": charge}
        heteroselect.run("mnist", method="fedavg", settings=settings, out=folder / charge)
    return folder


@pytest.mark.parametrize("ran", CLOCKS)
@pytest.mark.parametrize("charge", CLOCKS)
def test_a_run_under_another_clock_has_the_seconds_of_a_run_that_was_charged_so(runs, ran, charge):
    found, there = reclock(runs / ran, charge), reclock(runs / charge, charge)
    assert found.total_seconds == there.total_seconds
    assert found.seconds_to_target == there.seconds_to_target
    assert (found.ran_with, found.depends) == (ran, ())


def test_under_its_own_clock_the_seconds_are_those_of_the_run(runs):
    for charge in CLOCKS:
        summary = heteroselect.resume(runs / charge).summary
        assert reclock(runs / charge, charge).total_seconds == pytest.approx(summary["total_seconds"], rel=1e-12)


def test_parts_that_go_by_the_clock_are_named():
    def of(method):
        return depends(heteroselect.load("mnist", method=method).method)

    assert of("oort") == ("select oort",)
    assert of("heteroselect") == ("allocate score",)
    assert of("fedcg") == ("select fedcg", "allocate fedcg")
    assert of("scaffold") == ()
    for horizon, found in ((None, ()), (500.0, ("lr cosine",))):
        changes = {"method.lr.kind": "cosine"} | ({} if horizon is None else {"method.lr.horizon": horizon})
        assert depends(heteroselect.load("mnist", method="fedavg", changes=changes).method) == found


def test_what_cannot_be_reclocked_is_said(runs, tmp_path):
    with pytest.raises(HeteroSelectError, match="no folder of a run that has ended"):
        reclock(tmp_path, "paper")
    with pytest.raises(HeteroSelectError, match="--charge: choose one of paper, uplink, everything"):
        reclock(runs / "paper", "nothing")


def test_the_command_shows_the_seconds(runs):
    done = CliRunner().invoke(app, ["reclock", str(runs / "paper"), "--charge", "everything", "--json"])
    assert done.exit_code == 0
    assert '"ran_with": "paper"' in done.output


def without_world(folder):
    """The rounds but for where the seconds went, which is not known by another clock."""
    return [{**line, "world": {}} for line in read_rounds(folder)]


@pytest.mark.parametrize("charge", CLOCKS)
def test_a_run_is_written_as_it_would_have_been_under_another_clock(runs, tmp_path, charge):
    rewrite(runs / "paper", tmp_path / "new", charge)
    assert read_rounds(tmp_path / "new") == without_world(runs / charge)
    assert (tmp_path / "new" / "config.toml").read_bytes() == (runs / charge / "config.toml").read_bytes()
    assert (tmp_path / "new" / "model.safetensors").read_bytes() == (runs / charge / "model.safetensors").read_bytes()
    mine, theirs = (
        {**read_summary(path), "wall_seconds": 0, "rounds_sha256": ""} for path in (tmp_path / "new", runs / charge)
    )
    assert mine == theirs
    with pytest.raises(HeteroSelectError, match="already holds a run"):
        rewrite(runs / "uplink", tmp_path / "new", charge)


@pytest.mark.parametrize(
    ("method", "changes", "what"),
    [
        ("oort", {}, "select oort"),
        ("fedavg", {"world.deadline": 30.0}, "world.faults"),
        ("fedavg", {"world.faults.late": 0.1}, "world.faults"),
    ],
)
def test_a_run_that_depends_on_the_clock_is_not_written_anew(tmp_path, method, changes, what):
    settings = {**SMALL, "rounds": 1, **changes}
    assert decided(heteroselect.load("mnist", method=method, changes=settings)) == (what,)
    heteroselect.run("mnist", method=method, settings=settings, out=tmp_path / "run")
    with pytest.raises(HeteroSelectError, match=what):
        rewrite(tmp_path / "run", tmp_path / "new", "everything")
    assert not (tmp_path / "new").exists()


def test_the_command_writes_those_that_it_can(runs, tmp_path):
    words = ["reclock", str(runs / "paper"), "--charge", "everything", "--out", str(tmp_path / "new")]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert read_rounds(tmp_path / "new" / runs.name / "paper") == without_world(runs / "everything")


def test_a_study_takes_over_what_was_run_under_another_clock(runs, tmp_path):
    study = tmp_path / "mine.toml"
    lines = [f'"{key}" = {value}' for key, value in SMALL.items()]
    study.write_text("\n".join(['charge = "uplink"', "[settings]", *lines, "[[row]]", 'method = "fedavg"']))
    out = tmp_path / "runs" / "mine"
    (cell,) = plan(read(study), out, also=[runs / "paper"]).cells
    assert (cell.like, cell.path, cell.done) == (runs / "paper", out / "fedavg" / "seed-42", False)
    assert "world.charge" not in cell.row.changes
    found = CliRunner().invoke(app, ["study", str(study), "--out", str(out), "--also", str(runs / "paper")])
    assert found.exit_code == 0, found.output
    assert read_rounds(cell.path) == without_world(runs / "uplink")
    assert (
        (out / "mine.md")
        .read_text()
        .splitlines()[0]
        .endswith("The clock (uplink) counts the real payloads up, and nothing else.")
    )
    (same,) = plan(read(study), out, also=[runs / "uplink"]).cells
    assert (same.like, same.path) == (None, runs / "uplink")
