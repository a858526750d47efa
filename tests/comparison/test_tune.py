"""Equal tuning: ranges declared with the parts, the same rule for all, and not a look at the test part."""

import json
import tomllib
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from commands import call, sets
from heteroselect import HeteroSelectError, Method, methods
from heteroselect.comparison import trials
from heteroselect.comparison import tune as tuning
from heteroselect.core.part import declared, setting
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import Everybody
from heteroselect.runs.folder import read_summary
from scripts import script

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_pictures")]  # they train, draw or start processes


RANGES = {
    (role, kind, name): one
    for role, kinds in KINDS.items()
    for kind, made in kinds.items()
    for name, one in declared(made).items()
    if one.tune is not None
}


@pytest.mark.parametrize("key", RANGES, ids=".".join)
def test_every_range_lies_within_what_is_allowed(key) -> None:
    one = RANGES[key]
    assert one.tune.low < one.tune.high
    for share in (0.0, 0.5, 1.0):
        value = one.tune.at(share)
        one.checked(round(value) if one.type is int else value)
    if one.tune.scale == "log":
        assert one.tune.at(0.5) == pytest.approx(np.sqrt(one.tune.low * one.tune.high), rel=5e-3)


def keys(name: str) -> set[str]:
    return {knob.key.removeprefix("method.") for knob in trials.knobs(methods.get(name))}


def test_what_a_method_has_switched_off_stays_off() -> None:
    assert keys("fedavg") == {"lr.start", "server_optimizer.rate"}, "no pull to the global model"
    assert keys("fedprox") == {"lr.start", "server_optimizer.rate", "solver.proximal"}
    assert keys("drive") == {"lr.start", "server_optimizer.rate"}, "everything is sent: a density of 1"
    assert keys("power-of-choice") == {"lr.start", "server_optimizer.rate", "score.candidates"}
    assert "score.candidates" not in keys("heteroselect"), "it asks everybody"
    fixed = trials.knobs(methods.get("fedavg"), {"method.lr.start": 0.1})
    assert [knob.key for knob in fixed] == ["method.server_optimizer.rate"], "what the user sets is not tuned"


NOTHING_OF_THEIR_OWN = {
    "fedavg",
    "fedavg-device-steps",
    "optimal-client-sampling",  # the probabilities are the optimal ones
    "clustered-sampling",
    "divfl",
    "terngrad",
    "signsgd-majority",  # the server's rate is its step
    "drive",
    "scaffold",
    "fednova",
}


def test_a_method_is_tuned_in_what_makes_it_what_it_is() -> None:
    own = {name: keys(name) - {"lr.start", "server_optimizer.rate"} for name in methods.REGISTRY}
    assert {name for name, found in own.items() if not found} == NOTHING_OF_THEIR_OWN
    assert own["rbcs-f"] == {"select.speed"}
    assert own["fedluar"] == {"compress.recycled"}
    assert own["opwa"] == {"allocate.average", "aggregate.least"}
    assert own["delta"] == {"select.floor"}, "nobody reports a variance, so that its weight changes nothing"
    told = replace(methods.get("delta"), select=replace(methods.get("delta").select, variance=True))
    assert "method.select.noise" in {knob.key for knob in trials.knobs(told)}


@pytest.mark.parametrize("name", methods.REGISTRY)
def test_every_method_can_be_tuned_and_its_points_are_in_the_ranges(name) -> None:
    found = trials.knobs(methods.get(name))
    assert {"method.lr.start"} <= {knob.key for knob in found}
    for settings in islice(trials.points(found), 8):
        for knob in found:
            assert knob.range.low <= settings[knob.key] <= knob.range.high
            assert isinstance(settings[knob.key], int) is knob.whole
            assert all(settings[other] == settings[knob.key] for other in knob.also)


def test_points_fill_the_range_evenly_and_are_the_same_every_time() -> None:
    found = trials.knobs(methods.get("fedavg"))
    first, again = (list(islice(trials.points(found), 8)) for _ in range(2))
    assert first == again
    places = sorted(np.log(point["method.lr.start"] / 0.005) / np.log(100) for point in first)
    assert [int(8 * place) for place in places] == list(range(8)), "one in each eighth: a Halton sequence of base 2"


def lines(accuracies: list[float | None], bytes_up: int = 10, seconds: float = 2.0) -> list[dict]:
    return [{"accuracy": one, "bytes_up": bytes_up, "seconds": seconds} for one in accuracies]


@pytest.mark.parametrize(
    ("by", "budgets", "expected"),
    [
        ("final", None, (np.mean([0.75, 0.6]),)),  # the last quarter of six is one
        ("at-bytes", [25, 9], (np.mean([0.2, 0.0]),)),  # the last of two rounds, and none
        ("at-seconds", [6, 2], (np.mean([0.3, 0.6]),)),
        ("time-to-target", None, (1.0, -np.mean([10, 2]), np.mean([0.75, 0.6]))),
    ],
)
def test_scores_by_hand(by, budgets, expected) -> None:
    runs = [lines([0.1, 0.2, 0.3, 0.4, 0.6, 0.75]), lines([0.6])]
    found = trials.score(by, runs, target=0.5, budgets=budgets)
    assert found == pytest.approx(expected)


def test_a_target_that_more_seeds_reach_is_better_than_one_that_is_reached_sooner() -> None:
    both = trials.score("time-to-target", [lines([0.1, 0.6]), lines([0.1, 0.6])], target=0.5)
    one = trials.score("time-to-target", [lines([0.6, 0.6]), lines([0.1, 0.4])], target=0.5)
    none = trials.score("time-to-target", [lines([0.1]), lines([0.1])], target=0.5)
    assert both > one > none > trials.FAILED
    assert one[1] == -(2 + 4) / 2, "the seed that is not there counts to the end of its run"
    assert none[1] == -np.inf


def test_the_best_third_goes_on_and_the_default_always() -> None:
    scores = [(0.1,), (0.5,), (0.9,), (0.5,), trials.FAILED, (0.2,)]
    assert trials.survivors(scores) == [0, 1, 2], "of equals the first"
    assert trials.survivors([(0.1,), trials.FAILED, trials.FAILED, trials.FAILED]) == [0]
    assert trials.best({0: (0.5,), 3: (0.5,), 4: (0.4,)}) == 0, "nothing is changed for nothing"
    assert (trials.rung(100), trials.rung(2), trials.rung(5)) == (25, 1, 2)


def test_the_study_tunes_by_what_its_comparison_ranks_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script("studies/compare_methods.py")  # whose methods and seeds it takes
    study, played = script("studies/tune_methods.py"), []
    monkeypatch.setattr(study, "play", lambda *words: played.append(words))
    monkeypatch.setattr(study.shutil, "copy", lambda *_: None)
    study.main(tmp_path / "tuned", tmp_path / "compared", tmp_path / "kept")
    tune, compare = played
    assert tune[tune.index("--by") + 1] == "final"
    assert tune[tune.index("--methods") + 1] == compare[compare.index("--methods") + 1]


def data(path: Path, *, garbage: bool = False) -> Path:
    """Three classes of points, with a test part whose labels are right or nonsense."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    x = (rng.normal(size=(300, 5)) + np.eye(3, 5)[y]).astype(np.float32)
    told = rng.permutation(y[240:]) if garbage else y[240:]
    np.savez(path, x=x[:240], y=y[:240], x_test=x[240:], y_test=told)
    return path


SMALL = {"clients": 6, "selected": 3, "method.solver.steps": 2, "target": 0.5, "evaluate_every": 1}


def words(file: Path, out: Path, *more: object) -> list[object]:
    small = ["--methods", "fedavg,fedprox", "--trials", 3, "--seeds", "101,102", "--rounds", 2, "--threads", 1]
    return ["tune", "mnist", *small, *sets({**SMALL, "data.name": file}), "--out", out, *more]


def found_in(out: Path) -> dict[str, str]:
    """The settings that were found; the comment above them names the data."""
    return {path.stem: path.read_text().split("\n", 1)[1] for path in sorted(out.glob("*.toml"))}


@pytest.fixture(scope="module")
def tuned(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tuned")
    found = call(*words(data(folder / "points.npz"), folder / "out", "--quiet"))
    assert found.exit_code == 0, found.output
    return folder / "out"


def test_every_method_has_the_same_trials_and_a_file(tuned: Path) -> None:
    content = json.loads((tuned / "tune.json").read_text())
    assert content["seeds"] == [101, 102]
    for name, one in content["methods"].items():
        assert len(one["trials"]) == 3
        assert one["trials"][0]["settings"] == {}
        assert one["best"] in (0, max(range(3), key=lambda n: (one["trials"][n]["score"] or [0])[0]))
        file = tomllib.loads((tuned / f"{name}.toml").read_text())
        best = one["trials"][one["best"]]["settings"]
        assert {f"method.{r}.{k}": v for r, table in file.get("method", {}).items() for k, v in table.items()} == best
        ended = [read_summary(path)["status"] for path in sorted((tuned / "trials" / name).glob("*/*"))]
        assert ended.count("interrupted") in (2, 4), "one trial or two were stopped, with both seeds"
        assert read_summary(tuned / "trials" / name / "trial-00" / "seed-101")["evaluated_on"] == "validation"
    page = (tuned / "tune.html").read_text()
    for text in (
        "Tuned by accuracy at the bytes that clients send",
        "fedprox leaves out work",
        "The clock (everything)",
    ):
        assert text in page
    assert "<script" not in page


def test_the_test_part_is_never_read_and_the_same_command_gives_the_same_files(tuned: Path, tmp_path: Path) -> None:
    found = call(*words(data(tmp_path / "points.npz", garbage=True), tmp_path / "out", "--quiet"))
    assert found.exit_code == 0, found.output
    assert found_in(tmp_path / "out") == found_in(tuned)


def test_tuning_that_was_broken_off_goes_on(tuned: Path) -> None:
    before, victim = found_in(tuned), tuned / "trials" / "fedprox" / "trial-00" / "seed-102"
    stamps = {path: path.stat().st_mtime_ns for path in tuned.rglob("rounds.jsonl")}
    (victim / "summary.json").unlink()  # as if it had been killed
    (victim / "rounds.jsonl").write_text((victim / "rounds.jsonl").read_text().splitlines(keepends=True)[0])
    (tuned / "fedprox.toml").unlink()
    found = call(*words(tuned.parent / "points.npz", tuned))
    assert found.exit_code == 0, found.output
    assert found_in(tuned) == before
    changed = [path for path, stamp in stamps.items() if path.stat().st_mtime_ns != stamp]
    assert changed == [victim / "rounds.jsonl"]


@pytest.mark.slow
def test_a_comparison_takes_what_was_found_and_no_seed_of_it(tuned: Path, tmp_path: Path) -> None:
    changes = sets({**SMALL, "data.name": tuned.parent / "points.npz"})
    compare = ["compare", "mnist", "--methods", "fedavg,fedprox", "--rounds", 1, *changes, "--tuned", tuned]
    (tuned / "fedprox.toml").write_text("[method.solver]\nproximal = 0.25\n")
    found = call(*compare, "--seeds", "7", "--out", tmp_path / "out", "--quiet")
    assert found.exit_code == 0, found.output
    config = tomllib.loads((tmp_path / "out" / "fedprox" / "seed-7" / "config.toml").read_text())
    assert config["method"]["solver"]["proximal"] == 0.25
    assert config["data"]["evaluate"] == "test"
    assert f"--tuned {tuned}" in json.loads((tmp_path / "out" / "compare.json").read_text())["command"]
    both = call(*compare, "--seeds", "7,102", "--out", tmp_path / "x")
    assert "102 was used for tuning" in str(both.exception)
    other = call(*compare, "--seeds", "7", "--methods", "oort", "--out", tmp_path / "x")
    assert "oort was not tuned" in str(other.exception)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--seeds", "42,101"], "42 is a seed of the comparison"),
        (["--compare-seeds", "9,101"], "101 is a seed of the comparison"),
        (["--trials", 1], "--trials: give 2 or more"),
        (["--by", "luck"], "--by: there is no 'luck'; choose at-bytes"),
        (["--methods", "fedavg,fedavg"], "each once"),
        (["--methods", "magic"], "there is no method 'magic'"),
        (["--set", "data.evaluate=test"], "leave it at validation while tuning"),
        (["--set", "method.lr.start=0.1", "--set", "method.server_optimizer.rate=1"], "fedavg has no setting with"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_run(tmp_path: Path, more: list, sentence: str) -> None:
    found = call(*words(data(tmp_path / "points.npz"), tmp_path / "out", *more))
    assert isinstance(found.exception, HeteroSelectError)
    assert sentence in str(found.exception)
    assert not (tmp_path / "out").exists()


def test_a_setting_that_breaks_a_run_is_a_bad_one(tmp_path: Path) -> None:
    """It is stopped and counts as failed; the others are played all the same."""
    file = data(tmp_path / "points.npz")
    changes = {"clients": 6, "selected": 3, "rounds": 2, "data.name": str(file)}
    (contest,) = tuning.plan("mnist", ["fedavg"], 4, [101], changes, tmp_path / "out")

    def player(cell, until):
        number = int(cell.path.parent.name[-1])
        return [] if number == 1 else lines([0.1 * number] * until)

    found = tuning.contend(contest, "final", [], player)
    assert found.early[1] == trials.FAILED
    assert sorted(found.late) == [0, 2, 3]
    assert found.best == 3
    assert tuning.line(found, "final")[:3] == ["fedavg", "0.00%", "30.00%"]


def test_a_point_that_a_method_refuses_is_passed_over(tmp_path: Path) -> None:
    """Power-of-choice has to ask at least as many as are selected; its range begins below that."""
    changes = {"selected": 30, "rounds": 2}
    with pytest.raises(HeteroSelectError, match=r"candidates: allowed is at least selected"):
        tuning.plan("mnist", ["power-of-choice"], 4, [101], changes, tmp_path)
    (contest,) = tuning.plan("mnist", ["power-of-choice"], 4, [101], {"selected": 20}, tmp_path)
    asked = [trial.settings.get("method.score.candidates", 20) for trial in contest.trials]
    assert min(asked) >= 20
    assert len(set(asked)) == 4


def test_a_part_of_ones_own_may_declare_a_range_too() -> None:
    @dataclass(frozen=True)
    class Mine(Everybody):
        care: float = setting(0.5, "how careful", tune=(0.1, 0.9, "linear"))

    found = trials.knobs(Method("mine", select=Mine()))
    assert "method.select.care" in {knob.key for knob in found}


def test_a_folder_of_strangers_is_read_with_care(tmp_path: Path) -> None:
    (tmp_path / "tune.json").write_text("[" * 100_000)
    with pytest.raises(HeteroSelectError, match=r"holds no tune\.json .*nested too deeply"):
        tuning.read(tmp_path, ["fedavg"], [1])
    (tmp_path / "tune.json").write_text('{"seeds": [2]}')
    (tmp_path / "fedavg.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(HeteroSelectError, match=r"fedavg\.toml is not valid TOML \(it is nested too deeply\)"):
        tuning.read(tmp_path, ["fedavg"], [1])
