"""A whole run from Python: the same bits again, whatever the threads; and a user's own everything."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import heteroselect
from heteroselect import methods
from heteroselect.core.draws import Draws
from heteroselect.parts.kinds import KINDS
from heteroselect.runs.experiment import prepare
from heteroselect.runs.folder import CONFIG, FINGERPRINT, MODEL, ROUNDS, SUMMARY
from heteroselect.runs.loop import play
from heteroselect.runs.own import Own
from heteroselect.settings.config import load

pytestmark = pytest.mark.slow  # whole runs; the command line's tests keep a few in `make check`

SMALL = {"clients": 12, "selected": 4, "rounds": 4, "target": 0.5, "method": {"solver": {"steps": 6, "batch": 8}}}


def blobs(count=360, classes=4, seed=3):
    """Clouds of points around `classes` corners: learnable in a few steps."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, count)
    return rng.normal(size=(count, 6)).astype(np.float32) + 2.5 * np.eye(classes, 6, dtype=np.float32)[y], y


def small_run(**rest):
    return heteroselect.run(SMALL, **({"data": blobs(), "threads": 1} | rest))


class Noisy(nn.Module):
    """Dropout as a module, as a function, and a bare random number: all of a user's habits at once."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3))
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        hidden = nn.functional.dropout(self.body(x), 0.1, self.training)
        return self.head(hidden + 0.01 * torch.randn_like(hidden) if self.training else hidden)


def test_the_folder_holds_what_the_result_says(tmp_path):
    result = small_run(out=tmp_path / "run")
    folder = tmp_path / "run"
    assert {path.name for path in folder.iterdir()} == {CONFIG, ROUNDS, SUMMARY, MODEL, FINGERPRINT}
    assert json.loads((folder / SUMMARY).read_text()) == result.summary
    lines = [json.loads(line) for line in (folder / ROUNDS).read_text().splitlines()]
    assert lines == result.rounds
    weights = load_file(folder / MODEL)
    assert {name: value.shape for name, value in weights.items()} == {
        name: value.shape for name, value in result.model.items()
    }
    assert all(torch.equal(weights[name], value) for name, value in result.model.items())


def test_what_a_line_and_the_summary_say_fits_together():
    result = small_run()
    for number, line in enumerate(result.rounds, 1):
        assert line["round"] == number
        assert len(set(line["selected"])) == len(line["scores"]) == len(line["bandwidth_mbps"]) == 4
        assert set(line["score_parts"]) == {"loss", "diversity", "fairness", "staleness"}
        assert line["bytes_up_paper"] == pytest.approx(sum(line["densities"]) * 4 * result.parameters)
    assert result.total_seconds == pytest.approx(sum(line["seconds"] for line in result.rounds))
    assert result.rounds[0]["densities"] == [1.0] * 4
    assert [line["theta"] for line in result.rounds[:2]] == pytest.approx([1.0, 0.28])
    assert result.rounds[-1]["theta"] == pytest.approx(0.12)
    assert result.parameters == 6 * 4 + 4
    assert 0 <= result.client_accuracy_worst_tenth <= result.client_accuracy_mean <= 1


def test_it_learns_and_figures_to_target_are_cumulative():
    result = small_run(rounds=6)
    reached = result.rounds_to_target
    assert reached is not None
    until = result.rounds[:reached]
    assert [line["accuracy"] >= 0.5 for line in until] == [False] * (reached - 1) + [True]
    assert result.seconds_to_target == until[-1]["cumulative_seconds"]
    assert result.megabytes_to_target == pytest.approx(sum(line["bytes_up_paper"] for line in until) / 1e6)
    assert result.peak_accuracy == max(line["accuracy"] for line in result.rounds)
    assert result.peak_accuracy > 0.8
    never = small_run(settings={"target": 1.0}, rounds=1)
    assert never.rounds_to_target is never.seconds_to_target is never.megabytes_to_target is None


def test_threads_do_not_matter_even_with_dropout_but_the_seed_does():
    first = small_run(model=Noisy)
    torch.rand(3)  # the global generator stands somewhere else
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    again = small_run(model=Noisy, threads=3)
    assert first.model_sha256 == again.model_sha256 != small_run(model=Noisy, seed=7).model_sha256
    assert first.rounds == again.rounds
    assert torch.equal(before, torch.get_rng_state())
    assert torch.get_num_threads() == threads


def test_dropout_is_noticed_and_its_absence_too():
    config = load(SMALL)
    assert len(prepare(config, Own(Noisy, blobs())).task.draws.functions) == 2  # dropout and randn_like
    assert prepare(config, Own(data=blobs())).task.draws == Draws()


class Drawing(nn.Module):
    """Draws where nobody expects it: in evaluation, and in a branch that is seldom taken."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x):
        x = nn.functional.dropout(x, 0.2)  # on, whatever the mode
        return self.linear(x + torch.randn_like(x) if torch.rand(()) < 0.1 else x)


def test_draws_in_evaluation_in_rare_branches_and_in_the_loss_are_seeded_too():
    def loss(outputs, targets):
        return nn.functional.cross_entropy(outputs + 0.1 * torch.randn_like(outputs), targets)

    first = small_run(model=Drawing, loss=loss)
    torch.rand(7)
    again = small_run(model=Drawing, loss=loss, threads=2)
    assert first.model_sha256 == again.model_sha256
    assert first.rounds == again.rounds


def test_alexnet_gives_the_same_bits_with_any_threads():
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60, 3, 32, 32), np.uint8), rng.integers(0, 10, 60)
    config = {"clients": 4, "selected": 3, "rounds": 2, "method": {"solver": {"steps": 2, "batch": 4}}}
    runs = [heteroselect.run(config | {"model": {"name": "alexnet"}}, data=pictures, threads=n) for n in (1, 2)]
    assert runs[0].parameters == 2_781_514
    assert runs[0].model_sha256 == runs[1].model_sha256


def test_batch_norm_statistics_are_measured_at_clients_and_charged():
    def model():
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))

    result = small_run(model=model)
    # the model and its statistics go to three clients, the statistics come back: 7 + 7 + 6 batches
    statistics = 4 * (8 + 8) + 8
    model_bytes = 4 * result.parameters + statistics
    assert result.rounds[0]["bytes_calibration"] == 3 * (model_bytes + statistics)
    assert result.model["1.num_batches_tracked"] == 20 * len(result.rounds)
    assert small_run().rounds[0]["bytes_calibration"] == 0


def test_schedules_keep_their_horizon_when_a_run_stops_early():
    whole, part = small_run(rounds=4), small_run(rounds=4, settings={"stop_after": 2})
    assert part.rounds == whole.rounds[:2]
    assert (part.summary["rounds"], part.rounds_run) == (4, 2)


def test_stop_at_target_counts_rounds_held():
    whole = small_run(rounds=8)
    held = [line["accuracy"] >= 0.5 for line in whole.rounds]
    stopped = small_run(rounds=8, settings={"stop_at_target": 2})
    expected = next(t for t in range(2, 9) if held[t - 2] and held[t - 1])
    assert stopped.rounds_run == expected
    assert stopped.status == "stopped at target"


def test_evaluations_can_be_spaced_out_without_changing_the_run():
    whole, sparse = small_run(rounds=5), small_run(rounds=5, settings={"evaluate_every": 2})
    assert [line["accuracy"] is not None for line in sparse.rounds] == [False, True, False, True, True]
    assert sparse.model_sha256 == whole.model_sha256


def test_the_shortest_horizon():
    assert [line["theta"] for line in small_run(rounds=1).rounds] == [1.0]


@pytest.mark.parametrize(("clients", "selected"), [(1, 1), (5, 5), (5, 1)])
def test_the_smallest_cohorts(clients, selected):
    result = small_run(settings={"clients": clients, "selected": selected})
    assert all(len(line["selected"]) == selected for line in result.rounds)
    assert all(sum(line["weights"]) == pytest.approx(1) for line in result.rounds)


def test_a_list_of_data_sets_is_one_client_each():
    parts = [blobs(20 + 5 * k, seed=k) for k in range(6)]
    result = small_run(data=parts, test=blobs(100, seed=99))
    assert result.config.clients == 6
    assert result.dataset == "own"


def test_a_model_can_be_an_instance_and_is_left_alone():
    model = nn.Linear(6, 4)
    before = [p.detach().clone() for p in model.parameters()]
    result = small_run(model=model)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert not torch.equal(result.model["weight"], before[0])


def test_a_loss_and_a_metric_of_ones_own():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 6)).astype(np.float32)
    y = x @ np.arange(6, dtype=np.float32)

    def r2(outputs, targets):
        return 1 - float(((outputs - targets) ** 2).mean() / targets.var())

    result = small_run(
        data=(x, y),
        model=lambda: nn.Sequential(nn.Linear(6, 1), nn.Flatten(0)),
        loss=nn.functional.mse_loss,
        metric=r2,
        rounds=12,
        settings={"data.partition": "iid"},
    )
    assert result.final_accuracy > 0.9
    assert result.client_accuracy_mean is None


class Lowest:
    """A selector of one's own: whoever scores lowest."""

    def select(self, scores, context):
        return context.cohort(np.argsort(scores, kind="stable")[: context.size])


def test_a_part_of_ones_own_takes_ten_lines():
    result = small_run(method=replace(methods.get("heteroselect"), name="lowest", select=Lowest()))
    assert result.method == "lowest"
    assert all(0.0 in line["scores"] for line in result.rounds)  # the lowest score is 0 and is always there
    assert all(line["tau"] is None for line in result.rounds)


def test_the_method_as_run_runs_and_differs(tmp_path):
    text, run = small_run(), small_run(method="heteroselect-as-run", out=tmp_path / "run")
    assert run.method == "heteroselect-as-run"
    assert run.model_sha256 != text.model_sha256
    assert run.rounds[0]["score_parts"]["fairness"] == 1.0
    assert run.rounds[0]["score_parts"]["staleness"] == pytest.approx(0.5 * np.log(2))
    assert tomllib.loads((tmp_path / "run" / CONFIG).read_text())["method"]["lr"]["kind"] == "score"


def test_a_method_handed_over_follows_settings_too():
    mine = replace(methods.get("heteroselect"), name="lowest", select=Lowest())
    result = heteroselect.run({"clients": 12, "selected": 4, "rounds": 1}, data=blobs(), method=mine)
    assert result.method == result.config.method_name == "lowest"
    assert result.config.method["select"] == {"kind": "own:Lowest"}
    assert result.config.method["solver"]["steps"] == 50
    assert small_run(method=mine).config.method["solver"]["steps"] == 6
    other = small_run(method=mine, settings={"method.select.kind": "uniform"})
    assert other.config.method["select"] == {"kind": "uniform"}
    with pytest.raises(heteroselect.HeteroSelectError, match="'heteroselect' is taken"):
        heteroselect.run({"rounds": 1}, data=blobs(), method=replace(mine, name="heteroselect"))


def test_an_experiment_can_be_played_again():
    experiment = prepare(load(SMALL), Own(data=blobs()))
    first, again = (play(experiment, None, threads=1) for _ in range(2))
    assert first.model_sha256 == again.model_sha256
    assert first.rounds == again.rounds


class InPlace(nn.Module):
    """Scales its input where it lies."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x):
        return self.linear(x.mul_(0.5))


class OutOfPlace(InPlace):
    def forward(self, x):
        return self.linear(x * 0.5)


def test_a_model_that_works_in_place_cannot_reach_the_data():
    assert small_run(model=InPlace).model_sha256 == small_run(model=OutOfPlace).model_sha256


class Picky(nn.Module):
    """A network that insists on one order of its pixels in memory."""

    def __init__(self):
        super().__init__()
        self.convolution, self.head = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 8 * 8, 3)

    def forward(self, x):
        return self.head(self.convolution(x).view(x.size(0), -1))


def test_a_convolution_may_ask_for_its_pixels_in_order():
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (120, 3, 8, 8), np.uint8), rng.integers(0, 3, 120)
    assert small_run(model=Picky, data=pictures).rounds_run == 4


class Attention(nn.Module):
    """Fused attention has no second derivative."""

    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True), nn.Linear(6, 4)

    def forward(self, x):
        return self.head(self.layer(x.unsqueeze(1)).squeeze(1))


def test_a_model_without_second_derivatives_is_told_so_before_it_starts(tmp_path):
    with pytest.raises(heteroselect.HeteroSelectError, match=r"method\.compress\.layers: "):
        small_run(model=Attention, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert small_run(model=Attention, settings={"method.compress.kind": "topk"}).rounds_run == 4


def test_what_a_method_says_of_the_network_stays_away_from_a_model_of_ones_own():
    """heteroselect2 brings Kaiming's weights; a model of one's own begins as it is, and who asks for them is told."""
    data = [(torch.randn(12, 4), torch.randint(0, 2, (12,))) for _ in range(4)]
    own = {"model": lambda: torch.nn.Linear(4, 2), "data": data, "test": data[0]}
    settings = {"selected": 2, "rounds": 1, "method.solver.steps": 2}
    found = heteroselect.run({}, method="heteroselect2", settings=settings, **own)
    assert (found.rounds_run, found.config.model.init) == (1, "torch")
    with pytest.raises(heteroselect.HeteroSelectError, match=r"model\.init: it has no effect on a model of your own"):
        heteroselect.run({}, method="heteroselect2", settings={**settings, "model.init": "kaiming"}, **own)


def test_without_the_loss_in_the_score_nobody_is_asked_for_it():
    result = small_run(settings={"method.score.loss_weight": 0.0})
    assert [line["bytes_scoring"] for line in result.rounds] == [0] * 4
    assert [line["loss_mean"] for line in result.rounds] == [None] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"method.allocate.kind": "uniform"},
        {"method.allocate.kind": "uniform", "method.allocate.ceiling": "none"},
        {"method.allocate.kind": "waterfill", "method.allocate.ceiling": "strict"},
        {"method.solver.proximal": 0.0},
        {"data.dominant_fraction": 0.8},
        {"method.score.loss_weight": 0.0},
        {"method.score.diversity_weight": 0.0},
        {"method.score.fairness_weight": 0.0, "method.score.staleness_weight": 0.0},
        {"method.compress.kind": "topk"},
        {"method.error_feedback.decay": "static"},
        {"method.lr.kind": "score"},
        {"method.weigh.kind": "uniform"},
        {"method.weigh.kind": "inverse"},
        {"world.stress": "inverse"},
        {"world.stress": "permuted"},
    ],
)
def test_every_ablation_is_a_setting_and_changes_the_run(change):
    plain, ablated = small_run(model=Noisy), small_run(model=Noisy, settings=change)
    assert plain.model_sha256 != ablated.model_sha256 or plain.rounds != ablated.rounds


def test_stress_puts_the_highest_loss_on_the_slowest_link():
    only_loss = {f"method.score.{part}_weight": 0.0 for part in ("diversity", "fairness", "staleness")}
    result = small_run(settings={"world.stress": "permuted", "selected": 12, **only_loss})
    for line in result.rounds:
        by_score = [speed for _, speed in sorted(zip(line["scores"], line["bandwidth_mbps"], strict=True))]
        assert by_score == sorted(by_score, reverse=True)
        assert 1 <= by_score[-1] < by_score[0] <= 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"settings": {"selected": 13}}, "selected must be at most clients"),
        ({"data": [blobs(9), blobs(9)], "test": blobs(9)}, "selected: choose at most the number of clients"),
        ({"data": [blobs(9)] * 5}, "needs a test set"),
        ({"data": 3}, "data: hand over"),
        ({"threads": 0}, "threads: "),
        ({"device": "tpu"}, "device: "),
        ({"data": (np.zeros((30, 6)), np.linspace(0, 1, 30))}, "data.partition must be iid"),
        (
            {"data": (np.zeros((30, 6)), np.linspace(0, 1, 30)), "settings": {"data.partition": "iid"}},
            "need a loss and a metric",
        ),
        ({"data": None, "settings": {"data.name": "own"}}, "handed over in Python"),
        ({"settings": {"model.name": "own"}}, "handed over in Python"),
        ({"settings": {"model.name": "alexnet"}}, "takes images"),
        ({"settings": {"clients": 400}}, "clients"),
    ],
)
def test_what_cannot_be_run_says_why(arguments, sentence):
    with pytest.raises(heteroselect.HeteroSelectError, match=sentence):
        small_run(**arguments)


def test_a_folder_with_a_run_is_never_overwritten(tmp_path):
    small_run(out=tmp_path / "run", rounds=1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    with pytest.raises(heteroselect.HeteroSelectError, match="already holds a run"):
        small_run(out=tmp_path / "run", rounds=2)
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}


@pytest.mark.parametrize("seed", [42, 43, 44])
def test_mnist_reaches_the_papers_target(seed):
    result = heteroselect.run("mnist", seed=seed, settings={"stop_after": 8})
    assert result.rounds_to_target is not None
    assert result.rounds_to_target <= 8


@pytest.mark.parametrize("mode", ["stale", "candidates"])
def test_other_ways_of_scoring_learn_and_cost_less(mode):
    paper, cheap = small_run(), small_run(settings={"method.score.mode": mode, "method.score.candidates": 5})
    assert cheap.bytes_scoring < 0.3 * paper.bytes_scoring
    assert cheap.peak_accuracy > 0.7


def test_the_clock_can_run_on_real_bytes():
    runs = {charge: small_run(settings={"world.charge": charge}) for charge in ("paper", "uplink", "everything")}
    assert len({run.model_sha256 for run in runs.values()}) == 1  # ceilings are far away for so small a model
    seconds = [runs[charge].total_seconds for charge in ("paper", "uplink", "everything")]
    assert seconds == sorted(set(seconds))


def test_the_ledger_adds_up():
    result = small_run()
    for line in result.rounds:
        assert sum(line["bytes_up_clients"]) == line["bytes_up"]
        assert len(line["bytes_up_clients"]) == len(line["selected"])
    for kind in ("up", "down", "scoring"):
        assert result.summary[f"bytes_{kind}"] == sum(line[f"bytes_{kind}"] for line in result.rounds)
    # the whole model up in the warm-up round, position-free; the model down to four clients
    assert result.rounds[0]["bytes_up"] == 4 * (27 + 4 * result.parameters)
    assert result.rounds[0]["bytes_down"] == 4 * 4 * result.parameters


def test_four_bits_reach_the_target_with_a_quarter_of_the_bytes():
    floats, bits = (
        heteroselect.run("mnist", settings={"stop_at_target": 1, "method.quantize.kind": kind})
        for kind in ("float32", "uniform")
    )
    assert abs(floats.rounds_to_target - bits.rounds_to_target) <= 1
    assert floats.wire_megabytes_to_target > 4 * bits.wire_megabytes_to_target


def test_the_initial_weights_can_be_chosen_and_come_from_the_seed():
    usual, kaiming, again = (
        prepare(load("mnist", changes={"model.init": init})).weights.vector for init in ("torch", "kaiming", "kaiming")
    )
    assert torch.equal(kaiming, again)
    assert not torch.equal(usual, kaiming)


@pytest.mark.parametrize("kind", [kind for kind in KINDS["compress"] if kind != "none"])
def test_every_compressor_trains_and_gives_the_same_bits_again(kind):
    settings = {"method.compress.kind": kind}
    first, again = (small_run(settings=settings, rounds=8, threads=threads) for threads in (1, 2))
    assert first.model_sha256 == again.model_sha256
    assert first.rounds == again.rounds
    assert first.peak_accuracy > 0.6


@pytest.mark.parametrize(
    "values", [{"kind": "float16"}, {"kind": "bfloat16"}, *({"kind": "uniform", "bits": bits} for bits in (8, 4, 3, 2))]
)
def test_fewer_bits_are_fewer_bytes_and_still_learn(values):
    floats, few = small_run(rounds=8), small_run(rounds=8, settings={"method": {"quantize": values}})
    assert few.bytes_up < floats.bytes_up
    assert few.peak_accuracy > 0.6


def test_with_dropouts_and_corrupt_payloads_mnist_still_learns():
    """30 % of the answers never come and 5 % are corrupt: 90 % within ten rounds."""
    settings = {"world.faults.missing": 0.3, "world.faults.corrupt": 0.05, "stop_after": 10}
    result = heteroselect.run("mnist", settings=settings)
    kinds = [event["kind"] for line in result.rounds for event in line["events"]]
    assert result.peak_accuracy >= 0.9
    assert kinds.count("missing") > 15
    assert kinds.count("rejected") >= 1
    for line in result.rounds:
        out = {event["client"] for event in line["events"]}
        assert {k for k, weight in zip(line["selected"], line["weights"], strict=True) if weight} <= (
            set(line["selected"]) - out
        )


@pytest.mark.parametrize("kind", ["nan", "inf", "scaled", "late"])
def test_no_fault_of_a_few_reaches_the_model(kind):
    settings = {f"world.faults.{kind}": 0.2, "stop_after": 4, "clients": 30, "method.solver.steps": 10}
    result = heteroselect.run("mnist", settings=settings)
    assert result.peak_accuracy > 0.75
    assert any(line["events"] for line in result.rounds)
