"""A method written down: crossing kinds by name, what a kind brings, what is refused, and parts from files."""

import dataclasses
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import heteroselect
from heteroselect import HeteroSelectError, Method, methods
from heteroselect.parts.compress import Drive, ErrorMemory
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select import DivFL, Oort, Softmax, Uniform
from heteroselect.runs.folder import CONFIG, read_rounds
from heteroselect.settings.config import Loaded, load, to_toml
from heteroselect.settings.method import changed, completed, table, title
from run_folders import PowerError, stop

SMALL: dict[str, Any] = {"clients": 8, "selected": 2, "rounds": 3, "method.solver.steps": 2, "method.solver.batch": 8}


def chosen(method: str | Method, **kinds: Any) -> Loaded:
    """A method with `role=kind` or `role__setting=value` changed."""
    keys = {key.replace("__", ".") if "__" in key else f"{key}.kind": value for key, value in kinds.items()}
    return load("mnist", method=method, changes={f"method.{key}": value for key, value in keys.items()})


def kinds_of(method: Method) -> dict[str, str]:
    return {role: part.kind for role, part in method.parts()}


# The registry, written down and read.


@pytest.mark.parametrize("name", methods.REGISTRY)
def test_every_method_survives_being_written_and_read(name):
    first = load("mnist", method=name)
    text = to_toml(first.config)
    again = load(tomllib.loads(text))
    assert again.method == first.method == methods.get(name)
    assert again.brought == ()
    assert to_toml(again.config) == text
    assert first.config.method == tomllib.loads(tomli_w.dumps(table(first.method)))


@pytest.mark.parametrize("name", ["heteroselect", "fedacg", "stc"])
def test_a_method_written_down_before_there_was_a_role_or_a_setting_is_completed(name):
    whole = load("mnist", method=name).config.method
    earlier = {role: one for role, one in whole.items() if role not in ("model_average", "downlink")}
    earlier["server_optimizer"] = {key: value for key, value in earlier["server_optimizer"].items() if key != "show"}
    assert completed(earlier) == completed(whole) == whole
    assert completed({**earlier, "name": "mine"}) != whole


@pytest.mark.parametrize(("role", "kind"), [(role, kind) for role, kinds in KINDS.items() for kind in kinds])
def test_every_kind_can_be_chosen_by_name_and_survives(role, kind):
    """On the method of the registry that has it, and else on FedAvg."""
    base = next((e.method for e in methods.REGISTRY.values() if kinds_of(e.method)[role] == kind), Method())
    found = chosen(base, **{role: kind})
    assert kinds_of(found.method)[role] == kind
    assert load(tomllib.loads(to_toml(found.config)), method=None if found.method.name in methods.REGISTRY else base)


# Crossing.


@pytest.mark.slow
def test_two_published_rules_are_crossed_by_name_and_the_run_can_be_run_again(tmp_path):
    changes = SMALL | {"method.select.kind": "oort", "method.compress.kind": "stc"}
    first = heteroselect.run("mnist", method="fedavg", settings=changes, out=tmp_path / "a")
    written = tomllib.loads((tmp_path / "a" / CONFIG).read_text())["method"]
    assert written["name"] == "fedavg"
    kinds = {"select": "oort", "compress": "stc", "error_feedback": "error", "allocate": "uniform", "weigh": "uniform"}
    assert {role: written[role]["kind"] for role in kinds} == kinds
    again = heteroselect.run(tmp_path / "a" / CONFIG, out=tmp_path / "b")
    assert again.model_sha256 == first.model_sha256
    assert again.rounds == first.rounds
    assert (tmp_path / "a" / CONFIG).read_bytes() == (tmp_path / "b" / CONFIG).read_bytes()
    plain = heteroselect.run("mnist", method="fedavg", settings=SMALL)
    assert plain.model_sha256 != first.model_sha256
    assert first.bytes_up < 0.2 * plain.bytes_up


def test_the_order_of_settings_does_not_matter():
    keys = {"method.compress.rounding": "floor", "method.compress.kind": "stc", "method.select.kind": "oort"}
    backwards = dict(reversed(keys.items()))
    first, second = (load("mnist", method="fedavg", changes=one) for one in (keys, backwards))
    assert (first.config, first.method) == (second.config, second.method)
    assert sorted(first.brought) == sorted(second.brought)


def test_a_file_of_ones_own_may_cross_too():
    found = load({"method": {"name": "fedavg", "select": {"kind": "oort", "tired": 3}, "compress": {"kind": "stc"}}})
    assert (found.method.select, found.method.error_feedback.kind) == (Oort(tired=3), "error")


# What a kind brings.


def test_sparse_ternary_compression_brings_its_memory_and_density_and_says_so():
    found = chosen("oort", compress="stc")
    assert found.method.error_feedback == ErrorMemory("static", static=1.0)
    assert found.method.error_feedback.beta(0.01) == 1.0
    assert (found.method.allocate.kind, found.method.allocate.average) == ("uniform", 0.01)
    assert [text.split(" (")[0] for text in found.brought] == [
        "method.compress.kind=stc brings method.error_feedback.kind=error",
        "method.compress.kind=stc brings method.allocate.kind=uniform",
    ]
    assert "static=1.0" in found.brought[0]
    assert "average=0.01" in found.brought[1]


def test_what_the_user_set_is_left_as_it_is():
    assert chosen("oort", compress="stc", error_feedback="none").method.error_feedback.kind == "none"
    mine = chosen("oort", compress="stc", error_feedback="error", error_feedback__static=0.5).method.error_feedback
    assert mine == ErrorMemory(static=0.5)
    dense = chosen("oort", compress="stc", allocate="uniform", allocate__average=0.5)
    assert (dense.method.allocate.average, len(dense.brought)) == (0.5, 1)


def test_what_a_method_has_already_is_left_as_it_is():
    found = chosen("heteroselect", compress="stc")
    assert found.method.error_feedback == methods.get("heteroselect").error_feedback
    assert found.method.allocate == methods.get("heteroselect").allocate
    assert found.brought == ()


@pytest.mark.parametrize(
    ("base", "choice", "expected"),
    [
        ("heteroselect", {"compress": "drive"}, {"error_feedback": "none", "allocate": "score"}),
        ("heteroselect", {"compress": "qsgd"}, {"error_feedback": "none", "allocate": "all"}),
        ("heteroselect", {"compress": "sign"}, {"error_feedback": "error", "allocate": "all"}),
        ("heteroselect", {"error_feedback": "ef21"}, {"weigh": "everybody", "server_optimizer": "running"}),
        ("heteroselect", {"solver": "scaffold"}, {"weigh": "uniform"}),
        ("fedavg", {"select": "softmax"}, {"score": "informativeness", "weigh": "data"}),
        ("fedavg", {"weigh": "score"}, {"score": "informativeness"}),
        ("fedavg", {"select": "delta"}, {"weigh": "share"}),
        ("fedavg", {"select": "divfl"}, {"weigh": "data"}),
        ("fedavg", {"compress": "topk"}, {"error_feedback": "error", "allocate": "uniform"}),
        ("fedavg", {"allocate": "uniform"}, {"compress": "topk"}),
        ("fedavg", {"allocate": "score"}, {"compress": "topk", "score": "informativeness"}),
        ("fedavg", {"second_selection": "optimal-client-sampling"}, {"select": "pool", "weigh": "share"}),
        ("fedavg", {"server_optimizer": "majority"}, {"compress": "sign", "weigh": "uniform"}),
        ("heteroselect", {"allocate": "price"}, {"compress": "drive"}),
        ("heteroselect", {"weigh": "variance"}, {"compress": "drive", "allocate": "score"}),
        ("heteroselect", {"allocate": "deadline"}, {"compress": "drive"}),
        ("scaffold", {"allocate": "deadline"}, {"compress": "drive"}),
        ("lean", {"allocate": "deadline"}, {"compress": "drive"}),
    ],
)
def test_a_kind_brings_what_its_paper_needs(base, choice, expected):
    found = chosen(base, **choice)
    assert {role: kinds_of(found.method)[role] for role in expected} == expected
    changed = [role for role, kind in expected.items() if kind != kinds_of(methods.get(base))[role]]
    ((role, kind),) = choice.items()
    for other in changed:
        said = f"method.{role}.kind={kind} brings method.{other}.kind={expected[other]}"
        assert any(text.startswith(said) for text in found.brought), (said, found.brought)


@pytest.mark.parametrize("choice", [{"allocate": "price"}, {"allocate": "deadline"}, {"weigh": "variance"}])
def test_what_was_brought_takes_away_what_it_cannot_work_with(choice):
    """An unbiased coder instead of the curvature mask, and with it no error memory."""
    found = chosen("heteroselect", **choice)
    assert found.method.error_feedback.kind == "none"
    assert any(
        text.startswith("method.compress.kind=drive brings method.error_feedback.kind=none") for text in found.brought
    )


def test_a_biased_compressor_is_kept_with_a_deadline_where_both_were_chosen():
    found = chosen("heteroselect", allocate="deadline", compress="topk")
    assert (found.method.compress.kind, found.method.error_feedback.kind) == ("topk", "error")


def test_the_papers_ablation_keeps_schedule_and_ceiling():
    """`--method heteroselect --set method.allocate.kind=uniform` takes the score out of eq. 8, and nothing else."""
    before, after = methods.get("heteroselect").allocate, chosen("heteroselect", allocate="uniform").method.allocate
    assert after.kind == "uniform"
    for one in dataclasses.fields(before):
        assert getattr(after, one.name) == getattr(before, one.name), one.name


def test_another_solver_keeps_steps_and_batch_and_another_rate_its_start():
    train = chosen(Method("mine", solver=KINDS["solver"]["sgd"](steps=7, batch=5)), solver="scaffold").method.solver
    assert (train.steps, train.batch) == (7, 5)
    rate = chosen("lean", lr="score", score="informativeness").method.lr
    assert (rate.start, rate.decay) == (0.2, 1.0)


# Refused.


ERROR, NONE_ONLY = {"error_feedback": "error"}, "error_feedback none only"


@pytest.mark.parametrize(
    ("base", "choice", "named", "reason"),
    [
        ("heteroselect", {"compress": "drive"} | ERROR, "method.compress", f"allowed with {NONE_ONLY}"),
        ("heteroselect", {"compress": "qsgd"} | ERROR, "method.compress", NONE_ONLY),
        ("heteroselect", {"compress": "wangni"} | ERROR, "method.compress", NONE_ONLY),
        ("heteroselect", {"compress": "terngrad", "error_feedback": "ef21"}, "method.compress", NONE_ONLY),
        ("heteroselect", {"compress": "sign", "compress__scale": "step"} | ERROR, "method.compress", NONE_ONLY),
        ("heteroselect", {"allocate": "price"} | ERROR, "method.compress", NONE_ONLY),
        ("heteroselect", {"compress": "sign", "error_feedback": "momentum"}, "method.", "momentum"),
        ("heteroselect", {"compress": "stc", "quantize": "uniform"}, "method.compress", "few-bit values of its own"),
        ("stc", {"quantize": "uniform"}, "method.compress", "stc has few-bit values of its own"),
        ("fedpaq", {"allocate": "uniform"}, "method.compress", "qsgd sends every coordinate"),
        ("heteroselect", {"error_feedback": "ef21", "weigh": "data"}, "method.", "everybody"),
        ("ef21", {"server_optimizer": "momentum"}, "method.", "running"),
        ("heteroselect", {"weigh": "everybody"} | ERROR, "method.weigh", "ef21"),
        ("scaffold", {"local_steps": "device"}, "method.solver", "scaffold is allowed with local_steps equal only"),
        ("fedavg", {"solver": "scaffold", "local_steps": "device"}, "method.solver", "local_steps equal only"),
        ("feddyn", {"weigh": "data"}, "method.solver", "feddyn is allowed with weigh uniform only"),
        ("feddyn", {"aggregate": "median"}, "method.solver", "feddyn is allowed with aggregate mean only"),
        ("fednova", {"solver__proximal": 0.1}, "method.weigh", "proximal"),
        ("fednova", {"solver__momentum": 0.0}, "method.weigh", "momentum"),
        ("fedavg", {"select": "softmax", "score": "none"}, "method.select", "softmax goes by a score"),
        ("fedavg", {"lr": "score", "score": "none"}, "method.lr", "goes by a score"),
        ("heteroselect", {"allocate": "price", "compress": "topk"}, "method.allocate", "knows its variance"),
        ("heteroselect", {"weigh": "variance", "compress": "topk"}, "method.weigh", "method.compress.kind=drive"),
    ],
)
def test_pairs_that_cannot_work_are_refused_with_the_reason(base, choice, named, reason):
    with pytest.raises(HeteroSelectError) as caught:
        chosen(base, **choice)
    assert str(caught.value).startswith(named)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_memory_of_what_rounding_loses_is_allowed_without_a_sparse_compressor():
    method = chosen("fedavg", quantize="uniform", error_feedback="error").method
    assert (method.compress.kind, method.error_feedback.kind) == ("none", "error")


def test_shares_of_a_selection_that_gives_none_are_refused():
    with pytest.raises(HeteroSelectError, match=r"method\.weigh: share is allowed with a selection that says"):
        chosen("fedavg", weigh="share")
    own = replace(methods.get("fedavg"), name="mine", select=Loose())
    with pytest.raises(HeteroSelectError, match=r"method\.weigh.*share"):  # of a user's own part it shows in the round
        heteroselect.run("mnist", method=own, settings=SMALL | {"method.weigh.kind": "share"})


def test_no_part_can_be_starved_by_taking_another_in():
    """What a method needs follows from its parts: there is nothing to forget."""
    divfl = methods.get("divfl")
    assert "uploads" in divfl.needs
    assert "uploads" not in replace(divfl, name="mine", select=Uniform(), weigh=KINDS["weigh"]["data"]()).needs
    assert "uploads" in replace(methods.get("fedavg"), name="mine", select=DivFL()).needs
    fedcs = replace(divfl, name="mine", select=KINDS["select"]["fedcs"](), weigh=KINDS["weigh"]["data"]())
    assert "links" in fedcs.needs
    with pytest.raises(HeteroSelectError, match=r"method\.weigh: share is allowed with a selection that says"):
        replace(divfl, name="mine", select=Uniform(), weigh=KINDS["weigh"]["share"]())
    with pytest.raises(HeteroSelectError, match="softmax goes by a score"):
        replace(divfl, name="mine", select=Softmax())
    with pytest.raises(HeteroSelectError, match="allowed with error_feedback none only"):
        replace(methods.get("stc"), name="mine", compress=Drive())


def test_two_parts_that_share_sketches_agree_on_them():
    sketched = replace(methods.get("heteroselect").score, sketch=1024)
    with pytest.raises(HeteroSelectError, match="sketch must be the same in"):
        replace(methods.get("heteroselect"), name="mine", score=sketched, select=DivFL())
    mine = replace(methods.get("heteroselect"), name="mine", score=sketched, select=DivFL(sketch=1024))
    assert mine.sketch == 1024


# A part from a file.

MINE = """
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Seldom:
    patience: int = 0
    among: Literal["all", "even"] = "all"

    def select(self, scores, context):
        return context.cohort(np.argsort(context.population.counts, kind="stable")[: context.size])


class Twice:
    def __init__(self, size):
        self.size = size


thrifty = Seldom(patience=2)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.mark.slow
def test_a_run_with_a_part_from_a_file_is_run_again_only_when_the_file_is_named(mine, tmp_path):
    key, kind = "method.select.kind", f"{mine}:Seldom"
    changes = SMALL | {key: kind, "method.select.patience": 3}
    first = heteroselect.run("mnist", method="fedavg", settings=changes, out=tmp_path / "a")
    config = tmp_path / "a" / CONFIG
    with pytest.raises(HeteroSelectError, match=r"method\.select\.kind: .*name its file again"):
        heteroselect.run(config)
    again = heteroselect.run(config, settings={key: kind}, out=tmp_path / "b")
    assert again.model_sha256 == first.model_sha256
    assert again.config.method["select"]["patience"] == 3
    assert (tmp_path / "b" / CONFIG).read_bytes() == config.read_bytes()
    mine.write_text(MINE + "\n# another rule\n")
    with pytest.raises(HeteroSelectError, match=r"method\.select\.kind: .*has changed since"):
        heteroselect.run(config, settings={key: kind})
    other = heteroselect.run(config, settings={key: "uniform"})
    assert other.config.method["select"] == {"kind": "uniform"}


@pytest.mark.slow
def test_a_run_with_a_part_from_a_file_goes_on_only_with_that_file(mine, tmp_path):
    key, kind = "method.select.kind", f"{mine}:Seldom"
    changes = SMALL | {key: kind, "rounds": 5, "simulate.checkpoint_rounds": 1}
    whole = heteroselect.run("mnist", settings=changes, out=tmp_path / "a")

    out = tmp_path / "b"
    with pytest.raises(PowerError):
        heteroselect.run("mnist", settings=changes, out=out, watch=stop)
    with pytest.raises(HeteroSelectError, match="name its file again"):
        heteroselect.resume(out)
    with pytest.raises(HeteroSelectError, match="keeps its settings"):
        heteroselect.resume(out, settings={key: kind, "method.select.patience": 1})
    with pytest.raises(HeteroSelectError, match="keeps its settings"):
        heteroselect.resume(out, settings={key: "uniform"})
    mine.write_text(MINE + "\n# another rule\n")
    with pytest.raises(HeteroSelectError, match="has changed since"):
        heteroselect.resume(out, settings={key: kind})
    mine.write_text(MINE)
    assert heteroselect.resume(out, settings={key: kind}).model_sha256 == whole.model_sha256
    assert read_rounds(out) == whole.rounds


def test_the_settings_of_ones_own_part_are_those_of_its_fields(mine):
    found = chosen("fedavg", select=f"{mine}:Seldom", select__patience=3, select__among="even")
    assert (found.method.select.patience, found.method.select.among) == (3, "even")
    assert chosen("fedavg", select=f"{mine}:thrifty").method.select.patience == 2
    for change, sentence in (
        ({"select__patience": "long"}, r"method\.select\.patience: allowed is a whole number, not 'long'"),
        ({"select__patience": True}, r"method\.select\.patience: allowed is a whole number"),
        ({"select__among": "odd"}, r"method\.select\.among: allowed is all or even, not 'odd'"),
        ({"select__hurry": 1}, r"method\.select\.hurry: own:Seldom has no such setting; allowed are kind, patience"),
    ):
        with pytest.raises(HeteroSelectError, match=sentence):
            chosen("fedavg", select=f"{mine}:Seldom", **change)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nowhere.py:x", r"method\.select\.kind: nowhere\.py is not there"),
        ("{mine}:nothing", "has no 'nothing'"),
        ("{mine}:Twice", "cannot be made without arguments"),
        ("{mine}:dataclass", "method.select"),
        ("{mine}", "FILE.py:NAME"),
    ],
)
def test_what_is_wrong_with_a_part_from_a_file_is_said(mine, name, sentence):
    with pytest.raises(HeteroSelectError, match=sentence):
        chosen("fedavg", select=name.format(mine=mine))


def test_a_part_of_ones_own_in_python_has_to_be_handed_over_again():
    own = Method("mine", select=Loose())
    config = load("mnist", method=own).config
    assert config.method["select"]["kind"] == "own:Loose"
    assert load(config, method=own).method == own
    with pytest.raises(HeteroSelectError, match="'mine'"):
        load(config)
    with pytest.raises(HeteroSelectError, match="own:Loose"):
        load(tomllib.loads(to_toml(config)), method=replace(own, select=Uniform()))


@dataclass(frozen=True)
class Loose:
    """A selector of one's own with a setting."""

    skip: int = 0

    def select(self, scores: Any, context: Any) -> Any:
        return context.cohort(np.arange(context.size))


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("fedavg", {}, "fedavg"),
        ("oort", {"select.penalty": 1.0}, "oort"),
        ("fedavg", {"select.kind": "oort"}, "fedavg with select oort"),
        ("fedavg", {"select.kind": "oort", "weigh.kind": "data"}, "fedavg with select oort"),
        (
            "heteroselect",
            {"weigh.kind": "uniform", "server_optimizer.kind": "sgd"},
            "heteroselect with weigh uniform, server_optimizer sgd",
        ),
    ],
)
def test_a_crossed_method_is_called_by_what_was_chosen(name, given, text):
    assert title(changed(methods.get(name), given=given).table) == text


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda: load("mnits"), "did you mean mnist?"),
        (lambda: load("mnist", method="oorrt"), "did you mean oort?"),
        (lambda: load("mnist", changes={"roundz": 3}), "did you mean rounds?"),
        (lambda: load("mnist", changes={"method.selct.kind": "oort"}), "did you mean select?"),
        (lambda: load("mnist", changes={"method.select.kind": "softmx"}), "did you mean softmax?"),
        (lambda: load("mnist", changes={"method.solver.stepz": 3}), "did you mean steps?"),
    ],
)
def test_a_name_that_is_nearly_right_is_guessed(ask, hint):
    with pytest.raises(HeteroSelectError, match=re.escape(hint)):
        ask()
    with pytest.raises(HeteroSelectError, match=r"^((?!did you mean).)*$"):
        load("mnist", method="nothing-like-it-at-all")
