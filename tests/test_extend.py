"""docs/extend.md: every example of the page, as it stands there."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heteroselect
from heteroselect.settings import own

pytestmark = pytest.mark.slow  # whole runs

PAGE = Path(__file__).parents[1] / "docs" / "extend.md"
SMALL = {"clients": 8, "selected": 4, "rounds": 3, "method.solver.steps": 5}


def blocks(name: str) -> list[str]:
    return re.findall(rf"<!-- {name} -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the page, in a file."""
    path = tmp_path_factory.mktemp("page") / "mine.py"
    path.write_text("\n\n".join(blocks(r"mine\.py")), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def usual() -> str:
    """The model of the paper's method itself."""
    return str(play().model_sha256)


def play(**changes: object) -> heteroselect.Result:
    return heteroselect.run("mnist", settings={**SMALL, **changes})


def lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])


def test_the_selector_takes_ten_lines_and_the_solver_twenty_five(mine: Path) -> None:
    text = mine.read_text(encoding="utf-8")
    assert lines(text.split("class Seldom:")[1].split("seldom = ")[0]) <= 10
    solver = re.search(r"@dataclass\(frozen=True\)\nclass SAM.*?(?=@dataclass|\nfrom )", text, re.S)
    assert solver is not None
    assert lines(solver[0]) <= 25


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("select", "Seldom"),
        ("score", "Restless"),
        ("lr", "Stairs"),
        ("local_steps", "SlowHalf"),
        ("error_feedback", "HalfLife"),
        ("compress", "Largest"),
        ("weigh", "ByRarity"),
        ("aggregate", "Clipped"),
        ("server_optimizer", "Patient"),
        ("downlink", "Halves"),
        ("model_average", "Pairs"),
    ],
)
def test_each_part_runs_in_heteroselect(mine: Path, usual: str, role: str, name: str) -> None:
    found = play(**{f"method.{role}.kind": f"{mine}:{name}"})
    assert found.model_sha256 != usual
    assert found.config.method[role]["kind"] == f"{mine}:{name}"


def test_the_selector_takes_everybody_in_turn_and_its_setting_counts(mine: Path) -> None:
    kind = {"method.select.kind": f"{mine}:Seldom", "selected": 2, "rounds": 4}
    taken = [client for line in play(**kind).rounds for client in line["selected"]]
    assert sorted(taken) == list(range(8))
    with pytest.raises(heteroselect.HeteroSelectError, match=r"method\.select\.weight: allowed is a number ≥ 0"):
        play(**kind, **{"method.select.weight": -1})


def test_the_allocator_follows_the_links(mine: Path) -> None:
    line = play(**{"method.allocate.kind": f"{mine}:ByLink"}).rounds[-1]
    assert np.argsort(line["densities"]).tolist() == np.argsort(line["bandwidth_mbps"]).tolist()
    assert np.mean(line["densities"]) == pytest.approx(0.1)


def test_the_solver_learns_and_its_second_pass_costs_time(mine: Path) -> None:
    usual = {"method.solver.steps": 20, "rounds": 6, "method.lr.start": 0.1}
    plain = heteroselect.run("mnist", method="fedavg", settings={**SMALL, **usual})
    found = heteroselect.run("mnist", method="fedavg", settings={**SMALL, **usual, "method.solver.kind": f"{mine}:SAM"})
    assert found.final_accuracy > 0.6
    assert 1.5 < found.rounds[0]["seconds"] / plain.rounds[0]["seconds"] < 2


def test_a_client_keeps_what_its_solver_settles(mine: Path, tmp_path: Path) -> None:
    """From the second round of a client on the share counts; a run that was interrupted continues to the same bits."""
    kind = {"method.solver.kind": f"{mine}:HeadStart", "selected": 8, "rounds": 2, "simulate.checkpoint_rounds": 1}
    one, two = (heteroselect.run("mnist", method="fedavg", settings={**SMALL, **kind, "rounds": n}) for n in (1, 2))
    none = {**SMALL, **kind, "method.solver.share": 0}
    first, second = (heteroselect.run("mnist", method="fedavg", settings={**none, "rounds": n}) for n in (1, 2))
    assert one.model_sha256 == first.model_sha256
    assert two.model_sha256 != second.model_sha256

    def stop(line: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(heteroselect.Interrupted):
        heteroselect.run("mnist", method="fedavg", settings={**SMALL, **kind}, out=tmp_path / "run", watch=stop)
    again = heteroselect.resume(tmp_path / "run", settings={"method.solver.kind": kind["method.solver.kind"]})
    assert again.model_sha256 == two.model_sha256


def test_the_codec_sends_a_byte_per_value(mine: Path) -> None:
    found = play(**{"method.compress.kind": f"{mine}:Largest", "method.allocate.kind": f"{mine}:ByLink"})
    coordinates = sum(sum(int(d * 7850) for d in line["densities"]) for line in found.rounds)
    assert found.bytes_up < 2.5 * coordinates


def test_the_server_does_not_wait(mine: Path) -> None:
    changes = {"method.async_mode.kind": f"{mine}:Hinge", "method.async_mode.size": 1, "method.async_mode.knee": 1}
    found = heteroselect.run("mnist", method="fedbuff", settings=SMALL | {"rounds": 12} | changes)
    counted = {weight for line in found.rounds for weight in line["weights"]}
    assert 1.0 in counted
    assert min(counted) <= 1 / 11
    with pytest.raises(heteroselect.HeteroSelectError, match=r"not score informativeness"):
        play(**changes)


def test_the_world_waits_for_the_night(mine: Path) -> None:
    found = heteroselect.run("mnist", world=own.part(f"{mine}:Nights", "world"), settings=SMALL)
    assert all(
        client % 2 == 0 or line["cumulative_seconds"] < 6 * 3600 for line in found.rounds for client in line["selected"]
    )


def test_worlds_from_files(tmp_path: Path) -> None:
    from heteroselect.world import DrawnWorld, Intervals, TracedLinks, read_intervals, read_link_trace

    (tmp_path / "links.csv").write_text("second,up_mbps\n0,1\n60,4\n120,2\n")
    there = "".join(f"{client},50,1000\n" for client in range(8))
    (tmp_path / "there.csv").write_text("client,start,end\n" + there)
    world = TracedLinks(DrawnWorld(), read_link_trace(tmp_path / "links.csv"))
    found = heteroselect.run("mnist", world=Intervals(world, read_intervals(tmp_path / "there.csv")), settings=SMALL)
    assert found.rounds[0]["seconds"] > 50, "nobody is there before second 50"


def test_data_with_owners_and_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(r"owners\.py")
    place: dict[str, object] = {}
    exec(compile(code, "owners.py", "exec"), place)
    assert float(capsys.readouterr().out) > 0.8
    (more,) = blocks(r"people\.py")
    exec(compile(more, "people.py", "exec"), place)
    assert all(float(number) > 0.6 for number in capsys.readouterr().out.split())
