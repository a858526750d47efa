"""The bars of the paper's figure 1 and the curve of its figure 6, as numbers and words."""

import pytest

from heteroselect.comparison.report.compared import target_bars, uniform_curves
from heteroselect.comparison.report.load import compare


def bars(comparison, axis):
    return {bar.label: (bar.value, bar.low, bar.high, bar.note) for bar in target_bars(comparison, axis)}


def test_bars_are_medians_with_the_range_of_the_seeds_and_the_paper_below(make_run, tmp_path):
    make_run("a1", seed=1)
    make_run("a2", seed=2)
    make_run("b", method="slow", accuracies=(0.1, 0.2))
    make_run("c1", method="lucky", seed=1)
    make_run("c2", method="lucky", seed=2, accuracies=(0.1, 0.2))
    for seed in (1, 2, 3):
        make_run(f"d{seed}", method="often", seed=seed, accuracies=(0.1, 0.2) if seed == 1 else (0.1, 0.9))
    found = compare([tmp_path])
    assert bars(found, "seconds") == {
        "ours": (31.5, 31.0, 32.0, ""),
        "slow": (0.0, 0.0, 0.0, "not reached"),
        "lucky": (0.0, 0.0, 0.0, "1 of 2 arrived"),  # the median seed did not
        "often": (23.0, 22.0, 23.0, "2 of 3 arrived"),
        "the paper: Table I": (42.0, 42.0, 42.0, ""),
    }
    assert bars(found, "megabytes")["ours"] == (3.0, 3.0, 3.0, "")
    assert bars(found, "megabytes")["the paper: Table I"][0] == 6.1
    assert bars(found, "wire_megabytes")["ours"] == (6.0, 6.0, 6.0, "")
    assert bars(found, "wire_megabytes")["the paper: Table I"][-1] == "not given"


def test_values_that_are_not_float32_have_no_count_of_values(make_run):
    found = compare([make_run("a", summary={"sends_float32": False})])
    assert bars(found, "megabytes")["ours"] == (0.0, 0.0, 0.0, "— not float32")
    assert bars(found, "wire_megabytes")["ours"][0] == 6.0


def test_a_paper_that_names_no_round_never_reached_it(make_run):
    found = compare([make_run("a", settings={"paper": [{"source": "Table I", "peak_accuracy": 0.5}]})])
    assert bars(found, "seconds")["the paper: Table I"] == (0.0, 0.0, 0.0, "not reached")


def test_one_binomial_for_runs_of_the_same_size(make_run, tmp_path):
    make_run("a")
    make_run("b", method="other")
    make_run("c", method="short", accuracies=(0.5, 0.6))
    (long, four), (short, two) = uniform_curves(compare([tmp_path]))
    assert long == "even chances: Binomial(4, 0.4)"
    assert four == pytest.approx([0.1296, 0.3456, 0.3456, 0.1536, 0.0256])
    assert short == "even chances: Binomial(2, 0.4)"
    assert two == pytest.approx([0.36, 0.48, 0.16])
