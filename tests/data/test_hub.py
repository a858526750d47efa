"""Data sets of Hugging Face, from folders that `datasets` wrote; and that it is asked for where it is absent."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import heteroselect
from heteroselect.data.examples import Columns
from heteroselect.data.partition import dirichlet, shards
from heteroselect.data.sources import load
from heteroselect.errors import HeteroSelectError
from run_folders import PowerError, stop

COLUMNS = Columns(owner="writer", natural=True)
TABLE: dict[str, list[Any]] = {
    "x": [[float(k), float(k % 3)] for k in range(30)],
    "label": [k % 3 for k in range(30)],
    "writer": [f"w{k % 5}" for k in range(30)],
}


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(HeteroSelectError, match=r"data\.name: hf:anything needs .* pip install 'heteroselect\[hf\]'"):
        load("hf:anything", None)


@pytest.fixture(scope="module")
def datasets() -> Any:
    return pytest.importorskip("datasets", reason="datasets is not installed (the extra heteroselect[hf])")


@pytest.fixture
def saved(datasets: Any, tmp_path: Path) -> str:
    datasets.Dataset.from_dict(TABLE).save_to_disk(tmp_path / "people")
    return f"hf:{tmp_path / 'people'}"


def test_owners_come_from_their_column(saved: str):
    found = load(saved, None, columns=COLUMNS, test_fraction=0.5)
    assert (found.owners, found.classes) == (("w0", "w1", "w2", "w3", "w4"), 3)
    assert found.train.owner is not None
    assert torch.bincount(found.train.owner).tolist() == [3] * 5
    assert found.whole is not None
    assert found.whole.x.tolist() == TABLE["x"]
    assert load(saved, None, columns=Columns(owner="writer")).owners == ()


def test_both_splits_are_taken(datasets: Any, tmp_path: Path):
    parts = {"train": slice(0, 20), "test": slice(20, 30)}
    whole = {name: datasets.Dataset.from_dict({k: v[part] for k, v in TABLE.items()}) for name, part in parts.items()}
    datasets.DatasetDict(whole).save_to_disk(tmp_path / "both")
    found = load(f"hf:{tmp_path / 'both'}", None, columns=COLUMNS)
    assert (len(found.train), len(found.test)) == (20, 10)
    assert found.test.owner is not None
    assert found.test.owner.tolist() == [k % 5 for k in range(20, 30)]


def test_pictures_become_bytes(datasets: Any, tmp_path: Path):
    pictures = np.random.default_rng(0).integers(0, 256, (6, 8, 8), np.uint8)
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])})
    table = {"image": list(pictures), "label": [0, 1, 0, 1, 0, 1]}
    datasets.Dataset.from_dict(table, features=features).save_to_disk(tmp_path / "pictures")
    found = load(f"hf:{tmp_path / 'pictures'}", None)
    assert found.whole is not None
    assert found.whole.x.dtype == torch.uint8
    assert torch.equal(found.whole.x[:, 0], torch.from_numpy(pictures))
    assert found.pixels is not None


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (Columns(label="class"), r"data\.label_column: .* has no column 'class'; name one of x, label, writer"),
        (Columns(owner="user", natural=True, input="x"), r"data\.owner_column: .* has no column 'user'"),
        (Columns(), r"data\.input_column: .* has several columns; name one of x, writer"),
        (Columns(input="z"), r"data\.input_column: .* has no column 'z'"),
        (Columns(label="writer", input="x"), "must hold numbers"),
    ],
)
def test_columns_that_are_not_there_are_named(saved: str, columns: Columns, sentence: str):
    with pytest.raises(HeteroSelectError, match=sentence):
        load(saved, None, columns=columns)


def test_a_folder_of_something_else_is_refused(datasets: Any, tmp_path: Path):
    with pytest.raises(HeteroSelectError, match=r"data\.name: hf:.* cannot be loaded"):
        load(f"hf:{tmp_path}", None)


def test_a_run_on_it(saved: str):
    settings = {"data.name": saved, "data.partition": "natural", "data.owner_column": "writer", "clients": 4}
    small = {"selected": 2, "rounds": 2, "method": {"solver": {"steps": 2, "batch": 4}}}
    found = heteroselect.run(small, settings={**settings, "data.unseen_fraction": 0.2}, threads=1)
    assert (len(found.summary["owners"]), found.summary["unseen_owners"]) == (4, 1)


def test_a_folder_does_not_get_to_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A stranger's settings name a data set of the hub; nothing is asked of the hub before the person has named it."""
    asked: list[str] = []

    class Split(dict):
        column_names = ("x", "label")

    def load_dataset(place: str) -> Any:
        asked.append(place)
        return {"train": Split(x=TABLE["x"], label=TABLE["label"])}

    module = SimpleNamespace(load_dataset=load_dataset, load_from_disk=None)
    monkeypatch.setitem(sys.modules, "datasets", module)
    settings = {"data.name": "hf:some/one", "data.partition": "iid", "clients": 4, "selected": 2, "rounds": 4}
    small = {**settings, "method.solver.steps": 2, "method.solver.batch": 4, "simulate.checkpoint_rounds": 1}
    with pytest.raises(PowerError):
        heteroselect.run({}, method="fedavg", settings=small, out=tmp_path / "run", watch=stop, threads=1)
    assert asked == ["some/one"]
    with pytest.raises(HeteroSelectError, match=r"would download hf:some/one; name it again, settings"):
        heteroselect.resume(tmp_path / "run")
    with pytest.raises(HeteroSelectError, match=r"data\.name: hf:some/one → hf:another"):
        heteroselect.resume(tmp_path / "run", settings={"data.name": "hf:another"})
    assert asked == ["some/one"]
    assert heteroselect.resume(tmp_path / "run", settings={"data.name": "hf:some/one"}).status == "finished"
    assert asked == ["some/one"] * 2


def test_natural_clients_are_those_of_flower_datasets(saved: str, datasets: Any, partitioners: Any):
    theirs = partitioners.NaturalIdPartitioner(partition_by="writer")
    theirs.dataset = datasets.Dataset.from_dict(TABLE)
    found = load(saved, None, columns=COLUMNS)
    assert found.whole is not None
    assert found.whole.owner is not None
    mine = {name: found.whole.x[found.whole.owner == number].tolist() for number, name in enumerate(found.owners)}
    parts = [theirs.load_partition(number) for number in range(theirs.num_partitions)]
    assert mine == {part["writer"][0]: [list(row) for row in part["x"]] for part in parts}


@pytest.fixture
def partitioners() -> Any:
    return pytest.importorskip("flwr_datasets.partitioner", reason="flwr-datasets is not installed")


def of_each(shares: Sequence[Any], classes: int) -> NDArray[np.int64]:
    """How many examples of each class each client has."""
    return np.array([np.bincount(share, minlength=classes) for share in shares])


def theirs_of(partitioner: Any, datasets: Any, labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The labels of each of their partitions."""
    partitioner.dataset = datasets.Dataset.from_dict({"label": labels.tolist()})
    return [np.array(partitioner.load_partition(k)["label"]) for k in range(partitioner.num_partitions)]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of pyarrow, in their sort
def test_shards_are_those_of_flower_datasets(datasets: Any, partitioners: Any):
    """Whose shard is whose is drawn by another generator. With one shard each, what the clients have is the same."""
    labels = np.random.default_rng(0).integers(0, 7, 120)
    theirs = theirs_of(partitioners.ShardPartitioner(8, "label", num_shards_per_partition=1), datasets, labels)
    mine = shards(labels, 8, 1, np.random.default_rng(1))
    found = [sorted(of_each(one, 7).tolist()) for one in (theirs, [labels[share] for share in mine])]
    assert found[0] == found[1]


def test_dirichlet_is_the_same_distribution_as_that_of_flower_datasets(datasets: Any, partitioners: Any):
    """The shares of a class have E[Σ p²] = (α + 1)/(Kα + 1), here 1.5/3 = 0.5 with K = 4 and α = ½."""
    labels = np.repeat(np.arange(150), 40)
    theirs = theirs_of(partitioners.DirichletPartitioner(4, "label", 0.5, min_partition_size=0), datasets, labels)
    mine = dirichlet(labels, 4, 0.5, np.random.default_rng(2), classes=150)
    for shares in (theirs, [labels[share] for share in mine]):
        counts = of_each(shares, 150)
        assert counts.sum(axis=0).tolist() == [40] * 150
        assert ((counts / 40) ** 2).sum(axis=0).mean() == pytest.approx(0.5, abs=0.05)
        assert counts.mean(axis=1) == pytest.approx([10] * 4, abs=3)
