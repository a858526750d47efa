"""FedLECC: clusters by labels, clients by losses."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose

import heteroselect
from heteroselect import HeteroSelectError, Method
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.traits import Traits
from heteroselect.parts.aggregate import ByShare
from heteroselect.parts.select import FedLECC, OptimalSampling, SelectionContext
from heteroselect.parts.select.fedlecc import by_cluster, connected, hellinger, label_shares


def test_distances_by_hand():
    found = hellinger(np.array([[1, 0], [0, 1], [0.5, 0.5], [np.nan, np.nan]]))
    assert_allclose(found[0], [0, 1, 0.5412, 1], atol=1e-4)
    assert found[3].tolist() == [1, 1, 1, 0]
    assert hellinger(np.empty((2, 0))).tolist() == [[0, 1], [1, 0]]


def test_clusters_are_what_hangs_together():
    places = np.array([0.0, 0.15, 0.3, 0.9, 0.8])
    assert connected(abs(places[:, None] - places), 0.16).tolist() == [0, 0, 0, 3, 3]
    assert connected(abs(places[:, None] - places), 0.0).tolist() == [0, 1, 2, 3, 4]
    assert connected(1 - np.eye(3), 1.0).tolist() == [0, 1, 2]  # of whom nothing is known, or nothing in common


LOSSES = np.array([1.0, 5.0, 3.0, 4.0, 2.0, 4.0])


def test_clusters_by_mean_loss_and_clients_by_their_own():
    # means 3 of {0, 1}, 3.5 of {2, 3} and 3 of {4, 5}
    clusters = np.array([0, 0, 2, 2, 4, 4])
    assert by_cluster(clusters, LOSSES, 3).tolist() == [3, 1, 5]
    assert by_cluster(clusters, LOSSES, 4, count=2).tolist() == [3, 2, 1, 0]
    assert by_cluster(clusters, LOSSES, 3, count=1).tolist() == [3, 2, 1]  # the first cluster has two only
    assert by_cluster(clusters, LOSSES, 5).tolist() == [3, 2, 1, 0, 5]
    assert sorted(by_cluster(clusters, LOSSES, 6).tolist()) == [0, 1, 2, 3, 4, 5]


def test_who_has_not_said_its_labels_is_alone():
    reports = {0: {"label1": 1.0}, 1: {"label1": 0.9, "label3": 0.1}, 3: {"label3": 1.0, "loss": 2.0}}
    population = Population.new(np.full(4, 5)).reported_by(reports)
    assert_allclose(label_shares(population), [[1, 0], [0.9, 0.1], [np.nan] * 2, [0, 1]])
    shuffled = replace(population, reports=dict(reversed(population.reports.items())))  # as after a restart
    assert_allclose(label_shares(shuffled), label_shares(population))
    context = SelectionContext(Moment(2, 9), np.array([2, 4, 6, 8]), population, 3, default_rng(0))
    # {2, 4} are alike with a mean of .65; 6 has .7 and 8 nothing
    assert FedLECC(reach=0.3).select(np.array([0.3, 1.0, 0.7, 0.0]), context).ids.tolist() == [6, 4, 8]
    empty = replace(context, population=Population.new(np.full(4, 5)))
    assert FedLECC().select(np.array([0.3, 1.0, 0.7, 0.0]), empty).ids.tolist() == [4, 6, 2]


SETTINGS = {"clients": 6, "selected": 2, "rounds": 2, "method.solver.steps": 2}


def test_clients_say_their_labels_and_the_ledger_charges_for_it():
    line = heteroselect.run("mnist", method="fedlecc", settings=SETTINGS).rounds[0]
    model = line["bytes_down"] // 2
    labels = (line["bytes_scoring"] - 4 * model - 6 * 4) // 4
    assert 2 <= labels <= 2 * 10
    plain = heteroselect.run("mnist", method="power-of-choice", settings=SETTINGS | {"method.score.mode": "all"})
    assert plain.rounds[0]["bytes_scoring"] == 4 * model + 6 * 4


class Everyone:
    """Takes everybody, and wants to know their labels."""

    traits = Traits(needs={"labels"})

    def select(self, scores, context):
        return context.cohort(np.arange(len(context.ids)))


def test_the_labels_of_those_who_trained_and_were_not_chosen_to_send_are_charged_too():
    """Six clients with examples of all ten classes say their length and their labels; about two of them send."""
    method = Method("mine", select=Everyone(), second_selection=OptimalSampling(), weigh=ByShare())
    line = heteroselect.run("mnist", method=method, settings=SETTINGS | {"data.partition": "iid"}).rounds[0]
    assert sum(size > 0 for size in line["bytes_up_clients"]) < 6
    assert line["bytes_scoring"] == 4 * (6 + 6 * 10)


def test_without_classes_there_are_no_labels():
    import torch

    x = torch.randn(60, 3)
    settings = {"clients": 3, "selected": 2, "rounds": 1, "data.partition": "iid", "method.solver.steps": 1}
    with pytest.raises(HeteroSelectError, match=r"needs \"labels\"; allowed is data whose y are class numbers"):
        heteroselect.run(
            settings,
            method="fedlecc",
            model=lambda: torch.nn.Linear(3, 1),
            data=(x, x[:, :1]),
            test=(x, x[:, :1]),
            loss=torch.nn.functional.mse_loss,
            metric=lambda out, y: 0.0,
        )
