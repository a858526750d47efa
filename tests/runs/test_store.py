"""The store on disk: what is in it, what is in memory, and that it is the same as a dictionary."""

import resource
from pathlib import Path

import numpy as np
import pytest

from heteroselect import HeteroSelectError
from heteroselect.core.update import Update
from heteroselect.runs.store import DiskStore, Uploads


def kept(value: float, size: int = 4) -> dict[str, np.ndarray]:
    return {"memory": np.full(size, value, np.float32), "mask": np.array([value, 0.5])}


def test_it_gives_back_what_it_was_given(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, active=0)
    store[3] = kept(1.5)
    store[5] = kept(2.5)
    assert sorted(store) == [3, 5]
    for client, value in ((3, 1.5), (5, 2.5)):
        assert {name: array.tolist() for name, array in store[client].items()} == {
            "memory": [value] * 4,
            "mask": [value, 0.5],
        }
    assert store.get(4) is None
    with pytest.raises(KeyError):
        store[4]


def test_only_the_active_are_in_memory_and_the_rest_is_mapped(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, active=2)
    for client in range(5):
        store[client] = kept(client)
    mapped = [isinstance(store[client]["memory"], np.memmap) for client in range(5)]
    assert mapped == [True, True, True, False, False]


def test_a_reader_of_the_old_is_not_disturbed_by_the_new(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, active=0)
    store[0] = kept(1.0, size=100_000)
    old = store[0]["memory"]
    store[0] = kept(2.0, size=100_000)
    assert set(old.tolist()) == {1.0}
    assert set(store[0]["memory"].tolist()) == {2.0}


def test_what_is_deleted_is_gone_from_the_disk(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    store[0] = kept(1.0)
    del store[0]
    assert 0 not in store
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_in_one_sentence_and_the_old_stays(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, active=0)
    store[0] = kept(1.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(HeteroSelectError, match="cannot be written"):
            store[0] = kept(2.0, size=100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store[0]["memory"].tolist() == [1.0] * 4


@pytest.mark.parametrize("dense", [True, False])
def test_uploads_come_back_as_they_were(tmp_path: Path, dense: bool) -> None:
    uploads = Uploads(DiskStore(tmp_path, active=0), 5)
    vector = np.array([1, 0, 2, 0, 3], np.float32)
    uploads[7] = Update.whole(vector) if dense else Update.keep(vector, np.flatnonzero(vector))
    found = uploads[7]
    assert found.dense().tolist() == vector.tolist()
    assert found.is_dense is dense
    assert found.dot(np.ones(5, np.float32)) == 6
    assert list(uploads) == [7]
