"""One run, three clocks."""

import pytest
from typer.testing import CliRunner

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.cli import app
from heteroselect.runs.reclock import depends, reclock

pytestmark = pytest.mark.slow  # whole runs

SMALL = {"clients": 8, "selected": 3, "rounds": 3, "method.train.steps": 3, "target": 0.1}
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


def test_what_cannot_be_reclocked_is_said(runs, tmp_path):
    with pytest.raises(HeteroSelectError, match="no folder of a run that has ended"):
        reclock(tmp_path, "paper")
    with pytest.raises(HeteroSelectError, match="--charge: allowed are paper, uplink, everything"):
        reclock(runs / "paper", "nothing")


def test_the_command_shows_the_seconds(runs):
    done = CliRunner().invoke(app, ["reclock", str(runs / "paper"), "--charge", "everything", "--json"])
    assert done.exit_code == 0
    assert '"ran_with": "paper"' in done.output
