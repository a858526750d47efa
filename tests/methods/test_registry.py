"""The registry: every method says what it is, has its parts, and learns."""

import ast
from collections import Counter
from pathlib import Path

import pytest

import heteroselect
from heteroselect import HeteroSelectError, methods
from heteroselect.methods.entry import FAMILIES
from heteroselect.parts.aggregate.normalised import reach
from heteroselect.settings.config import load

SLOW_TO_START = {"stc": 15, "signsgd-majority": 10, "ef21": 10}
"""The rounds that their files state for them."""


def test_files_are_found_and_those_of_reconstructions_lie_apart():
    folder = Path(methods.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "entry"}
    names = {name.replace("-", "_"): entry for name, entry in methods.REGISTRY.items()}
    assert {name for name in files if name not in names} == set(), "a file has the name of its first method"
    assert all(not names[file].reconstruction for file in files)
    rebuilt = {path.stem for path in (folder / "reconstructed").glob("*.py")} - {"__init__"}
    assert rebuilt == {name for name, entry in names.items() if entry.reconstruction}
    assert len(rebuilt) == 8
    assert all(entry.published is not (entry.reconstruction or entry.family == "own") for entry in names.values())
    figures = [int(word) for word in methods.counted().split() if word.isdigit()]
    assert (len(figures), sum(figures), figures[2]) == (3, len(methods.REGISTRY), 8)


def test_what_is_missing_of_a_paper_is_said_where_people_look_and_not_in_a_docstring():
    """`heteroselect methods NAME` and the footnotes of tables show `leaves_out`."""
    for file in sorted(Path(methods.__file__).parent.rglob("*.py")):
        doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        assert "left out" not in doc.lower(), f"{file.name}: this belongs into leaves_out"
    for name, entry in methods.REGISTRY.items():
        assert entry.leaves_out or not entry.reconstruction, name


@pytest.mark.parametrize("name", methods.REGISTRY)
def test_each_says_what_it_is_and_where_it_is_from(name):
    entry = methods.REGISTRY[name]
    assert entry.family in FAMILIES
    assert entry.summary not in entry.notes, "no text stands twice"
    assert '"' in entry.paper or entry.paper.startswith("our own")
    assert str(entry.year) in entry.paper or name.startswith("heteroselect") or entry.paper.startswith("our own")
    assert methods.get(name) == entry.method
    assert entry.method.name == name


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.REGISTRY)
def test_each_learns(name):
    """Above 80 % on MNIST within five rounds, or within those that its file states."""
    rounds = SLOW_TO_START.get(name, 5)
    result = heteroselect.run("mnist", method=name, settings={"stop_after": rounds, "stop_at_target": 1, "target": 0.8})
    assert result.peak_accuracy > 0.8
    assert result.summary["reconstruction"] is methods.REGISTRY[name].reconstruction


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["scaffold", "feddyn", "fednova", "oort", "delta", "fedadam", "optimal-client-sampling"]
)
def test_state_and_second_messages_do_not_depend_on_threads_or_a_restart(name, tmp_path):
    settings = {"clients": 12, "selected": 3, "rounds": 6, "method.solver.steps": 4, "simulate.checkpoint_rounds": 1}
    one = heteroselect.run("mnist", method=name, settings=settings, threads=1)
    two = heteroselect.run("mnist", method=name, settings=settings, threads=2)
    assert one.rounds == two.rounds

    class PowerError(Exception):
        pass

    def watch(line):
        if line["round"] == 4:
            raise PowerError

    with pytest.raises(PowerError):
        heteroselect.run("mnist", method=name, settings=settings, out=tmp_path / "run", watch=watch)
    assert heteroselect.resume(tmp_path / "run").model_sha256 == one.model_sha256 == two.model_sha256


AUTHORS = {
    "fedprox": {"proximal": 0.01},
    "fedavgm": {"momentum": 0.0},
    "fedacg": {"momentum": 0.0, "proximal": 0.002},
    "dgc": {"momentum": 0.0},
    "feddyn": {"alpha": 0.01, "clip": 10.0},
    "scaffold": {"clip": 10.0},
}
"""What the authors' own code has at a client."""


@pytest.mark.parametrize("name", AUTHORS)
def test_the_local_solver_is_that_of_the_authors(name):
    method = methods.get(name)
    assert {field: getattr(method.solver, field) for field in AUTHORS[name]} == AUTHORS[name]


@pytest.mark.parametrize(
    ("name", "role", "shown"),
    [("feddyn", "solver", "mean"), ("fedacg", "server_optimizer", "model"), ("lean", "server_optimizer", "model")],
)
def test_what_is_evaluated_is_what_the_authors_evaluate(name, role, shown):
    """FedDyn's mean of models and not the server's point, FedACG's model and not the point ahead of it."""
    assert getattr(methods.get(name), role).show == shown


def test_second_passes_and_the_probe_are_known_to_the_clock():
    assert methods.get("heteroselect").probe == 2
    assert methods.get("dgc").probe == 0
    assert methods.get("fedsol").passes == pytest.approx(7 / 3)
    assert methods.get("fedavg").passes == 1


@pytest.mark.parametrize("name", ["fedacg", "feddyn", "scaffold"])
def test_without_a_local_momentum_the_rate_is_higher(name):
    """50 steps with a momentum of 0.9 reach 410 rates, and 50 without; a rate of 0.2 makes up for half of it."""
    method, fedavg = methods.get(name), methods.get("fedavg")
    mine = method.lr.start * reach(method.solver.steps, getattr(method.solver, "momentum", 0.0))
    others = fedavg.lr.start * reach(fedavg.solver.steps, fedavg.solver.momentum)
    assert (round(mine, 2), round(others, 2)) == (10.0, 20.52)  # 50 · 0.2 and 410.46 · 0.05


def test_a_control_differs_from_its_method_in_one_thing():
    fedavg, lean = methods.get("fedavg"), methods.get("lean")
    differing = {
        "fedavg-device-steps": (fedavg, {"local_steps"}),
        "fedavg-lean-recipe": (lean, {"allocate", "compress"}),
    }
    for name, (base, roles) in differing.items():
        found = {
            role
            for (role, part), (_, other) in zip(methods.get(name).parts(), base.parts(), strict=True)
            if part != other
        }
        assert found == roles
    recipe = methods.get("fedavg-lean-recipe")
    assert (recipe.allocate, recipe.compress) == (fedavg.allocate, fedavg.compress)


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("oort", {"select.patience": 3}, r"select\.patience: oort has no such setting; allowed are kind, penalty"),
        ("oort", {"select.tired": "very"}, r"method\.select\.tired: allowed is a whole number ≥ 0, not 'very'"),
        ("clustered-sampling", {"select.by": "sizes"}, r"select\.by: allowed is size or similarity, not 'sizes'"),
        ("fedadam", {"server_optimizer.momentum": -5.0}, r"server_optimizer\.momentum: allowed is a number ≥ 0"),
        ("fedavg", {"options.x": 1}, r"method\.options\.x: there is no role 'options'"),
    ],
)
def test_settings_that_a_part_does_not_have_are_refused(name, change, sentence):
    with pytest.raises(HeteroSelectError, match=sentence):
        load("mnist", method=name, changes={f"method.{key}": value for key, value in change.items()})


@pytest.mark.slow
def test_scaffold_charges_for_the_vector_that_goes_down():
    settings = {"clients": 6, "selected": 2, "rounds": 2, "method.solver.steps": 2}
    first, second = heteroselect.run("mnist", method="scaffold", settings=settings).rounds
    plain = heteroselect.run("mnist", method="fedavg", settings=settings).rounds
    assert first["bytes_down"] == plain[0]["bytes_down"]  # at first it is nought, and is not sent
    assert second["bytes_down"] == 2 * plain[1]["bytes_down"]
    assert second["bytes_up"] == plain[1]["bytes_up"]


def test_over_commitment_is_paid_for_and_the_first_to_answer_count():
    settings = {"clients": 12, "selected": 3, "rounds": 4, "method.solver.steps": 2, "method.select.overcommit": 1.3}
    run = heteroselect.run("mnist", method="oort", settings=settings)
    for line in run.rounds:
        late = [event["client"] for event in line["events"]]
        assert [event["kind"] for event in line["events"]] == ["late"]
        assert len(line["selected"]) == 4  # ⌈1.3 · 3⌉
        assert line["weights"].count(pytest.approx(1 / 3)) == 3
        assert line["weights"][line["selected"].index(late[0])] == 0
        # all four fetch the model of 31,400 bytes and send their update
        assert line["bytes_down"] == 4 * 31_400
        assert all(sent > 0 for sent in line["bytes_up_clients"])


def test_a_pool_trains_before_the_chosen_send():
    assert methods.get("optimal-client-sampling").select.pool == 32  # as in the authors' experiments
    settings = {"clients": 12, "selected": 3, "rounds": 3, "method.solver.steps": 2, "method.select.pool": 7}
    pools = []
    for line in heteroselect.run("mnist", method="optimal-client-sampling", settings=settings).rounds:
        pools.append(line["selected"])
        assert len(line["selected"]) == 7
        senders = [sent > 0 for sent in line["bytes_up_clients"]]
        assert [weight > 0 for weight in line["weights"]] == senders
        assert sum(senders) < 7
        assert line["bytes_scoring"] == 7 * 4  # everybody says how long its update is
        assert line["events"] == []
    assert len({tuple(pool) for pool in pools}) > 1


@pytest.mark.slow
def test_oort_keeps_to_some_clients_as_its_released_code_does():
    """The busiest twenty clients have 48 % of all picks by the authors' rule; in a uniform draw they have 29 %."""
    settings = {"rounds": 100, "evaluate_every": 100, "method.solver.steps": 5, "method.solver.batch": 8}

    def share(name):
        rounds = heteroselect.run("mnist", method=name, settings=settings).rounds
        picks = Counter(client for line in rounds for client in line["selected"])
        return sum(count for _, count in picks.most_common(20)) / picks.total()

    assert 0.40 < share("oort") < 0.60
    assert 0.25 < share("fedavg") < 0.33


def test_signsgd_sends_a_bit_per_coordinate_both_ways():
    """What a client fetches of the second round is one step of the majority: 7,850 bits and what frames them, and the
    model is the same to the bit as with whole models. Three clients never vote alike for and against."""
    settings = {"clients": 3, "selected": 3, "rounds": 3, "method.solver.steps": 2}
    whole = heteroselect.run("mnist", method="signsgd-majority", settings=settings)
    steps = heteroselect.run(
        "mnist",
        method="signsgd-majority",
        settings=settings
        | {"method.downlink.kind": "steps", "method.downlink.coder": "stc", "method.downlink.density": 1.0},
    )
    assert steps.model_sha256 == whole.model_sha256
    assert [line["bytes_down"] for line in whole.rounds] == [3 * 31_400] * 3
    first, second, third = (line["bytes_down"] for line in steps.rounds)
    assert first == 0  # the first model follows from the seed
    for sent in (second, third):
        assert 3 * 7_850 / 8 <= sent < 3 * (7_850 / 8 + 100)


def test_the_curvature_probe_takes_device_time():
    """Two passes over a batch beside six steps, scoring and links; none in the first round, which sends everything."""
    settings = {"clients": 4, "selected": 2, "rounds": 3, "method.solver.steps": 6, "world.charge": "everything"}
    plain = settings | {"method.compress.kind": "topk"}
    probed, without = (heteroselect.run("mnist", method="heteroselect", settings=one) for one in (settings, plain))
    first, *later = zip(probed.rounds, without.rounds, strict=True)
    assert first[0]["seconds"] == first[1]["seconds"]
    for line, other in later:
        assert line["selected"] == other["selected"]
        assert 1.1 < line["seconds"] / other["seconds"] < 8 / 6
