"""Runs whose clients are owners: what comes of them, what a resumed run is, and what the summary says of clients."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import heteroselect
from heteroselect.core.evaluate import owner_accuracies
from heteroselect.data.examples import Examples, Source
from heteroselect.data.federation import Federation
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.spread import shares, spread
from run_folders import PowerError, stop

pytestmark = pytest.mark.slow  # they train, draw or start processes

SMALL: dict[str, Any] = {"selected": 3, "rounds": 5, "method": {"solver": {"steps": 4, "batch": 8}}}
RNG = np.random.default_rng(3)


def points(count: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(count) % 3
    return RNG.normal(size=(count, 4)).astype(np.float32) + 2 * np.eye(3, 4, dtype=np.float32)[y] + shift, y


PEOPLE = {f"p{k}": points(10 + 5 * k, 0.1 * k) for k in range(8)}


def run(settings: dict[str, Any] | None = None, **rest: Any) -> heteroselect.Result:
    return heteroselect.run(SMALL, settings=settings, threads=1, **rest)


# Whole runs


def test_a_mapping_makes_one_client_per_owner():
    found = run(data=PEOPLE)
    assert found.summary["owners"] == list(PEOPLE)
    assert (found.config.clients, found.config.data.partition) == (8, "natural")
    assert found.summary["client_accuracy_of"] == "own examples"
    assert (found.summary["unseen_owners"], found.summary["unseen_accuracy"]) == (0, None)


def test_owners_held_out_are_evaluated_on_and_take_no_part():
    natural = {"data.partition": "natural", "data.unseen_fraction": 0.25}
    found = run(natural, data=PEOPLE)
    assert len(found.summary["owners"]) == 6
    assert found.summary["unseen_owners"] == 2
    assert 0 <= found.summary["unseen_accuracy"] <= 1
    assert run({**natural, "seed": 7}, data=PEOPLE).summary["owners"] != found.summary["owners"]
    fewer = run({**natural, "clients": 4}, data=PEOPLE).summary["owners"]
    assert len(fewer) == 4
    assert set(fewer) < set(found.summary["owners"])


def test_while_settings_are_tuned_neither_test_part_nor_unseen_owners_are_looked_at():
    tune = {"data.partition": "natural", "data.validation_fraction": 0.2, "data.evaluate": "validation"}
    found = run({**tune, "data.unseen_fraction": 0.25}, data=PEOPLE)
    assert (found.summary["unseen_owners"], found.summary["unseen_accuracy"]) == (0, None)
    assert found.summary["client_accuracy_of"] == "own examples"


def test_more_clients_than_owners_are_refused():
    with pytest.raises(HeteroSelectError, match="clients: choose at most 8, the owners that have 1 or more"):
        run({"clients": 9}, data=PEOPLE)
    with pytest.raises(HeteroSelectError, match="selected: choose at most the number of clients, which is 2"):
        run(data={name: PEOPLE[name] for name in ("p0", "p1")})


def test_a_setting_of_owners_has_no_effect_without_them():
    with pytest.raises(
        HeteroSelectError, match=r"data\.unseen_fraction: it has no effect while data\.partition is dom"
    ):
        heteroselect.load("mnist", changes={"data.unseen_fraction": 0.1})


def table(path: Path, people: dict[str, Any] = PEOPLE) -> Path:
    lines = ["who,a,b,c,d,label"]
    lines += [
        f"{who},{','.join(map(str, row))},{label}"
        for who, (x, y) in people.items()
        for row, label in zip(x, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_table_with_owners_is_broken_off_and_goes_on_to_the_same_bits(tmp_path: Path):
    settings = {
        **{"clients": 5, "data.name": str(table(tmp_path / "people.csv")), "data.partition": "natural"},
        **{"data.owner_column": "who", "data.owner_min_examples": 12, "simulate.checkpoint_rounds": 1},
    }
    whole = run(settings, out=tmp_path / "whole")
    with pytest.raises(PowerError):
        run(settings, out=tmp_path / "half", watch=stop)
    found = heteroselect.resume(tmp_path / "half", threads=1)
    assert found.summary["model_sha256"] == whole.summary["model_sha256"]
    assert found.summary["owners"] == whole.summary["owners"]
    assert found.summary["bytes_jain"] == whole.summary["bytes_jain"]
    assert Fingerprint.read(tmp_path / "half") == Fingerprint.read(tmp_path / "whole")


def test_a_run_does_not_go_on_with_examples_of_other_owners(tmp_path: Path):
    file = table(tmp_path / "people.csv")
    settings = {
        **{"clients": 5, "data.name": str(file), "data.partition": "natural", "data.owner_column": "who"},
        "simulate.checkpoint_rounds": 1,
    }
    with pytest.raises(PowerError):
        run(settings, out=tmp_path / "half", watch=stop)
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("p0,", "p1,"), encoding="utf-8")
    with pytest.raises(HeteroSelectError, match=r"is of another experiment .*data"):
        heteroselect.resume(tmp_path / "half", threads=1)


class Letters(nn.Module):
    """The next symbol after each of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.table(x.long()).transpose(1, 2)


def test_examples_with_several_targets_are_learnt_and_counted():
    """Symbol s is always followed by s + 1: a table of 25 numbers can learn it."""
    x = (torch.arange(60).view(-1, 1) + torch.arange(6)).remainder(5)
    part = Examples(x.to(torch.uint8), (x + 1).remainder(5), torch.arange(60) % 4)
    source = Source("letters", part, part, 5, None, owners=("a", "b", "c", "d"))
    settings = {"data.partition": "natural", "rounds": 6, "method.lr.start": 1.0}
    for method in ("fedavg", "oort", "fedlecc"):
        found = heteroselect.run(SMALL, method=method, settings=settings, threads=1, data=source, model=Letters)
        assert found.final_accuracy > 0.9
        assert len(found.rounds[-1]["class_accuracy"]) == 5
        assert found.summary["client_accuracy_mean"] > 0.9


# The figures


def test_accuracy_of_each_owner_by_hand():
    outputs = torch.tensor([[1, 0], [0, 1], [1, 0], [1, 0]]).float()
    targets, owner = torch.tensor([0, 0, 0, 1]), torch.tensor([0, 0, 2, 2])
    assert owner_accuracies(outputs, targets, owner, 4) == [0.5, None, 0.5, None]
    several = owner_accuracies(outputs.view(2, 2, 2), targets.view(2, 2), torch.tensor([1, 0]), 2)
    # along the second axis: (1, 0), (0, 1) → 0, 1; (1, 1), (0, 0) → 0, 0
    assert several == [0.5, 0.5]
    assert owner_accuracies(outputs[:, 0], targets, owner, 4) is None


def test_the_figures_about_clients_by_hand():
    y = torch.zeros(8, dtype=torch.int64)
    test = Examples(torch.zeros(8, 1), y, torch.tensor([0, 0, 0, 0, 1, 1, 2, 2]))
    parts = [Examples(torch.zeros(1, 1), y[:1])] * 4
    federation = Federation("hand-made", parts, test, 2, None, owners=("a", "b", "c", "d"))
    right = torch.tensor([1, 1, 1, 0, 1, 1, 0, 1]).float()  # 3/4, 1, 1/2, and nothing to be judged on
    lines = [
        {"selected": [0, 3], "bytes_up_clients": [100, 200]},
        {"selected": [0, 1], "bytes_up_clients": [100, 0]},
    ]
    found = spread(torch.stack([right, 1 - right], 1), federation, lines)
    assert found["client_accuracy_mean"] == 0.75
    assert found["client_accuracy_worst_tenth"] == 0.5
    assert found["client_accuracy_std"] == pytest.approx(np.sqrt(0.125 / 3))
    assert (found["never_selected"], found["client_accuracy_never_selected"]) == (1, 0.5)
    taken, sent = shares(lines, 4)
    assert (taken.tolist(), sent.tolist()) == ([2, 1, 0, 1], [200, 0, 0, 200])
    assert found["participation_jain"] == pytest.approx(16 / (4 * 6))
    assert found["bytes_jain"] == pytest.approx(0.5)
    assert spread(torch.stack([right, 1 - right], 1), federation, [])["participation_jain"] is None
