"""Where the limits lie of what is believed."""

import pytest
import torch

from heteroselect.core.messages import Upload
from heteroselect.engines.flower.checks import GROWTH, HUGE, check_loss, check_statistics, check_upload
from heteroselect.engines.flower.records import RecordError


@pytest.mark.parametrize("loss", [0.0, -0.99e30, 0.99e30])
def test_a_loss_is_a_number_of_some_size(loss):
    assert check_loss(loss) == loss


@pytest.mark.parametrize("loss", [HUGE, -HUGE, float("nan"), float("inf"), 1, "1.0", [1.0], None])
def test_no_loss_is_anything_else(loss):
    with pytest.raises(RecordError, match=r"^its loss is "):
        check_loss(loss)


@pytest.mark.parametrize("report", [{}, {"norm": 0.0, "rms": 0, "memory": 1e29}, {"loss": -3.0}])
def test_an_upload_reports_numbers(report):
    check_upload(Upload(0, b"", 5, report))


REPORTS = [{"norm": -1e-9}, {"rms": -1.0}, {"memory": -1.0}, {"loss": HUGE}, {"loss": "3"}]


@pytest.mark.parametrize(("examples", "report"), [*((5, report) for report in REPORTS), (float("nan"), {})])
def test_a_length_below_0_and_what_is_no_number_are_refused(examples, report):
    with pytest.raises(RecordError, match=r"^its report is not made of numbers$"):
        check_upload(Upload(0, b"", examples, report))


BEFORE = {"a.running_mean": torch.tensor([0.5, -2.0]), "a.running_var": torch.tensor([0.25, 0.5])}


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("a.running_mean", 2 * GROWTH, None),
        ("a.running_mean", -2.1 * GROWTH, r"more than 1e\+06 times those before"),
        ("a.running_var", GROWTH, None),
        ("a.running_var", 1.1 * GROWTH, r"more than 1e\+06 times those before"),
        ("a.running_var", -1e-9, "not of this model"),
        ("a.running_mean", float("inf"), "not of this model"),
    ],
)
def test_statistics_grow_so_much_at_most_from_1_or_from_the_largest_before(name, value, why):
    found = {key: buffer.clone() for key, buffer in BEFORE.items()}
    found[name][0] = value
    if why is None:
        check_statistics(found, BEFORE)
    else:
        with pytest.raises(RecordError, match=f"^its statistics are {why}$"):
            check_statistics(found, BEFORE)


OTHER = [torch.zeros(3), torch.zeros(2, dtype=torch.float64)]


@pytest.mark.parametrize(
    "found", [{}, {**BEFORE, "b.running_mean": torch.zeros(2)}, *({**BEFORE, "a.running_mean": one} for one in OTHER)]
)
def test_statistics_of_other_names_shapes_or_types_are_of_another_model(found):
    with pytest.raises(RecordError, match=r"^its statistics are not of this model$"):
        check_statistics(found, BEFORE)


def test_a_buffer_without_elements_has_nothing_to_refuse():
    check_statistics({"a": torch.empty(0)}, {"a": torch.empty(0)})


@pytest.mark.parametrize("kind", [torch.uint16, torch.uint64, torch.complex64])
def test_a_variance_of_a_type_that_cannot_be_compared_is_of_another_model(kind):
    found = {**BEFORE, **{name: one.to(kind) for name, one in BEFORE.items() if name.endswith("running_var")}}
    with pytest.raises(RecordError, match=r"^its statistics are not of this model$"):
        check_statistics(found, BEFORE)
