"""Claims that hold, are refuted, or cannot be told apart: one paired test each, corrected for how many are asked."""

import math

import numpy as np
import pytest
from scipy import stats

from heteroselect import HeteroSelectError
from heteroselect.comparison.claims import Claim, change, judge, visible
from heteroselect.comparison.inference import holm
from heteroselect.comparison.study import read


def rows(figure, **values):
    """The runs of rows by name, one for each seed from 0 on."""
    return [{"row": name, "seed": seed, figure: one} for name, many in values.items() for seed, one in enumerate(many)]


def claim(figure, text="t", **more):
    return Claim(text=text, better="a", than="b", figure=figure, **more)


def judged(figure, mine, others, **more):
    (found,) = judge("s", [claim(figure, **more)], rows(figure, a=mine, b=others))
    return found


@pytest.mark.parametrize(
    ("mine", "others", "figure", "word"),
    [
        ([0.91, 0.92, 0.93], [0.90, 0.91, 0.92], "peak_accuracy", "holds"),
        ([0.90, 0.91, 0.92], [0.91, 0.92, 0.93], "peak_accuracy", "refuted"),
        ([3, 4, 5], [5, 6, 8], "rounds_to_target", "holds"),
        ([3, 9, 5], [5, 6, 7], "rounds_to_target", "inconclusive"),
        ([0.9], [0.1], "peak_accuracy", "one run"),
        ([0.9, 0.9], [0.1, 0.1], "peak_accuracy", "two runs"),
    ],
)
def test_a_claim_goes_by_paired_differences_of_three_seeds_or_more(mine, others, figure, word):
    found = judged(figure, mine, others)
    assert (found["verdict"], found["seeds"]) == (word, len(mine))


@pytest.mark.parametrize(
    ("mine", "others", "word"),
    [
        ([5, 6, None, None, None], [9, 10, 9, 9, 9], "inconclusive"),  # sooner, where it arrives at all
        ([5, 6, 5], [None, None, None], "holds"),
        ([None, None, None], [7, 8, 9], "refuted"),
        ([None, None, None], [None, None, None], "inconclusive"),
    ],
)
def test_a_seed_that_never_reaches_the_target_counts(mine, others, word):
    found = judged("rounds_to_target", mine, others)
    assert (found["verdict"], found["p"], found["visible"]) == (word, None, None)
    assert found["reached"] == [sum(v is not None for v in values) for values in (mine, others)]


def test_costs_are_compared_by_their_ratio():
    """A tenth with every seed, which differences (−9, −90, −900 s) would not tell apart from none: logarithms do."""
    mine, others = (
        [10.0**seed for seed in range(3)],
        [10.0 ** (seed + 1) * (1 + 0.1 * (seed == 1)) for seed in range(3)],
    )
    found = judged("seconds_to_target", mine, others)
    assert found["verdict"] == "holds"
    assert found["change"] == pytest.approx(0.1 * 1.1 ** (-1 / 3))
    assert found["interval"]["low"] < found["change"] < found["interval"]["high"] < 1
    assert change(found) == f"0.10 [{found['interval']['low']:.2f}, {found['interval']['high']:.2f}] times the seconds"


@pytest.mark.parametrize(
    ("times", "word"), [(0.5, "holds"), (0.25, "inconclusive"), (0.1, "refuted"), (1.0, "holds"), (2.0, "holds")]
)
def test_a_cost_may_be_compared_with_a_part_of_the_other(times, word):
    found = judged("seconds_to_target", [22.0, 25.0, 28.0], [100.0] * 3, times=times)
    assert found["verdict"] == word
    assert found["change"] == pytest.approx((0.22 * 0.25 * 0.28) ** (1 / 3))  # of the whole cost
    assert judged("seconds_to_target", [5.0] * 3, [None] * 3, times=0.5)["verdict"] == "inconclusive", "unknown"


@pytest.mark.parametrize(
    ("lower", "word"),
    [((0.001, 0.002, 0.003), "holds"), ((0.02, 0.021, 0.022), "refuted"), ((0.0, 0.01, 0.02), "inconclusive")],
)
def test_as_high_as_is_judged_by_a_margin_of_a_point(lower, word):
    """Below by less than the margin holds, though it is below for sure."""
    found = judged("last_accuracy", [0.9 - one for one in lower], [0.9] * 3, margin=0.01)
    assert found["verdict"] == word
    assert found["p"] == pytest.approx(stats.ttest_1samp(-np.array(lower), -0.01).pvalue)


def test_more_questions_make_each_harder_to_answer():
    """p = .03 alone is a verdict; as one of five it is none (Holm)."""
    mine, others = [0.910, 0.913, 0.921, 0.905], [0.9, 0.9, 0.9, 0.9]
    runs = [*rows("peak_accuracy", a=mine, b=others), *rows("peak_accuracy", c=[0.5, 0.6, 0.4, 0.5])]
    alone = judge("s", [claim("peak_accuracy")], runs)[0]
    open_ones = [Claim(text=f"{k}", better="c", than="c", figure="peak_accuracy") for k in range(4)]
    among = judge("s", [claim("peak_accuracy"), *open_ones], runs)[0]
    assert 0.01 < alone["p"] == among["p"] < 0.05
    assert (alone["verdict"], among["verdict"]) == ("holds", "inconclusive")
    assert among["p_holm"] == holm({"t": alone["p"], **{f"{k}": 1.0 for k in range(4)}})["t"] == 5 * alone["p"]


def test_a_verdict_says_how_large_a_change_could_have_shown():
    """With five seeds that are 1 point apart, 1.68 points (the power of the t test by simulation)."""
    mine = 0.9 + 0.01 * stats.zscore([1.0, 2.0, 3.0, 4.0, 5.0], ddof=1)
    found = judged("last_accuracy", mine.tolist(), [0.9] * 5)
    assert visible(found) == "1.68 points"
    draws = np.random.default_rng(0).normal(0.0168, 0.01, (20_000, 5))
    assert (stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean() == pytest.approx(0.8, abs=0.01)
    cost = judged("seconds_to_target", [math.exp(one) for one in (mine - 0.9)], [1.0] * 5)
    assert visible(cost) == f"{math.exp(0.0168):.2f} times"


def test_an_accuracy_of_zero_counts():
    found = judged("last_accuracy", [0.9, 0.91, 0.92, 0.9], [0.0, 0.0, 0.1, 0.0])
    assert (found["verdict"], found["interval"]["pairs"]) == ("holds", 4)


def test_rows_without_a_seed_in_common_cannot_be_compared():
    runs = [{"row": "a", "seed": 1, "peak_accuracy": 0.9}, {"row": "b", "seed": 2, "peak_accuracy": 0.8}]
    assert judge("s", [claim("peak_accuracy")], runs) == []


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"times": 2}, "claim 1: times: allowed are figures to the target with it"),
        ({"margin": 0.01, "figure": "rounds_to_target"}, "claim 1: margin: allowed are accuracies with it"),
    ],
)
def test_parts_are_of_costs_and_margins_of_accuracies(more, sentence):
    with pytest.raises(HeteroSelectError, match=sentence):
        read({"row": [{"method": "fedavg"}], "claim": [{"text": "t", "better": "fedavg", "than": "fedavg", **more}]})
