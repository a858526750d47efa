"""The lists: settings by group, role and kind, methods with their papers, and the help."""

import re
from pathlib import Path

import pytest

from heteroselect.cli.listings import ROLES
from heteroselect.core.part import declared
from heteroselect.methods import REGISTRY, counted
from heteroselect.parts.kinds import KINDS


def test_the_settings_page_is_what_the_command_prints(call):
    code, out, _ = call("settings", "--markdown")
    assert code == 0
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert out.strip() in page.read_text(encoding="utf-8")


def test_every_setting_and_every_kind_is_listed(call):
    code, out, _ = call("settings")
    assert code == 0
    assert "world.faults.late_rule = drop    (drop or wait)" in out
    assert "method.name = heteroselect" in out
    for role, kinds in KINDS.items():
        assert f"method.{role}: {ROLES[role]}" in out
        for kind in kinds:
            assert re.search(rf"(?m)^method\.{role}\.kind = {kind}( |$)", out), (role, kind)
    assert list(ROLES) == list(KINDS)


def test_settings_of_a_group_a_role_a_kind_and_a_name(call):
    def keys(*words):
        return re.findall(r"(?m)^([\w.]+ = [\w-]+)", call("settings", *words)[1])

    assert keys("model") == ["model.name = logistic", "model.dropout = 0", "model.init = torch"]
    role, kinds = keys("method.error_feedback"), KINDS["error_feedback"]
    assert [key for key in role if ".kind" in key] == [f"method.error_feedback.kind = {kind}" for kind in kinds]
    assert "method.error_feedback.static = 0" in role
    assert keys("method.compress.drive") == ["method.compress.kind = drive", "method.compress.exponent = 12"]
    named = keys("method.solver.proximal")  # each kind that has it
    having = [kind for kind, made in KINDS["solver"].items() if "proximal" in declared(made)]
    assert having == ["sgd"]
    assert [key for key in named if ".kind" in key] == [f"method.solver.kind = {kind}" for kind in having]
    assert len(named) == 2 * len(having)
    assert "method.solver.steps = 50" in call("settings", "method.solver")[1]
    assert "(brings weigh uniform)" in call("settings", "method.select.oort")[1]


def test_the_methods_are_listed_by_what_they_are_about_and_reconstructions_apart(call):
    code, out, _ = call("methods")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    blocks = [block.splitlines() for block in out.split("\n\n")]
    listed = {line.split()[0]: block[0] for block in blocks for line in block[1:]}
    assert list(listed) == list(REGISTRY)
    for name, entry in REGISTRY.items():
        assert listed[name].startswith("reconstructed" if entry.reconstruction else f"{entry.family}: "), name
        assert re.search(rf"(?m)^  {name} +{entry.year}  {re.escape(entry.summary)}$", out), name
    assert blocks[-1] == [counted()]


def test_one_method_with_its_paper_its_gaps_and_its_parts(call):
    shown = call("methods", "oort")[1]
    assert "OSDI 2021" in shown
    assert "leaves out: over-commitment" in shown
    assert "reconstruction" not in shown
    assert re.search(r"select +oort\n", shown)  # with the defaults of its kind
    assert re.search(r"select +oort +penalty=2.0 .*overcommit=1.0", call("methods", "oort", "--all")[1])
    assert "the rule is a reconstruction" in call("methods", "fedcg")[1]
    assert "starts slowly" in call("methods", "stc")[1], "the notes of its file"
    assert '"Robust and communication-efficient federated learning from non-i.i.d. data"' in call("methods", "stc")[1]
    shown = call("methods", "heteroselect-as-run")[1]
    assert "sets data.variant = authors" in shown
    assert re.search(r"lr +score\n", shown)
    assert re.search(r"solver +sgd +proximal=0.1\n", shown)
    assert re.search(r"needs +losses, scores, uploads\n", shown)


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["run"], ["TOML file.", "[default: mnist]"]),
        (["compare"], ["[required]", "[default: 42,43,44,45,46]"]),
        (["show"], ["A run folder."]),
        (["settings"], ["method.select.oort"]),
        (["flower", "deploy"], ["[default: mnist]", "--nodes"]),
    ],
)
def test_the_help_shows_arguments_once_and_defaults_as_they_are(call, words, texts):
    code, out, _ = call(*words, "--help")
    assert code == 0
    assert "\\" not in out
    assert out.count("rguments:\n") == 1
    flat = " ".join(out.split())
    for text in texts:
        assert text in flat, (text, flat)


@pytest.mark.parametrize(("group", "number"), [([], 15), (["flower"], 5), (["paper"], 2)])
def test_the_commands_are_listed_with_a_whole_line_each(call, group, number):
    listed = call(*group, "--help")[1].partition("Commands:\n")[2].splitlines()
    assert len(listed) == number
    for line in listed:
        assert re.fullmatch(r"  [a-z-]+ +[A-Z].*[^.]\.", line), line
    assert "No such command" in call(*group, "nope")[2]


@pytest.mark.parametrize(("name", "hint"), [("ort", r"'ort' \(did you mean oort\?\);"), ("zzz", "'zzz'; ")])
def test_an_unknown_method_is_answered_with_one_like_it(call, name, hint):
    code, _, err = call("methods", name)
    assert code == 2
    assert re.search(f"there is no method {hint} ?`heteroselect methods` lists all", err)
