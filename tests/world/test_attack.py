"""Hostile clients: what each kind sends, by hand; and what a tenth of them does to a run, with and without defence."""

import numpy as np
import pytest

import heteroselect
from heteroselect.core.messages import Upload
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.parts.aggregate import Screen
from heteroselect.parts.compress.wire import decode, encode
from heteroselect.runs.experiment import prepare
from heteroselect.settings.config import load
from heteroselect.world import Attack

VECTORS = {0: [3.0, 4.0], 1: [0.6, 0.8], 2: [6.0, 8.0], 3: [1.0, 0.0]}
HOSTILE = np.array([False, False, False, True])


def sent_by(attack: Attack, bound: float = 100.0) -> dict[int, list[float]]:
    uploads = {
        k: Upload(k, encode(Update.whole(np.array(vector, np.float32))), 5, {"loss": 2.0, "norm": 1.0})
        for k, vector in VECTORS.items()
    }
    found = attack.uploads(uploads, HOSTILE, 2, bound, 1, Streams(1))
    return {k: decode(one.payload, 2).values.tolist() for k, one in found.items()}


def test_an_attack_changes_what_hostile_clients_send_and_nothing_else() -> None:
    assert sent_by(Attack("flip", 0.25, 10.0)) == {**{k: pytest.approx(v) for k, v in VECTORS.items()}, 3: [-10.0, 0.0]}
    hidden = sent_by(Attack("hidden", 0.25))[3]
    assert hidden == pytest.approx([-0.99 * 100 * 5.0, 0.0])  # the median length of the others is 5
    noise = sent_by(Attack("gaussian", 0.25, 3.0))[3]
    assert noise != VECTORS[3]
    assert np.isfinite(noise).all()
    assert sent_by(Attack("lie", 0.25)) == {k: pytest.approx(v) for k, v in VECTORS.items()}


def test_the_hidden_attack_passes_the_screen_it_knows() -> None:
    for bound in (3.0, 100.0):
        vectors = {**VECTORS, 3: sent_by(Attack("hidden", 0.25), bound)[3]}
        updates = {k: Update.whole(np.array(v, np.float32)) for k, v in vectors.items() if k != 1}
        assert Screen(bound).refused(updates) == set()


def test_the_share_is_drawn_once_and_lies_are_told() -> None:
    attack = Attack("lie", 0.3, 10.0)
    first, second = (attack.hostile(20, Streams(7)) for _ in range(2))
    assert first.sum() == 6
    assert (first == second).all()
    assert (first != attack.hostile(20, Streams(8))).any()
    assert not Attack("none", 0.3).hostile(20, Streams(7)).any()
    assert attack.losses(np.array([1.0, 2.0]), np.array([False, True])).tolist() == [1.0, 20.0]


def last(**changes: object) -> float:
    settings = {"clients": 20, "selected": 10, "rounds": 6, "method.solver.steps": 10, **changes}
    return heteroselect.run("mnist", method="fedavg", settings=settings).final_accuracy


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flip", "hidden"])
def test_a_tenth_of_hostile_clients_ruins_the_mean_and_not_the_median(kind: str) -> None:
    attack = {"world.attack.kind": kind, "world.attack.share": 0.1, "world.attack.strength": 30.0}
    assert last(**attack) < 0.6
    assert last(**attack, **{"method.aggregate.kind": "median"}) > 0.75


@pytest.mark.slow
def test_a_liar_is_noted_and_labels_turned_around_reach_training() -> None:
    lie = {"world.attack.kind": "lie", "world.attack.share": 0.1, "world.attack.strength": 1e29}
    settings = {"clients": 20, "selected": 5, "rounds": 2, "method.solver.steps": 2}
    lines = heteroselect.run("mnist", settings={**settings, **lie}).rounds
    assert {event["client"] for line in lines for event in line["events"] if event["kind"] == "claim"}
    plain = last()
    assert last(**{"world.attack.kind": "labels", "world.attack.share": 0.5}) < plain - 0.05


def test_who_trains_on_wrong_labels_is_drawn_once_for_all_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    hostile = Attack.hostile
    monkeypatch.setattr(Attack, "hostile", lambda self, *words: drawn.append(1) or hostile(self, *words))
    changes = {"clients": 30, "world.attack.kind": "labels", "world.attack.share": 0.5}
    experiment = prepare(load("mnist", method="fedavg", changes=changes))
    pairs = zip(experiment.clients(), experiment.federation.clients, strict=True)
    turned = [bool((client.examples.y != given.y).any()) for client, given in pairs]
    assert sum(turned) == 15
    assert len(drawn) == 1
