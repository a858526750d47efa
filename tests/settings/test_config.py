"""Settings: what is laid over what, and one sentence for whatever is wrong."""

import re
import tomllib

import pytest

from heteroselect.core.part import declared
from heteroselect.errors import HeteroSelectError
from heteroselect.parts.kinds import KINDS
from heteroselect.settings import Config, describe
from heteroselect.settings.config import load, parse_changes, presets, to_toml
from heteroselect.settings.method import describe as describe_kinds


def loaded(source="mnist", **rest) -> Config:
    return load(source, **rest).config


def test_defaults_are_the_papers_hyper_parameters():
    config = Config()
    assert (config.clients, config.selected, config.rounds) == (100, 10, 100)
    method = load({}).method
    score, allocate, train = method.score, method.allocate, method.solver
    compress, memory = method.compress, method.error_feedback
    assert (score.diversity_weight, score.fairness_weight, score.staleness_weight) == (0.3, 0.2, 0.2)
    assert score.batches == 8
    assert (allocate.average, allocate.amplitude, allocate.floor, allocate.minimum) == (0.2, 0.4, 0.08, 0.005)
    assert (train.steps, train.batch, train.momentum, train.proximal, train.clip) == (50, 32, 0.9, 0.1, 2.0)
    assert (method.lr.kind, method.lr.start, method.lr.decay) == ("shared", 0.05, 0.5)
    assert KINDS["lr"]["score"]().cap == 0.15
    assert (compress.layers, compress.exploration) == (3, 0.2)
    assert (memory.decay, memory.minimum, memory.maximum) == ("adaptive", 0.85, 0.97)
    assert (method.select.temperature, method.server_optimizer.momentum) == (1.0, 0.5)


@pytest.mark.parametrize("name", presets())
def test_a_preset_survives_being_written_and_read(name):
    first = load(name)
    again = load(tomllib.loads(to_toml(first.config)))
    assert (again.config, again.method) == (first.config, first.method)


def test_written_settings_are_complete():
    tables = tomllib.loads(to_toml(loaded()))
    assert set(tables) == set(Config.model_fields)
    assert set(tables["method"]) == {"name", *KINDS}
    for role, table in tables["method"].items():
        if role != "name":
            assert set(table) == {"kind", *declared(KINDS[role][table["kind"]])}, role


def test_a_method_lays_its_settings_over_the_preset():
    found = load("cifar10", method="heteroselect-as-run")
    assert found.config.method_name == found.method.name == "heteroselect-as-run"
    assert found.method.lr.kind == "score"
    assert found.method.allocate.warmup == "allocated"
    assert found.config.data.variant == "authors"
    assert found.config.data.name == "cifar10"


def test_a_single_change_beats_the_method():
    assert load(method="heteroselect-as-run", changes={"method.lr.kind": "shared"}).method.lr.kind == "shared"


def test_a_change_may_be_a_table_and_may_name_the_method():
    method = load(changes={"method": {"name": "heteroselect-as-run", "solver": {"steps": 5}}}).method
    assert (method.name, method.solver.steps, method.lr.kind) == ("heteroselect-as-run", 5, "score")


def test_an_empty_table_changes_nothing():
    config = loaded({"data": {}, "method": {"name": "heteroselect-as-run"}})
    assert config.data.variant == "authors"


def test_a_file_beats_the_method_it_names_itself():
    method = load({"method": {"name": "heteroselect-as-run", "lr": {"kind": "shared"}}}).method
    assert method.lr.kind == "shared"
    assert method.compress.rounding == "floor"


def test_changing_the_method_of_a_complete_file_takes_the_old_ones_settings_back():
    """Of the method nothing is left; what the old one said of the data goes with it, and the rest of the run stays."""
    changes = {"method.solver.steps": 7, "rounds": 9}
    complete = tomllib.loads(to_toml(loaded(method="heteroselect-as-run", changes=changes)))
    assert loaded(complete, method="heteroselect") == loaded(changes={"rounds": 9})
    assert loaded(complete, method="oort") == loaded(method="oort", changes={"rounds": 9})


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("rounds=50", 50),
        ("method.lr.start=0.1", 0.1),
        ("data.augment=false", False),
        ("data.partition=iid", "iid"),
        ('data.partition="iid"', "iid"),
        ("data.name=some/file.npz", "some/file.npz"),
        ("method.select.kind=mine.py:Seldom", "mine.py:Seldom"),
        ("data.dir=a=b", "a=b"),
    ],
)
def test_values_on_the_command_line_are_toml_or_a_bare_word(pair, value):
    assert list(parse_changes([pair]).values()) == [value]


@pytest.mark.parametrize("pair", ["rounds", "=3", ""])
def test_a_change_needs_a_key_and_a_value(pair):
    with pytest.raises(HeteroSelectError, match="key=value"):
        parse_changes([pair])


@pytest.mark.parametrize(
    ("change", "named", "allowed"),
    [
        ({"selected": 101}, "selected", "at most clients"),
        ({"version": 1}, "version", "allowed is 2"),
        ({"clients": 0}, "clients", "a whole number ≥ 1"),
        ({"rounds": 0}, "rounds", "a whole number ≥ 1"),
        ({"rounds": 2.5}, "rounds", "a whole number ≥ 1"),
        ({"seed": -1}, "seed", "a whole number ≥ 0"),
        ({"target": 90}, "target", "a number ≥ 0 and ≤ 1"),
        ({"method.allocate.average": 0}, "method.allocate.average", "a number > 0 and ≤ 1"),
        ({"method.allocate.average": 1.5}, "method.allocate.average", "a number > 0 and ≤ 1"),
        ({"method.allocate.minimum": 0.0}, "method.allocate.minimum", "a number > 0 and ≤ 1"),
        ({"method.allocate.kind": "fair"}, "method.allocate.kind", "all, uniform, score, waterfill"),
        ({"method.lr.start": float("nan")}, "method.lr.start", "a number > 0"),
        ({"method.solver.foo": 1}, "method.solver.foo", "batch, momentum"),
        ({"method.trian.steps": 1}, "method.trian.steps", "score, select"),
        ({"method.solver": 1}, "method.solver", "method.solver.kind"),
        ({"method.solver.steps.x": 1}, "method.solver.steps.x", "no such setting"),
        (
            {"method.error_feedback.minimum": 0.99},
            "method.error_feedback.minimum",
            "at most the maximum, which is 0.97",
        ),
        ({"method.error_feedback.decay": "quick"}, "method.error_feedback.decay", "adaptive or static"),
        ({"nothing": 1}, "nothing", "clients, selected, rounds"),
        ({"rounds.x": 1}, "rounds", "a whole number"),
        ({"rounds": True}, "rounds", "a whole number"),
        ({"method.lr.start": True}, "method.lr.start", "a number > 0"),
        ({"method.solver.steps": 2.5}, "method.solver.steps", "a whole number ≥ 1"),
        ({"method.score": {"mode": "candidates", "candidates": 5}}, "method.score.candidates", "at least selected"),
        ({"world.downlink_min_mbps": 26}, "world", "downlink_max_mbps"),
        ({"world.faults.missing": 0.6, "world.faults.nan": 0.6}, "world.faults", "sum to at most 1"),
        ({"world.faults.late_factor": 0.5}, "world.faults.late_factor", "a number ≥ 1"),
        ({"simulate.store": "tape"}, "simulate.store", "memory or disk"),
        ({"paper": [{"peak": 1}]}, "paper 1.peak", "source, peak_accuracy"),
        ({"world.bandwidth_min_mbps": 6}, "world", "bandwidth_max_mbps"),
        ({"model.name": "vgg"}, "model.name", "logistic, alexnet"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(change, named, allowed):
    with pytest.raises(HeteroSelectError) as caught:
        loaded(changes=change)
    assert str(caught.value).startswith(named)
    assert allowed in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_below_a_value_is_refused():
    with pytest.raises(HeteroSelectError, match="rounds is not a group"):
        loaded({"rounds": 5}, changes={"rounds.x": 1})


def test_an_unknown_source_and_a_file_that_is_not_toml(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("rounds = = 3")
    known = r"no preset 'nope'; allowed are .*cifar10, cifar10-lean, cifar10-small, cifar100, mnist, .*tinyimagenet"
    for source, sentence in (("nope", known), ("missing.toml", "cannot be read"), (broken, "not valid TOML")):
        with pytest.raises(HeteroSelectError, match=sentence):
            loaded(source)


@pytest.mark.parametrize("where", ["source", "argument"])
def test_an_unknown_method(where):
    source, method = ({"method": {"name": "magic"}}, None) if where == "source" else ("mnist", "magic")
    with pytest.raises(HeteroSelectError, match=r"no method 'magic'; `heteroselect methods` lists all"):
        loaded(source, method=method)


def test_every_setting_is_described():
    listed = {setting.name: setting for setting in describe()}
    assert listed["data.augment"].allowed == "true or false"
    assert not any(key.startswith("method.") for key in listed), "those of a method are declared by its parts"
    of_parts = {(kind, setting.name): setting for _, kind, settings in describe_kinds() for setting in settings}
    assert of_parts["score", "method.allocate.average"].allowed == "a number > 0 and ≤ 1"
    assert of_parts["sgd", "method.solver.steps"].default == 50
    assert all(setting.meaning and setting.allowed for setting in (*listed.values(), *of_parts.values()))
    assert {role for role, _, _ in describe_kinds()} == set(KINDS)


def test_what_a_method_says_of_the_run_is_said_and_left_out_where_runs_are_compared():
    """heteroselect2 has a network and a clock of its own."""
    alone = load("cifar10", method="heteroselect2")
    model = alone.config.model
    assert (model.dropout, model.init, alone.config.world.charge) == (0.0, "kaiming", "uplink")
    assert "model.dropout 0.0 comes with heteroselect2" in alone.brought
    asked = load("cifar10", method="heteroselect2", changes={"model.dropout": 0.3})
    assert asked.config.model.dropout == 0.3
    assert not any("dropout" in one for one in asked.brought)
    beside = load("cifar10", method="heteroselect2", compared=True)
    assert (beside.config.model.dropout, beside.config.world.charge) == (0.5, "paper")
    left = "which heteroselect2 has by itself, is left out: compared methods have the same"
    assert {f"model.init kaiming, {left}", f"rounds 84, {left}"} <= set(beside.brought)
    asked = load("cifar10", method="heteroselect2", changes={"model.init": "kaiming"}, compared=True)
    assert not any("model.init" in one for one in asked.brought)
    small = load("mnist", method="heteroselect2")
    assert not any("dropout" in one for one in small.brought)  # the model has none
    assert (load("cifar10").config.rounds, beside.config.rounds) == (100, 100)
    assert "rounds 84 comes with heteroselect2 in cifar10" in alone.brought
    assert load("cifar10", method="heteroselect2", changes={"rounds": 90}).config.rounds == 90
    same, lean = alone.config, load("cifar10-lean").config
    assert same.model_copy(update={"paper": ()}) == lean.model_copy(update={"paper": ()})


def test_a_file_may_say_how_a_run_is_with_one_method(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('rounds = 7\n[with.oort]\nrounds = 9\nworld.charge = "paper"\n')
    assert load(file).config.rounds == load(file, method="fedavg").config.rounds == 7
    found = load(file, method="oort")
    assert (found.config.rounds, found.config.world.charge) == (9, "paper")
    assert f"rounds 9 comes with oort in {file}" in found.brought
    assert load(file, method="oort", compared=True).config.rounds == 7
    assert load(file, changes={"method.name": "oort"}).config.rounds == 9
    assert load(file, method="oort", changes={"rounds": 8}).config.rounds == 8
    file.write_text('rounds = 7\n[method]\nname = "oort"\n[with.oort]\nrounds = 9\n')
    assert load(file).config.rounds == 9  # whoever names the method
    file.write_text('[with.heteroselect2]\nmodel.dropout = 0.1\n[model]\nname = "alexnet"\n')
    found = load(file, method="heteroselect2")
    assert found.config.model.dropout == 0.1
    assert [one for one in found.brought if "dropout" in one] == [
        f"model.dropout 0.1 comes with heteroselect2 in {file}"
    ]
    file.write_text("clients = 5\nselected = 2\n[with.oort]\nclients = 4\n")  # fewer than by default are selected
    assert load(file, method="oort").config.clients == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[with]\noort = 3", "with.oort: allowed below [with.NAME] are settings of the run, such as rounds;"),
        ("with = 3", "with: allowed below [with.NAME]"),
        ("[with.oort]\nversion = 2", "with.oort.version: allowed below [with.NAME]"),
        ("[with.oort.method]\nname = 'fedavg'", "with.oort.method.name: allowed below [with.NAME]"),
        ("[with.oart]\nrounds = 3", "with.oart: there is no method 'oart' (did you mean oort?)"),
        ("[with.oort]\nround = 3", "with.oort.round: there is no 'round' in the top level"),
        ("rounds = 5\n[with.oort]\nrounds = 'x'", "with.oort.rounds: allowed is a whole number"),
        ("[with.oort.world]\ncharge = 'x'", "with.oort.world.charge: allowed is"),
    ],
)
def test_what_is_said_of_a_run_with_one_method_is_checked_whoever_runs(tmp_path, text, said):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(HeteroSelectError, match=re.escape(said)):
        load(file)
