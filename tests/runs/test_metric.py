"""A metric of one's own: its name, direction and unit go with the run, to the summary and to whoever reads it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from torch import Tensor, nn

import heteroselect
from heteroselect import HeteroSelectError, Metric
from heteroselect.comparison.report.tables import result_table
from heteroselect.core.evaluate import accuracy
from run_folders import PowerError, stop_after

RNG = np.random.default_rng(1)
X = RNG.normal(size=(120, 3)).astype(np.float32)
Y = (X @ np.array([3.0, -2.0, 1.0], np.float32)).astype(np.float32)
SETTINGS = {
    **{"clients": 6, "selected": 3, "rounds": 6, "data.partition": "iid", "simulate.checkpoint_rounds": 1},
    **{"method.solver.steps": 4, "method.solver.batch": 8, "method.lr.start": 0.05},
}


def mse(outputs: Tensor, targets: Tensor) -> float:
    return float(((outputs - targets) ** 2).mean())


def less(outputs: Tensor, targets: Tensor) -> float:
    return -mse(outputs, targets)


def play(metric: Any, **changes: Any) -> heteroselect.Result:
    settings = {**SETTINGS, **changes.pop("settings", {})}
    own = {"data": (X, Y), "model": lambda: nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))}
    return heteroselect.run(
        {}, method="fedavg", settings=settings, loss=nn.functional.mse_loss, metric=metric, **own, **changes
    )


LOWER = Metric(mse, name="MSE", higher=False, unit="")


def printed(summary: dict[str, Any], lines: Sequence[dict[str, Any]]) -> str:
    console = Console(width=160, record=True)
    console.print(result_table(summary, lines, []))
    return console.export_text()


def test_where_lower_is_better_the_lowest_is_the_peak_and_the_target_is_reached_from_above() -> None:
    result = play(LOWER, settings={"target": 5.0})
    values = [line["accuracy"] for line in result.rounds]
    assert values[0] > 5 > values[-1], "the runs of this file learn something"
    assert result.peak_accuracy == min(values)
    assert result.rounds_to_target == 1 + next(i for i, value in enumerate(values) if value <= 5)
    assert result.metric == {"name": "MSE", "higher": False, "unit": ""}
    assert f"lowest MSE {min(values):.4g}" in repr(result)
    assert "%" not in repr(result)


def test_a_run_stops_at_a_target_that_is_reached_from_above() -> None:
    result = play(LOWER, settings={"target": 5.0, "stop_at_target": 1})
    assert result.status == "stopped at target"
    assert result.rounds_run == result.rounds_to_target < 6


def test_a_function_goes_by_its_name_without_a_unit() -> None:
    result = play(less, settings={"target": -5})
    assert result.metric == {"name": "less", "higher": True, "unit": ""}
    assert result.peak_accuracy == max(line["accuracy"] for line in result.rounds) < 0
    assert result.rounds_to_target is not None
    text = printed(result.summary, result.rounds)
    assert "peak less" in text
    assert "target -5," in text
    assert "%" not in text
    assert Metric.of(lambda outputs, targets: 0.0).name == "metric"


def test_the_accuracy_stays_what_it_was() -> None:
    assert Metric.of(None) == Metric.of(accuracy) == Metric(accuracy)
    assert Metric.of(None).measure.as_dict() == {"name": "accuracy", "higher": True, "unit": "%"}


def test_a_target_beyond_one_needs_a_metric() -> None:
    with pytest.raises(HeteroSelectError, match=r"target: allowed is a number ≥ 0 and ≤ 1 .*, not 5"):
        heteroselect.run({}, settings={"target": 5.0})


@pytest.mark.parametrize("wrong", [3, Metric])
def test_what_is_no_metric_is_refused(wrong: Any) -> None:
    with pytest.raises(HeteroSelectError, match="metric: "):
        play(wrong)
    with pytest.raises(HeteroSelectError, match="metric: allowed is a function"):
        Metric(mse, name="")


@pytest.mark.parametrize(
    ("answer", "named"), [({"mse": 1.0}, "a dict"), (Tensor([1.0, 2.0]), "a Tensor"), (None, "a NoneType")]
)
def test_an_answer_that_is_no_number_is_named(answer: Any, named: str) -> None:
    with pytest.raises(HeteroSelectError, match=f"metric: it gave {named} .*; allowed is one finite number"):
        play(lambda outputs, targets: answer)


def test_a_run_goes_on_only_with_the_same_name_and_direction(tmp_path: Path) -> None:
    with pytest.raises(PowerError):
        play(LOWER, out=tmp_path / "run", watch=stop_after(2), settings={"target": 5.0})
    own = {"data": (X, Y), "model": lambda: nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))}
    own |= {"loss": nn.functional.mse_loss}
    for other in (mse, Metric(mse, "MSE", True, ""), Metric(mse, "error", False, "")):
        with pytest.raises(HeteroSelectError, match=r"another experiment .*metric: "):
            heteroselect.resume(tmp_path / "run", metric=other, **own)
    result = heteroselect.resume(tmp_path / "run", metric=LOWER, **own)
    assert result.rounds == play(LOWER, settings={"target": 5.0}).rounds
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["metric"]["name"] == "MSE"
