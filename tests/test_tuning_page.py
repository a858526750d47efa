"""The section on tuning: ranks, paired changes and settings by hand, from two small comparisons."""

import json
from pathlib import Path

from scripts import script

DEFAULT = {"a": [0.90, 0.92], "b": [0.88, 0.88], "c": [0.80, 0.84]}
TUNED = {"b": [0.94, 0.94], "a": [0.91, 0.92], "c": [0.86, 0.84]}


def left(folder: Path) -> None:
    for name, found in (("compare", DEFAULT), ("tuned", TUNED)):
        table = [
            {"method": method, "reconstruction": method == "c", "figures": {"last_accuracy": values}}
            for method, values in found.items()
        ]
        (folder / name).mkdir()
        (folder / name / "compare.json").write_text(json.dumps({"table": table}))
    won = {"a": {}, "b": {"method.lr.start": 0.1234567, "method.select.pool": 7}, "c": {"method.lr.start": 0.2}}
    trials = {
        name: {"best": 1 if settings else 0, "trials": [{"settings": {}}, {"settings": settings}]}
        for name, settings in won.items()
    }
    (folder / "tuned" / "tune.json").write_text(json.dumps({"seeds": [101, 102], "methods": trials}))


def test_what_tuning_changed(tmp_path):
    left(tmp_path)
    page = script("studies/tuning.py").section(tmp_path)
    assert "2 trials, its default and 1 point" in page
    # the first two seeds of b differ by 6 points each: no spread, and apart from none
    assert "| `b` | 88.00 ± 0.00 | 94.00 ± 0.00 | +6.00 ± 0.00 | 2 → 1 | `lr.start` 0.123, `select.pool` 7 |" in page
    # of a by 1 and 0: t of one degree of freedom is 12.7, and half of the interval 12.7 · 0.5
    assert "| `a` | 91.00 ± 1.41 | 91.50 ± 0.71 | ≈ +0.50 ± 6.35 | 1 → 2 | those of the default |" in page
    assert "`c*`" in page
    # of three pairs of methods one is turned round: τ = (2 − 1)/3
    assert "of 0.33: `b` is first where `a` was" in page
    assert "9.00 points by the defaults and 9.00 points tuned" in page


def test_before_it_was_run_there_is_nothing(tmp_path):
    assert script("studies/tuning.py").section(tmp_path) == ""
