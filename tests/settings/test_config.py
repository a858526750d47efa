"""Settings: what is laid over what, and one sentence for whatever is wrong."""

import tomllib

import pytest

from heteroselect import methods
from heteroselect.errors import HeteroSelectError
from heteroselect.settings import Config, describe
from heteroselect.settings.config import load, parse_changes, presets, to_toml


def loaded(source="mnist", **rest) -> Config:
    return load(source, methods=methods.SETTINGS, **rest)


def test_defaults_are_the_papers_hyper_parameters():
    config = Config()
    assert (config.clients, config.selected, config.rounds) == (100, 10, 100)
    score, allocate, train, compress = (
        config.method.score,
        config.method.allocate,
        config.method.train,
        config.method.compress,
    )
    assert (score.diversity_weight, score.fairness_weight, score.staleness_weight) == (0.3, 0.2, 0.2)
    assert (score.staleness_gamma, score.batches, score.consensus_keep) == (0.5, 8, 0.9)
    assert (allocate.average, allocate.amplitude, allocate.floor, allocate.minimum) == (0.2, 0.4, 0.08, 0.005)
    assert (train.steps, train.batch, train.momentum, train.proximal, train.clip) == (50, 32, 0.9, 0.1, 2.0)
    assert (train.rate, train.rate_rule, train.rate_cap) == (0.05, "shared", 0.15)
    assert (compress.curvature_layers, compress.curvature_exploration) == (3, 0.2)
    assert (compress.decay_min, compress.decay_max) == (0.85, 0.97)
    assert (config.method.select.temperature, config.method.aggregate.momentum) == (1.0, 0.5)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "cifar10-lean", "cifar100", "tinyimagenet"])
def test_a_preset_survives_being_written_and_read(name):
    config = loaded(name)
    assert loaded(tomllib.loads(to_toml(config))) == config
    assert name in presets()


def test_written_settings_are_complete():
    tables = tomllib.loads(to_toml(loaded()))
    assert set(tables) == set(Config.model_fields)
    assert set(tables["method"]["allocate"]) == set(type(Config().method.allocate).model_fields)


def test_a_method_lays_its_settings_over_the_preset():
    config = loaded("cifar10", method="heteroselect-as-run")
    assert config.method.name == "heteroselect-as-run"
    assert config.method.train.rate_rule == "score"
    assert config.method.allocate.warmup == "allocated"
    assert config.data.variant == "authors"
    assert config.data.name == "cifar10"


def test_a_single_change_beats_the_method():
    config = loaded(method="heteroselect-as-run", changes={"method.train.rate_rule": "shared"})
    assert config.method.train.rate_rule == "shared"


def test_a_change_may_be_a_table():
    config = loaded(method="heteroselect-as-run", changes={"method": {"train": {"steps": 5}}})
    assert (config.method.name, config.method.train.steps) == ("heteroselect-as-run", 5)
    assert config.method.train.rate_rule == "score"


def test_an_empty_table_changes_nothing():
    config = loaded({"data": {}, "method": {"name": "heteroselect-as-run"}})
    assert config.data.variant == "authors"


def test_a_file_beats_the_method_it_names_itself():
    config = loaded({"method": {"name": "heteroselect-as-run", "train": {"rate_rule": "shared"}}})
    assert config.method.train.rate_rule == "shared"
    assert config.method.compress.rounding == "floor"


def test_changing_the_method_of_a_complete_file_takes_the_old_ones_settings_back():
    complete = tomllib.loads(to_toml(loaded(method="heteroselect-as-run", changes={"method.train.steps": 7})))
    config = loaded(complete, method="heteroselect")
    assert config == loaded(changes={"method.train.steps": 7})


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("rounds=50", 50),
        ("method.train.rate=0.1", 0.1),
        ("data.augment=false", False),
        ("data.partition=iid", "iid"),
        ('data.partition="iid"', "iid"),
        ("data.name=some/file.npz", "some/file.npz"),
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
        ({"clients": 0}, "clients", "a whole number ≥ 1"),
        ({"rounds": 0}, "rounds", "a whole number ≥ 1"),
        ({"rounds": 2.5}, "rounds", "a whole number ≥ 1"),
        ({"seed": -1}, "seed", "a whole number ≥ 0"),
        ({"target": 90}, "target", "a number ≥ 0 and ≤ 1"),
        ({"method.allocate.average": 0}, "method.allocate.average", "a number > 0 and ≤ 1"),
        ({"method.allocate.average": 1.5}, "method.allocate.average", "a number > 0 and ≤ 1"),
        ({"method.allocate.minimum": 0.0}, "method.allocate.minimum", "a number > 0 and ≤ 1"),
        ({"method.allocate.rule": "fair"}, "method.allocate.rule", "adaptive, uniform or waterfill"),
        ({"method.train.rate": float("nan")}, "method.train.rate", "a number > 0"),
        ({"method.train.foo": 1}, "method.train.foo", "batch, momentum"),
        ({"nothing": 1}, "nothing", "clients, selected, rounds"),
        ({"rounds.x": 1}, "rounds", "a whole number"),
        ({"rounds": True}, "rounds", "a whole number"),
        ({"method.train.rate": True}, "method.train.rate", "a number > 0"),
        (
            {"method.score.mode": "candidates", "method.score.candidates": 5},
            "method.score.candidates",
            "at least selected",
        ),
        ({"world.downlink_min_mbps": 26}, "world", "downlink_max_mbps"),
        ({"method.compress.kind": "qsgd"}, "method.compress", "memory must be none with qsgd"),
        ({"method.compress.kind": "wangni"}, "method.compress", "memory must be none with wangni"),
        (
            {"method.compress.kind": "randomk", "method.compress.randomk_scaled": True},
            "method.compress",
            "memory must be none with randomk",
        ),
        (
            {"method.compress.kind": "sign", "method.compress.sign_scale": "step"},
            "method.compress",
            "memory must be none with signs of a fixed step",
        ),
        (
            {"method.compress.kind": "stc", "method.compress.values": "uniform4"},
            "method.compress",
            "values must be float32 with kind stc",
        ),
        (
            {"method.compress.kind": "sign", "method.compress.memory": "momentum"},
            "method.compress",
            "memory must not be momentum with kind sign",
        ),
        ({"method.compress.kind": "terngrad", "method.compress.memory": "ef21"}, "method.compress", "must be none"),
        ({"method.compress.memory": "ef21"}, "method", "aggregate.weights must be everybody"),
        ({"method.aggregate.weights": "everybody"}, "method", "with compress.memory ef21 only"),
        (
            {"method.compress.memory": "ef21", "method.aggregate.weights": "everybody"},
            "method",
            "aggregate.momentum must be 0",
        ),
        ({"world.faults.missing": 0.6, "world.faults.nan": 0.6}, "world.faults", "sum to at most 1"),
        ({"world.faults.late_factor": 0.5}, "world.faults.late_factor", "a number ≥ 1"),
        ({"simulate.store": "tape"}, "simulate.store", "memory or disk"),
        ({"paper": [{"peak": 1}]}, "paper.0.peak", "source, peak_accuracy"),
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


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("nope", "no preset 'nope'; allowed are cifar10, cifar10-lean, cifar100, mnist, tinyimagenet"),
        ("missing.toml", "cannot be read"),
    ],
)
def test_an_unknown_source(source, sentence):
    with pytest.raises(HeteroSelectError, match=sentence):
        loaded(source)


def test_a_file_that_is_not_toml(tmp_path):
    file = tmp_path / "broken.toml"
    file.write_text("rounds = = 3")
    with pytest.raises(HeteroSelectError, match="not valid TOML"):
        loaded(file)


@pytest.mark.parametrize("where", ["source", "argument"])
def test_an_unknown_method(where):
    source, method = ({"method": {"name": "magic"}}, None) if where == "source" else ("mnist", "magic")
    with pytest.raises(HeteroSelectError, match=r"no method 'magic'; allowed are .*heteroselect, heteroselect-as-run"):
        loaded(source, method=method)


def test_every_setting_is_described():
    listed = {setting.key: setting for setting in describe()}
    assert listed["method.allocate.average"].allowed == "a number > 0 and ≤ 1"
    assert listed["method.train.steps"].default == 50
    assert listed["data.augment"].allowed == "true or false"
    assert all(setting.meaning for setting in listed.values())
