"""Replay: the authors' logs follow from our parts, and a log that does not is found out."""

import json
from pathlib import Path

import pytest

from heteroselect.errors import HeteroSelectError
from heteroselect.paper.replay import replay

LOGS = json.loads((Path(__file__).parent / "logs.json").read_text())
"""Rounds 1, 2 and 100 of two of the authors' logs, as they published them."""
LOG = {**LOGS["mnist"], "rounds": LOGS["mnist"]["rounds"][:1]}


def written(tmp_path, log=LOG):
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    return path


def changed(**entry):
    return {**LOG, "rounds": [{**LOG["rounds"][0], **entry}]}


@pytest.mark.parametrize("name", LOGS)
def test_rounds_of_the_authors_logs_agree(tmp_path, name):
    result = replay(written(tmp_path, LOGS[name]))
    assert (result.passed, result.rounds) == (True, 3)
    assert max(result.deviations.values()) < 1e-3
    assert result.deviations["theta_k"] > 0  # compared, not copied


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("tau", 0.9901),
        ("lr_base", 0.0499),
        ("theta_t", 0.99),
        ("beta_t", 0.86),
        ("sim_time_s", 23.75),
        ("sim_traffic_mb", 0.25663),
        ("theta_k", [0.89689, 1.0, 1.0, 0.96049, 0.2285, 0.89414, 1.0, 0.93424, 0.2493, 1.0]),
    ],
)
def test_one_wrong_number_is_found(tmp_path, quantity, value):
    result = replay(written(tmp_path, changed(**{quantity: value})))
    assert list(result.failures) == [quantity]
    assert result.failures[quantity] == "round 1"


def test_a_deviation_small_in_either_way_is_rounding(tmp_path):
    small = [*LOG["rounds"][0]["theta_k"]]
    small[4] += 1.5e-5
    assert replay(written(tmp_path, changed(theta_k=small))).passed
    assert replay(written(tmp_path, changed(sim_time_s=23.71))).passed


def test_every_log_of_the_authors_agrees(shared):
    logs = sorted((shared / "reference").glob("*.json"))
    assert logs
    for log in logs:
        result = replay(log)
        assert result.passed, (log.name, result.failures)
        assert result.rounds == 100


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (json.dumps(LOG)[:-40], "torn or not JSON"),
        ("", "torn or not JSON"),
        ("[]", "not a log of the authors' format"),
        ("{}", "not a log of the authors' format"),
        (json.dumps({**LOG, "rounds": []}), "not a log of the authors' format"),
        (json.dumps({**LOG, "fl_config": {}}), "local_steps is missing"),
        (json.dumps({**LOG, "rounds": [{"round": 1}]}), "selected is missing"),
        (json.dumps({**LOG, "rounds": 3}), "not a log of the authors' format"),
        (json.dumps(changed(scores_sel=[1.0])), "one score and one bandwidth per client"),
        (json.dumps(changed(theta_k=[1.0])), "theta_k of round 1"),
        (json.dumps(changed(selected=[100] * 10)), "not a log of the authors' format"),
        (json.dumps(changed(selected=[-1] * 10)), "that cannot be"),
        (json.dumps(changed(bw_mbps_sel=[float("nan")] * 10)), "that cannot be"),
        (json.dumps({**LOG, "fl_config": {**LOG["fl_config"], "num_rounds": 0}}), "not a log of the authors' format"),
    ],
)
def test_another_format_is_refused_in_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(HeteroSelectError, match=sentence) as caught:
        replay(path)
    assert str(path) in str(caught.value)
    with pytest.raises(HeteroSelectError, match="cannot be read"):
        replay(tmp_path / "none.json")
