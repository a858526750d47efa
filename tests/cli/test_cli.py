"""The command line: what is printed where, the exit codes, and that wrong input costs nothing."""

import json
import signal
import subprocess
import sys
import time

import pytest

import heteroselect
from heteroselect.runs.folder import CONFIG, FINGERPRINT, MODEL, ROUNDS, SUMMARY
from heteroselect.version import __version__
from run_folders import PowerError, stop

pytestmark = pytest.mark.slow  # they train, draw or start processes


def test_a_run_prints_a_table_without_the_figures_of_another_data_set(call, here, quick):
    code, out, err = call(*quick())
    assert code == 0
    assert "91.94%" not in out
    assert "118.3" not in out
    assert "rounds to target" in out
    assert "round 3/3" in err
    assert call(*quick("--quiet")) == (0, "", "")
    assert sorted(path.name for path in (here / "runs").iterdir()) == [f"000{i}-points-heteroselect" for i in (1, 2)]
    names = {CONFIG, ROUNDS, SUMMARY, MODEL, FINGERPRINT}
    assert all({p.name for p in run.iterdir()} == names for run in (here / "runs").iterdir())


def test_a_short_run_stands_beside_what_the_paper_took_to_a_target_that_it_reached(call, here):
    words = ("run", "mnist", "--set", "method.solver.steps=1", "--threads", 1, "--rounds", 1, "--out", "mine")
    out = call(*words, "--set", "target=0.01")[1]
    assert "118.3" in out
    assert "91.94%" not in out, "which is the best of a hundred rounds"
    assert "118.3" in call("show", "mine")[1]


def test_the_written_config_gives_the_same_run_again(call, here, quick):
    first = json.loads(call(*quick("--json", "--out", "a", "--seed", 5))[1])
    assert first == json.loads((here / "a" / SUMMARY).read_text())
    again = json.loads(call("run", here / "a" / CONFIG, "--json", "--out", "b", "--threads", 2)[1])
    assert first["model_sha256"] == again["model_sha256"]
    assert (here / "a" / ROUNDS).read_text() == (here / "b" / ROUNDS).read_text()
    assert (here / "a" / CONFIG).read_text() == (here / "b" / CONFIG).read_text()


def test_show_prints_the_run_and_draws_it(call, here, quick):
    call(*quick("--quiet", "--out", "mine"))
    code, out, _ = call("show", "mine", "--figure", "picture.svg")
    assert code == 0
    assert "peak accuracy" in out
    assert "91.94%" not in out, "which is of another data set"
    assert "accuracy " in out
    assert "<svg" in (here / "picture.svg").read_text()
    assert json.loads(call("show", "mine", "--json")[1])["dataset"] == "points.npz"


def test_report_makes_a_page_and_figures_and_makes_them_again(call, here, quick):
    call(*quick("--quiet", "--out", "runs/a"))
    for _ in range(2):
        code, out, err = call("report", "runs", "--out", "pages/report.html", "--figures", "figures")
        assert (code, out) == (0, "")
        assert "pages/report.html" in err
    assert "heteroselect report runs --out pages/report.html" in (here / "pages" / "report.html").read_text()
    assert {path.suffix for path in (here / "figures").iterdir()} == {".pdf", ".png", ".svg"}


def test_version_presets_and_a_data_set_that_needs_no_download(call):
    assert call("--version")[1].strip() == f"heteroselect {__version__}"
    presets = call("presets")[1]
    assert all(f" {name} " in f" {presets}" for name in ("mnist", "cifar10", "cifar100", "tinyimagenet", "audiomnist"))
    code, out, _ = call("data", "mnist")
    assert (code, out.startswith("mnist is installed: ")) == (0, True)


def test_replay_says_agrees_or_deviates(call, shared, here):
    log = shared / "reference" / "mnist_psi0p4_mu0p1_seed42_adaptive.json"
    code, out, _ = call("paper", "replay", log)
    assert (code, "agrees" in out) == (0, True)
    bent = json.loads(log.read_text())
    bent["rounds"][6]["sim_time_s"] += 1
    (here / "bent.json").write_text(json.dumps(bent))
    code, out, _ = call("paper", "replay", log, "bent.json")
    assert code == 1
    assert "deviates" in out
    assert "round 7" in out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "nope"), "preset"),
        (("run", "--method", "nope"), "method"),
        (("run", "--set", "nope=1"), "nope"),
        (("run", "--set", "method.lr.start=fast"), "method.lr.start: allowed is a number > 0"),
        (("run", "--set", "method.select.kind=none.py:Seldom"), "none.py is not there"),
        (("run", *["--set", "method.compress.kind=qsgd", "--set", "method.error_feedback.kind=error"]), "none only"),
        (("run", "--set", "data.dirichlet_alpha=0.1"), "no effect while data.partition is dominant"),
        (("run", "--set", "model.dropout=0.1"), "no effect while model.name is logistic"),
        (("run", "--out", "."), "name a new or an empty folder"),
        (("run", "--rounds", "0"), "rounds"),
        (("run", "--threads", "0"), "--threads"),
        (("run", "--device", "abacus"), "--device"),
        (("run", "cifar10", "--data-dir", "empty"), "cifar10"),
        (("run", "--set", "data.name=imagenet"), "data.name"),
        (("run", "--set", "data.name=none.npz"), "none.npz"),
        (("run", "--set", "data.name=torn.npz"), "torn.npz"),
        (("show", "."), "no run folder"),
        (("show", "absent"), "absent"),
        (("report", "."), "neither is a run folder"),
        (("report", "absent"), "absent"),
        (("paper", "replay", "absent.json"), "absent.json"),
        (("paper", "replay", "points.npz"), "points.npz"),
        (("data", "imagenet"), "imagenet"),
        (("methods", "nope"), "nope"),
        (("methods", "none.py:MINE"), "none.py is not there"),
        (("settings", "nope"), "method.calibrate"),
        (("compare", "mnist", "--methods", "nope"), "nope"),
        (("compare", "mnist", "--methods", "fedavg", "--seeds", "one"), "--seeds"),
        (("resume", "."), "no run folder"),
    ],
)
def test_wrong_input_is_one_sentence_and_code_two(call, here, arguments, named):
    (here / "torn.npz").write_bytes((here / "points.npz").read_bytes()[:500])
    before = sorted(here.rglob("*"))
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert named in err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(here.rglob("*")) == before


def test_a_taken_folder_is_refused_before_anything_is_read(call, here, quick):
    call(*quick("--quiet", "--out", "mine"))
    before = {path: path.read_bytes() for path in (here / "mine").iterdir()}
    code, _, err = call("run", "cifar10", "--out", "mine")
    assert code == 2
    assert "already holds a run" in err
    assert {path: path.read_bytes() for path in (here / "mine").iterdir()} == before


STUDY = """preset = "mnist"
seeds = [1]

[[row]]
method = "fedavg"
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("compare", ("compare", "mnist", "--methods", "fedavg")),
        ("cross", ("compare", "mnist", "--cross", "selected=5,10", "--cross", "clients=20,50")),
        ("mine", ("study", "mine.toml")),
    ],
    ids=["compare", "cross", "study"],
)
def test_tables_that_are_too_large_to_be_read_are_not_overwritten(call, here, monkeypatch, name, words):
    """Nobody can tell whether they are of the same runs, so that they are not taken for none."""
    monkeypatch.setattr("heteroselect.files.SMALL", 5000)
    (here / "mine.toml").write_text(STUDY)
    (here / "out").mkdir()
    (here / "out" / f"{name}.md").write_text(f"Made by `heteroselect {words[0]} …`")
    (here / "out" / f"{name}.json").write_text('{"runs": []}'.ljust(6000))
    before = {path: path.read_bytes() for path in (here / "out").iterdir()}
    code, out, err = call(*words, "--out", "out")
    assert (code, out) == (2, "")
    assert err == (
        f"heteroselect: --out: out/{name}.json cannot be read (it has 6,000 bytes, and 5,000 are read at most), and "
        "what it holds would be lost; name a new folder.\n"
    )
    assert {path: path.read_bytes() for path in (here / "out").iterdir()} == before


def test_a_damaged_run_folder_and_a_damaged_line_are_named(call, here, quick):
    call(*quick("--quiet", "--out", "mine"))
    log = here / "mine" / "rounds.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    for number, broken in ((2, [lines[0], "{\n"]), (1, lines[1:])):
        log.write_text("".join(broken))
        for command in ("show", "resume"):
            code, _, err = call(command, "mine")
            assert (code, f"line {number} of" in err, "Traceback" in err) == (2, True, False)
    (here / "mine" / SUMMARY).write_text("{")
    code, _, err = call("show", "mine")
    assert (code, "damaged" in err) == (2, True)
    (here / "mine" / SUMMARY).unlink()
    assert "has not finished" in call("show", "mine")[2]


def test_an_interrupted_run_is_shown_as_one(call, here, quick):
    call(*quick("--quiet", "--out", "mine"))
    summary = json.loads((here / "mine" / SUMMARY).read_text())
    assert "interrupted" not in call("show", "mine")[1]
    (here / "mine" / SUMMARY).write_text(json.dumps({**summary, "status": "interrupted"}))
    shown = call("show", "mine")[1]
    assert "(interrupted)" in shown
    assert "rounds in all" in shown


def test_ctrl_c_leaves_a_valid_folder(here):
    process = subprocess.Popen(
        [sys.executable, "-m", "heteroselect", "run", "mnist", "--out", "cut", "--threads", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell lets its background jobs ignore Ctrl-C, and they would hand that down
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    rounds = here / "cut" / ROUNDS
    give_up = time.monotonic() + 300
    while time.monotonic() < give_up and not (rounds.is_file() and rounds.read_text().count("\n") >= 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert b"interrupted after round" in err
    lines = [json.loads(line) for line in rounds.read_text().splitlines()]
    summary = json.loads((here / "cut" / SUMMARY).read_text())
    assert summary["status"] == "interrupted"
    assert summary["rounds_run"] == len(lines) < 100
    assert summary["final_accuracy"] == lines[-1]["accuracy"]
    assert (here / "cut" / MODEL).is_file()


def test_resume_gives_a_run_more_rounds_and_says_what_that_does(call, here, quick):
    settings = {"data.name": "points.npz", "clients": 12, "selected": 4, "rounds": 4, "method.solver.steps": 2}
    settings["simulate.checkpoint_rounds"] = 1
    with pytest.raises(PowerError):
        heteroselect.run("mnist", settings=settings, out="run", watch=stop)
    code, _, err = call("resume", "run", "--rounds", 3)
    assert code == 2
    assert "has 4; give it more than that" in err
    code, out, err = call("resume", "run", "--rounds", 6, "--json")
    assert code == 0
    assert "from round 3 on the run goes by 6 rounds instead of 4, which changes the schedules of" in err
    assert (json.loads(out)["rounds"], json.loads(out)["rounds_run"]) == (6, 6)
    assert len((here / "run" / ROUNDS).read_text().splitlines()) == 6
