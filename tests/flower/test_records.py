"""Messages as Flower's records and back, whatever their fields; and nothing believed that is not there."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from flwr.app import ConfigRecord, RecordDict
from hypothesis import given
from hypothesis import strategies as st

from heteroselect.core.flat import Weights
from heteroselect.core.messages import Order, Upload
from heteroselect.engines.flower.records import (
    BODY,
    HEADER,
    Header,
    RecordError,
    from_array,
    from_bytes,
    from_record,
    to_array,
    to_bytes,
    to_record,
)


@given(st.floats(allow_nan=False), st.floats(0, 1), st.booleans(), st.booleans(), st.integers(0, 2**40))
def test_an_order_arrives_as_it_was_to_the_last_bit(rate, density, warmup, hold, round):
    order = Order(3, round, rate, np.float64(density), 0.9, 50, warmup, hold)
    assert from_record(Order, RecordDict({BODY: to_record(order)})) == order


def test_fields_that_are_not_known_yet_travel_too():
    @dataclass(frozen=True)
    class Later:
        client: int
        steps: int | None = None
        names: list[str] = field(default_factory=list)
        report: dict[str, float] = field(default_factory=dict)

    for later in (Later(1), Later(1, 5, ["a", "b"], {"loss": 0.5, "a.b": 1.5})):
        assert from_record(Later, RecordDict({BODY: to_record(later)})) == later


def test_an_upload_is_a_record_and_its_bytes():
    upload = Upload(3, b"\x00\xffpayload", 5, {"loss": 0.25, "norm": 3.0})
    content = RecordDict({BODY: to_record(upload), "payload": to_array(upload.payload)})
    assert from_record(Upload, content, payload=from_array(content, "payload")) == upload
    assert content["payload"]["bytes"].data == upload.payload


def test_a_model_arrives_with_buffers_and_what_goes_with_it():
    buffers = {"a.running_mean": torch.arange(3.0), "a.num_batches_tracked": torch.tensor(7)}
    weights = Weights(torch.randn(10, generator=torch.Generator().manual_seed(0)), buffers)
    got, shared = from_bytes(to_bytes(weights, {"control": np.arange(4.0)}))
    assert got.sha256() == weights.sha256()
    assert list(got.buffers) == list(buffers) or set(got.buffers) == set(buffers)
    np.testing.assert_array_equal(shared["control"], np.arange(4.0))


def test_a_header_carries_what_became_of_uploads():
    header = Header("run", 4, "Order", {3: True, 9: False}, 2)
    assert Header.read(RecordDict({HEADER: header.to_record()})) == header
    assert Header.read(RecordDict({HEADER: Header("run", 4, "Order").to_record()})).settled == {}


@pytest.mark.parametrize("data", [b"", b"nothing", b"\xff" * 100, to_bytes(Weights(torch.zeros(3), {}))[:-1]])
def test_bytes_that_are_no_model_are_refused(data):
    with pytest.raises(RecordError):
        from_bytes(data)


@pytest.mark.parametrize(
    "report",
    [
        {f"own{number}": 1.0 for number in range(65)},
        {"x" * 65: 1.0},
        {f"label{'0' * zeros}{number}": 0.0 for zeros in range(5) for number in range(1, 230)},
    ],
    ids=["many", "long", "labels"],
)
def test_a_report_is_a_few_numbers_with_short_names(report):
    content = RecordDict({BODY: to_record(Upload(3, b"", 5, report))})
    with pytest.raises(RecordError, match=r"its report has (more than 64 names|a name of more than 64 characters)"):
        from_record(Upload, content, payload=b"")


def test_shares_of_many_labels_fit_beside_sixty_four_names():
    report = {"x" * 64: 1.0} | {f"own{number}": 1.0 for number in range(63)}
    report |= {f"label{number}": 0.001 for number in range(1000)}
    content = RecordDict({BODY: to_record(Upload(3, b"", 5, report))})
    assert from_record(Upload, content, payload=b"").report == report


def test_what_is_missing_or_of_another_kind_is_refused():
    with pytest.raises(RecordError, match="has no header"):
        Header.read(RecordDict())
    with pytest.raises(RecordError, match="client is no whole number"):
        Header.read(RecordDict({HEADER: ConfigRecord({"client": "me"})}))
    with pytest.raises(RecordError, match="it is no Order"):
        from_record(Order, RecordDict({BODY: ConfigRecord({"client": 1})}))
    with pytest.raises(RecordError, match="has no payload"):
        from_array(RecordDict({"payload": ConfigRecord({})}), "payload")
