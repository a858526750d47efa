"""Metrics by hand."""

import pytest
import torch

from heteroselect.core.evaluate import accuracy, class_accuracies, client_accuracies, worst_tenth

# what the model says of six test examples: 0, 0, 1, 1, 2, 0
OUTPUTS = torch.tensor([[9, 1, 0], [2, 1, 0], [0, 3, 1], [1, 5, 2], [0, 1, 2], [4, 0, 3]], dtype=torch.float32)
TARGETS = torch.tensor([0, 0, 0, 1, 2, 2])  # right: 2 of 3 zeros, the one, 1 of 2 twos


def test_accuracy_is_the_fraction_right() -> None:
    assert accuracy(OUTPUTS, TARGETS) == 4 / 6
    assert accuracy(OUTPUTS[:2], TARGETS[:2]) == 1
    assert accuracy(OUTPUTS[:2], torch.tensor([1, 2])) == 0


def test_a_client_sees_the_accuracy_of_its_own_label_mix() -> None:
    labels = [
        torch.tensor([0, 0, 0]),
        torch.tensor([1]),
        torch.tensor([0, 1, 2, 2]),
    ]
    found = client_accuracies(OUTPUTS, TARGETS, labels, 3)
    assert found == pytest.approx([2 / 3, 1, (2 / 3 + 1 + 2 * 0.5) / 4])


def test_classes_without_a_test_example_are_left_out() -> None:
    outputs = torch.nn.functional.pad(OUTPUTS, (0, 1), value=-1.0)
    labels = [torch.tensor([3, 3, 3, 1]), torch.tensor([3, 3]), torch.tensor([2])]
    # the first is judged on its one example of class 1; the second has nothing to be judged on
    assert client_accuracies(outputs, TARGETS, labels, 4) == [1, None, 0.5]


def test_the_accuracy_on_each_class_has_four_digits_and_none_without_an_example() -> None:
    assert class_accuracies(OUTPUTS, TARGETS, 3) == [0.6667, 1.0, 0.5]
    more = torch.nn.functional.pad(OUTPUTS, (0, 1), value=-1.0)
    assert class_accuracies(more, TARGETS, 4) == [0.6667, 1.0, 0.5, None]


def test_only_where_targets_are_classes_and_not_too_many() -> None:
    assert class_accuracies(OUTPUTS, TARGETS, None) is None
    assert class_accuracies(torch.zeros(6), TARGETS, 3) is None
    wide = torch.nn.functional.pad(OUTPUTS, (0, 998), value=-1.0)
    assert class_accuracies(wide, TARGETS, 1001) is None
    assert class_accuracies(wide, TARGETS, 1000) == [0.6667, 1.0, 0.5] + [None] * 997
    assert class_accuracies(wide, TARGETS, 3) == [0.6667, 1.0, 0.5], "outputs that are no class's"
    assert class_accuracies(OUTPUTS, TARGETS, 4) is None


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 2), (6, 3, 2)])
def test_outputs_that_are_not_one_number_a_class_give_nothing(shape: tuple[int, ...]) -> None:
    assert client_accuracies(torch.zeros(shape), TARGETS, [TARGETS], 3) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], 0.5),
        ([0.9, 0.2, 0.4], 0.2),
        ([i / 10 for i in range(10, 0, -1)], 0.1),
        ([i / 20 for i in range(20)], 0.025),
        ([i / 29 for i in range(29)], 0.5 / 29),
    ],
)
def test_worst_tenth_is_the_mean_of_the_lowest_tenth_and_of_one_at_least(values: list[float], expected: float) -> None:
    assert worst_tenth(values) == pytest.approx(expected)
