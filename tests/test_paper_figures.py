"""The paper's figures: the numbers behind them by hand, and all of them once from tiny runs."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import heteroselect
from heteroselect.comparison.report.curves import Curve
from scripts import script

ROOT = Path(__file__).resolve().parents[1]


numbers = script("studies/paper_numbers.py")
figures = script("studies/paper_figures.py")


def curve(*points):
    return Curve(np.array([x for x, _ in points], dtype=float), np.array([y for _, y in points], dtype=float))


def run(seed, *accuracies, selected=(0,), densities=(0.5,), summary=None):
    lines = [
        {"round": t, "accuracy": a, "selected": list(selected), "densities": list(densities)}
        for t, a in enumerate(accuracies, start=1)
    ]
    return numbers.Run(seed, lines, summary or {}, 3, 100)


def test_deviation_is_one_sigma_at_the_rounds_that_all_seeds_have():
    band = numbers.deviation([curve((1, 1), (2, 2), (3, 9)), curve((2, 4), (3, 9))])
    assert band.x.tolist() == [2, 3]
    assert band.mean.tolist() == [3, 9]
    assert band.low == pytest.approx([3 - np.sqrt(2), 9])
    assert band.high == pytest.approx([3 + np.sqrt(2), 9])


def test_one_seed_has_no_deviation_and_no_seed_has_no_band():
    band = numbers.deviation([curve((1, 5))])
    assert band.low.tolist() == band.mean.tolist() == band.high.tolist() == [5]
    assert len(numbers.deviation([]).x) == 0


def test_trailing_is_the_mean_of_the_values_up_to_here():
    found = numbers.trailing(curve((1, 2), (2, 4), (3, 9), (4, 2)), 3)
    assert found.x.tolist() == [1, 2, 3, 4]
    assert found.y == pytest.approx([2, 3, 5, 5])
    assert len(numbers.trailing(curve()).y) == 0


def test_last_accuracies_are_paired_by_seed():
    one = [run(1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5), run(2, 0.6), run(3, None)]
    other = [run(2, 0.5), run(1, 0.2), run(4, 0.9)]
    assert numbers.last_accuracies(one) == pytest.approx({1: 0.5, 2: 0.6})
    assert numbers.difference(one, other) == pytest.approx([0.3, 0.1])


def test_unchanged_counts_seeds_that_went_the_same_way():
    calm = [run(1, 0.5, 0.6), run(2, 0.5), run(3, 0.5)]
    stressed = [run(1, 0.5, 0.6), run(2, 0.5, densities=(0.4,)), run(3, 0.4), run(4, 0.5)]
    assert numbers.unchanged(stressed, calm) == 1


def test_selection_is_counted_per_client_and_averaged_over_seeds():
    first = numbers.sorted_counts([{"selected": [2, 0]}, {"selected": [2, 1]}, {"selected": [2, 0]}], 4)
    assert first.tolist() == [3, 2, 1, 0]
    found = numbers.selection([first, np.array([2.0, 2.0, 2.0, 2.0])])
    assert found == pytest.approx({"min": 1.0, "max": 2.5, "deviation": np.sqrt(1.25) / 2})


def test_binomial_counts_by_hand():
    # two clients, two rounds, one half: counts 0, 1, 2 with 1/4, 1/2, 1/4, so the highest of two is
    # 0 with 1/16, 1 with (3/4)² - 1/16 = 8/16 and 2 with 7/16
    assert numbers.binomial_counts(2, 2, 0.5) == pytest.approx([(8 + 14) / 16, 2 - (8 + 14) / 16])
    assert numbers.binomial_counts(100, 100, 0.1).sum() == pytest.approx(1000)
    found = numbers.binomial_selection(100, 100, 0.1)
    assert found["deviation"] == pytest.approx(3)
    assert 3 < found["min"] < 4
    assert 18 < found["max"] < 19


def test_parts_at_some_rounds():
    def line(t, loss):
        return {"round": t, "score_parts": {"loss": loss, "fairness": 0.5}}

    runs = [[line(1, 0.2), line(2, 0.4)], [line(1, 0.6)]]
    assert numbers.parts_at(runs, (1, 2, 3)) == {"1": {"loss": pytest.approx(0.4), "fairness": 0.5}}
    assert numbers.parts_at([], (1,)) == {}


def test_mean_of_selected_leaves_out_who_sent_nothing():
    runs = [[{"densities": [0.2, None]}, {"densities": [0.4]}], [{"densities": [0.9]}]]
    assert numbers.mean_of_selected(runs, "densities") == pytest.approx(0.5)


def test_bytes_by_kind_add_up():
    line = {"bytes_up_paper": 2e6, "bytes_up": 3_000_000, "bytes_down": 4_000_000, "bytes_scoring": 1_000_000}
    found = numbers.bytes_by_kind([[line | {"bytes_calibration": 0}] * 2, [line | {"bytes_calibration": 0}] * 2])
    assert found["megabytes"] == {
        "values": 4.0,
        "positions and headers": 2.0,
        "down": 8.0,
        "scoring": 2.0,
        "calibration": 0.0,
    }
    assert found["share"]["down"] == 0.5
    assert sum(found["share"].values()) == pytest.approx(1)


def test_rounded_keeps_five_digits_and_whole_numbers():
    found = numbers.rounded({"a": 0.123456789, "b": (1234567.0, -1e-17), "c": 1234567, "d": "text", "e": None})
    assert found == {"a": 0.12346, "b": [1234600.0, 0.0], "c": 1234567, "d": "text", "e": None}


LOGGED = {
    "round": 2, "test_acc": 0.75, "cum_time_s": 47.5, "sim_traffic_mb": 0.5, "selected": [3, 1], "theta_k": [0.25, 0.5],
    "bw_mbps_sel": [2.0, 4.0], "score_V_mean": 0.1, "score_D_mean": 0.2, "score_F_mean": 0.3, "score_St_mean": 0.4,
}  # fmt: skip


def test_a_line_of_a_log_has_our_names():
    assert numbers.logged_line(LOGGED) == {
        "round": 2,
        "accuracy": 0.75,
        "cumulative_seconds": 47.5,
        "bytes_up_paper": 500_000.0,
        "selected": [3, 1],
        "densities": [0.25, 0.5],
        "bandwidth_mbps": [2.0, 4.0],
        "score_parts": {"loss": 0.1, "diversity": 0.2, "fairness": 0.3, "staleness": 0.4},
    }


def test_a_log_is_found_by_what_differs_from_the_primary_setting(tmp_path):
    for name, config, mu in (("a", {"variant": "uniform"}, 0.1), ("b", {}, 0.1), ("c", {}, 0.0)):
        config |= {"dataset": "cifar10", "psi": 0.4, "seed": 42}
        log = {"config": config, "fl_config": {"num_clients": 5}, "summary": {"mu": mu}, "rounds": [LOGGED]}
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    material = numbers.Material({}, logs=numbers.read_logs(tmp_path))
    assert (material.log("cifar10").mu, material.log("cifar10").variant) == (0.1, "adaptive")
    assert material.log("cifar10", variant="uniform").variant == "uniform"
    assert material.log("cifar10", mu=0.0).clients == 5
    assert material.log("mnist") is None


def test_the_papers_numbers_of_the_authors_logs(shared):
    logs = numbers.Material({}, logs=numbers.read_logs(shared / "reference"))
    log = logs.log("cifar10")
    found = numbers.selection([numbers.sorted_counts(log.lines, log.clients)])
    assert (found["min"], found["max"]) == (5, 16)
    assert found["deviation"] < 3
    assert len([one for one in logs.logs if one.dataset == "cifar10"]) == 5


def test_without_runs_nothing_is_drawn_and_nothing_fails(tmp_path, capsys):
    assert figures.draw(numbers.Material({}), tmp_path) == []
    said = capsys.readouterr().out
    assert all(f"{name}: no run for it has finished; it is left out." in said for name in figures.FIGURES)
    assert numbers.numbers(numbers.Material({}))["bytes"] == {}


@pytest.mark.slow
def test_all_figures_of_tiny_runs(tmp_path, capsys, monkeypatch):
    """Two short runs stand for all rows; a third that was broken off stands for CIFAR-10's."""
    brief = {"rounds": 3, "method.solver.steps": 1}
    for seed in (42, 43):
        heteroselect.run("mnist", seed=seed, settings=brief, out=tmp_path / f"seed-{seed}")
    for name in numbers.STUDIES:
        study = tomllib.loads((ROOT / "studies" / f"{name}.toml").read_text(encoding="utf-8"))
        for row in study["row"]:
            for seed in study["seeds"][:2]:
                shutil.copytree(
                    tmp_path / f"seed-{seed}",
                    tmp_path / "runs" / name / row.get("name", row["method"]) / f"seed-{seed}",
                )
    (tmp_path / "runs" / "table1" / "fedavg" / "seed-42" / "summary.json").unlink()
    out, file = tmp_path / "out", tmp_path / "figures.json"
    monkeypatch.setattr("heteroselect.comparison.study.refuse_another", lambda cell, known: None)  # they are other runs
    figures.main(["--runs", str(tmp_path / "runs"), "--out", str(out), "--numbers", str(file)])
    assert sorted(path.stem for path in out.iterdir()) == sorted(figures.FIGURES)
    assert all(path.stat().st_size < 150_000 for path in out.iterdir())
    assert "table1: finished seeds: fedavg 0 of 1." in capsys.readouterr().out
    assert "(3 of 3 rounds so far)" in (out / "paper-3-bands.svg").read_text(encoding="utf-8")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["selection"]["psi"]["ψ = 0.6, control"]["seeds"] == 2
    assert found["stress"]["permuted"]["seeds unchanged by stress"] == 2
    assert sum(found["bytes"]["heteroselect"]["share"].values()) == pytest.approx(1, abs=1e-4)
