"""The README and the examples: what they show was made by a command, and runs."""

import doctest
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import heteroselect
from heteroselect import methods
from heteroselect.cli import privacy
from heteroselect.cli.listings import settings_page
from heteroselect.comparison import study as studies
from heteroselect.comparison.claims import change
from heteroselect.comparison.over_seeds import tail
from heteroselect.core import evaluate
from heteroselect.core.streams import Streams
from heteroselect.errors import HeteroSelectError
from heteroselect.methods import REGISTRY
from heteroselect.parts.kinds import KINDS
from heteroselect.parts.select.balanced import FLOOR
from heteroselect.runs.experiment import prepare
from heteroselect.settings import config, describe
from heteroselect.settings.config import flatten, load
from heteroselect.world.devices import Devices
from scripts import script

ROOT = Path(__file__).resolve().parents[1]


def test_every_number_of_the_results_is_in_the_files_of_the_studies():
    """All pages are what the script makes of these files, to the letter, and the site has each of them."""
    study = script("studies/results_page.py")
    results, texts = study.read("results"), study.sentences()
    made = study.pages(texts, results, study.read("theory"), study.read("figures"))
    for name, page in made.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == page, name
    listed = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").split()
    assert {name.removesuffix(".md") for name in made} <= set(listed)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert study.with_tables(readme, results) == readme
    assert len(study.rows_of(results, "table1-mnist")["heteroselect"]) == 5


NAMES = r"CIFAR-10+|heteroselect2|ResNet-?\d+|float32|`[^`]*`|\([^)]*\.(md|html|svg)[^)]*\)|\{0\[[^}]*\}|[vB]²"
"""Digits that are part of a name, a link, a formula, or filled in from a file."""


def test_no_number_is_typed_into_the_sentences_of_the_results():
    texts = script("studies/results_page.py").sentences()
    prose = [*texts["text"].values(), *(one["text"] for one in texts["study"])]
    prose += [one["found"] for one in texts["finding"]]
    prose += [one[key] for one in texts["card"] for key in ("assumes", "overturned")]
    for text in prose:
        assert not re.findall(r"[^.\n]*\d[^.\n]*", re.sub(NAMES, "", text)), text


def test_the_first_screen_of_the_results_answers_what_earns_what():
    """Coding, recipe and score each have a verdict or say that it is missing, with the number of seeds."""
    front = script("studies/results_front.py")
    pages = script("studies/results_page.py")
    table = front.questions(pages.sentences()["question"], pages.read("results"))
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        assert any(re.search(r"\*\*\w[\w ]*\*\*(, stated afterwards)? \(n = \d", cell) for cell in cells), line
        assert all(re.search(r"n = \d|^not run yet$|^—$", cell) for cell in cells), line
    whole = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert whole.index("## Five questions") < whole.index("**The score, pooled") < whole.index("## CIFAR-10 to 70 %")


def test_what_is_said_of_the_authors_log_is_what_was_compared():
    page = (ROOT / "docs" / "results" / "cifar10-log" / "compare-log.md").read_text(encoding="utf-8")
    table = page.split("\n\n")[2].splitlines()[2:]  # of the seed that the run has
    assert (len(table), sum("**beyond**" in row for row in table)) == (29, 1)
    assert "but for one of 29 figures" in (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


def test_the_readme_is_one_screen_and_its_blocks_are_what_commands_left():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= 120
    assert f"{sum(entry.published for entry in REGISTRY.values())} published methods" in readme
    rounds = (ROOT / "src/heteroselect/round/round.py").read_text(encoding="utf-8")
    stages = re.findall(r"    (.+?)(?:  #.*)?\n", rounds[rounds.index("seen = observe") - 4 :])[:5]
    assert "\n".join(stages) in readme, "the round in five lines"
    said = (ROOT / "docs/badges/python.svg").read_text() + (ROOT / "docs/badges/license.svg").read_text()
    assert "Apache-2.0" in said
    assert "3.11 – 3.14" in said
    choose = script("studies/choose.py")
    page = (ROOT / "docs/choose.md").read_text(encoding="utf-8")
    assert script("studies/results_page.py").replaced(page, "choose", choose.choose(choose.read("results"))) == page


@pytest.mark.slow
def test_the_first_comparison_of_the_readme_prints_what_stands_there(tmp_path):
    """The same rows in the same columns; figures within what another type of CPU may change."""
    first = script("studies/first_screen.py")
    kept = (first.KEPT / "compare.txt").read_text(encoding="utf-8").splitlines()[1:]
    found = first.first_table(first.said(tmp_path / "out")).splitlines()
    numbers = r"\d+(?:\.\d+)?"
    shape, known = ([re.sub(numbers, "#", line).split() for line in lines] for lines in (found, kept))
    assert shape == known
    kept_numbers, now = (np.array(re.findall(numbers, "\n".join(lines)), float) for lines in (kept, found))
    assert now == pytest.approx(kept_numbers, rel=0.1, abs=0.5)
    assert (tmp_path / "out" / "figures" / "race.svg").exists()


def test_the_results_are_those_of_the_studies_as_they_stand():
    """Every run is of a row that its study still has, with that row's settings; every claim too. Only row 0 of the
    ladder comes from elsewhere: tests/test_first_row.py."""
    study, elsewhere = script("studies/results_page.py"), script("studies/first_row.py").NAME
    results = study.read("results")
    for name in {run["study"] for run in results["runs"]}:
        read = studies.read(ROOT / "studies" / f"{name}.toml")
        rows = {row.label: row for row in read.row}
        for run in (run for run in results["runs"] if run["study"] == name and run["row"] != elsewhere):
            assert run["settings"] == {**flatten(read.settings), **flatten(rows[run["row"]].settings)}
            assert run["seed"] in (rows[run["row"]].seeds or read.seeds)
        claims = {one["text"] for one in results["claims"] if one["study"] == name}
        assert claims <= {claim.text for claim in read.claim}


def test_every_claim_that_the_page_speaks_of_is_one_of_a_study():
    texts = script("studies/results_page.py").sentences()
    known = {
        claim.text
        for path in (ROOT / "studies").glob("*.toml")
        if path.stem != "results"
        for claim in studies.read(path).claim
    }
    assert {claim for one in texts["finding"] for claim in one.get("claims", [])} <= known


def test_heteroselect2_is_what_its_page_says():
    """Every number of the equations is the method's own."""
    page = " ".join((ROOT / "docs" / "beyond.md").read_text(encoding="utf-8").split())
    method = methods.get("heteroselect2")
    select, rate, train = method.select, method.lr, method.solver
    server = method.server_optimizer
    for said in (
        f"H = {train.steps}, η₀ = {rate.start}, λ = {server.momentum}, and the weight decay is {train.decay}.",
        f"π_k = clip(c·s_k, {FLOOR}·m/K, 1) with Σπ_k = m",
        f"η_t = η₀({rate.final} + {1 - rate.final}·(1 + cos(π(t − 1)/T))/2)",
        f"D is the shortest deadline for which their mean is {method.allocate.average}:",
        "a_k ∝ 1/(1 + V(θ_k))",
    ):
        assert said in page, said
    kinds = [
        part.kind
        for part in (
            select,
            method.allocate,
            method.local_steps,
            method.compress,
            method.weigh,
            method.server_optimizer,
        )
    ]
    assert kinds == ["balanced", "deadline", "device", "ternary", "variance", "look-ahead"]
    assert (select.speed, train.momentum, rate.horizon) == (1, 0, None)
    assert method.compress.spread == "energy"
    assert (method.model_average.kind, method.downlink.kind, method.score.kind) == ("exponential", "model", "none")


EXAMPLES = [p.name for p in sorted((ROOT / "studies").glob("*.py")) if re.search(r"^ *>>> ", p.read_text(), re.M)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_studies(name):
    found = doctest.testmod(script(f"studies/{name}"))
    assert found.attempted
    assert not found.failed


def test_every_link_of_the_docs_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "results").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_pages_of_the_results_can_be_mailed_and_load_nothing():
    pages = sorted((ROOT / "docs" / "results").rglob("*.html"))
    assert len(pages) >= 5
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert len(text.encode()) < 400_000, page
        assert not re.search(r"""(src|href)=["']?(https?:)?//|url\(["']?http|@import""", text), page


def test_the_clocks_of_the_worlds_are_those_that_were_measured():
    found = json.loads((ROOT / "docs" / "worlds" / "clock.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "worlds.md").read_text(encoding="utf-8")
    for preset, row in found.items():
        shares = " | ".join(f"{100 * row[part]:.1f} %" for part in ("compute", "up", "down"))
        assert f"| `{preset}` | {row['seconds']} | {shares} |" in page
    assert found["mnist"]["compute"] > 0.95, "nearly all compute"
    assert found["mnist-narrowband"]["compute"] < 0.5, "links bind"


def test_a_step_of_the_narrowband_preset_takes_what_the_page_says():
    devices = prepare(load("mnist-narrowband")).environment.world.devices
    assert devices.step_flops == 2 * 2 * 32 * 784 * 10, "1.0 million"
    assert (devices.low_gflops, devices.high_gflops) == (0.01, 0.1)
    assert devices.at(np.array([0.0, 1.0])) == pytest.approx([0.1, 0.01], rel=0.01)
    page = (ROOT / "docs" / "worlds.md").read_text(encoding="utf-8")
    assert "10 to 100\nmillion operations per second" in page
    assert "1.0 million operations of a step then\ntake 10 to 100 ms" in page


def test_selectors_that_cannot_choose_who_starts_next_are_all_named():
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    rows = page[page.index("| `method.select.kind` |") : page.index("Oort is among the others")].splitlines()[2:]
    named = {kind for row in rows for kind in re.findall("`([a-z-]+)`", row.split("|")[1] if "|" in row else "")}
    refused = set()
    for kind in KINDS["select"]:
        try:
            load({}, method="fedbuff", changes={"method.select.kind": kind})
        except HeteroSelectError:
            refused.add(kind)
    assert named == refused


def test_the_page_of_settings_is_whole():
    """Every setting, as `make docs` writes them, and every field of a run folder's files."""
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert settings_page(list(describe())) in page
    result = heteroselect.run("mnist", settings={"stop_after": 1, "method.solver.steps": 1})
    for field in (*result.summary, *result.rounds[0]):
        assert f"`{field}`" in page, field


@pytest.mark.slow
def test_the_example_is_short_and_learns():
    path = ROOT / "examples" / "own_model.py"
    assert len(path.read_text().splitlines()) < 60
    result = script("examples/own_model.py").main(rounds=12)
    assert result.final_accuracy > 0.8


def test_no_pickle_and_no_global_generator():
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"(import|from)\s+(\w+,\s*)*(pickle|_pickle|dill|cloudpickle|joblib|shelve|marshal)\b", text
        ), path
        assert not re.search(
            r"torch\.(jit\.load|package|hub)|allow_pickle=True|read_pickle|\beval\(\w|\bexec\(", text
        ), path
        assert len(re.findall(r"np\.load\(", text)) == len(re.findall(r"np\.load\([^\n]*allow_pickle=False", text)), (
            path
        )
        assert not re.search(r"torch\.(load|save)\(|np\.random\.(seed|rand|randn|choice|permutation)\(", text), (
            path.name
        )


def test_the_study_of_hostile_clients_is_that_of_its_runs():
    pytest.importorskip("matplotlib", reason="the study draws a figure (pip install 'heteroselect[report]')")
    study = script("studies/hostile.py")
    found = json.loads((ROOT / "studies" / "hostile.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"{study.START}\n{study.section(found)}{study.END}" in page


@pytest.mark.slow
def test_the_table_of_epsilons_is_what_the_accountant_says(monkeypatch):
    """Every row with the least and the most noise, and that of five presets with all: each ε takes a quarter of a
    second."""
    pytest.importorskip("dp_accounting", reason="ε needs an accountant (pip install 'heteroselect[privacy]')")
    study = script("studies/privacy_page.py")
    page = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")

    def cells(table):
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.strip().splitlines()]

    rows = cells(page.partition(study.START)[2].partition(study.END)[0])
    known = {}
    assert all(known.setdefault(tuple(row[1:4]), row[4:]) == row[4:] for row in rows), "of equal draws ε is equal"
    with monkeypatch.context() as patch:
        patch.setattr(privacy, "MULTIPLIERS", privacy.MULTIPLIERS[::4])
        assert cells(study.presets_table()) == [[*row[:4], *row[4::4]] for row in rows]
    found = {"mnist": config.presets()["mnist"]}
    monkeypatch.setattr(config, "presets", lambda: found)
    assert cells(study.presets_table()) == [*rows[:2], *(row for row in rows if row[0] == "`mnist`")]


def test_up_to_how_many_classes_a_round_notes_each_of_them():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert f"| `class_accuracy` | where targets are classes, at most {evaluate.MOST:,}: " in page


def test_every_sentence_on_the_final_accuracy_says_what_it_is_of_a_short_run() -> None:
    rising = [{"accuracy": one / 100} for one in range(20)]
    assert (tail(rising), tail(rising[:19])) == (pytest.approx(0.17), pytest.approx(0.165))  # 15 to 19, and 15 to 18
    files = [*ROOT.glob("docs/*.md"), *(ROOT / "src").rglob("*.py")]
    for file in files:
        for found in re.finditer(r"mean of the last five(.{0,80})", " ".join(file.read_text(encoding="utf-8").split())):
            assert "of the last quarter" in found[1], f"{file.name}: {found[0]}"


def test_what_was_reached_stands_beside_what_was_aimed_at():
    goals, pages = script("studies/goals.py"), script("studies/results_page.py")
    results, courses = pages.read("results"), pages.read("courses")
    page = (ROOT / "docs" / "beyond.md").read_text(encoding="utf-8")
    assert f"made by `make results` -->\n{goals.goals(results, courses)}<!-- end of goals -->" in page
    nobody = {"seconds_to_target": None, "wire_megabytes_to_target": None}
    assert goals.reached(goals.GOALS[0], nobody) == "70 % not reached"
    middle = []
    for seed in goals.SEEDS:
        slow = np.sort(Devices().step_seconds(100, Streams(seed)))  # drawn with chances as their speed
        middle.append(slow[np.searchsorted(np.cumsum(1 / slow) / np.sum(1 / slow), 0.5)])
    said = "takes {2:.2f} s per step, and {0:.2f} s and {1:.2f} s with seeds 42 and 43.".format(*middle)
    assert said in " ".join(page.split())


def test_what_is_said_of_whole_runs_is_what_their_courses_say():
    courses = script("studies/courses.py")
    runs = json.loads(courses.FILE.read_text(encoding="utf-8"))["runs"]
    page = " ".join((ROOT / "docs" / "beyond.md").read_text(encoding="utf-8").split())
    again, down = (runs[f"heteroselect2, {name}, seed-42"] for name in ("on another CPU", "steps down"))
    even = next(row for row in again if row[1] >= 0.7 and row[0] % 2 == 0)
    for said in (
        f"with seed 42 on another type of CPU after {even[2]:.0f} s and {even[4]:.0f} MB;",
        f"70 % in round {even[0]}, after {even[2]:.0f} s.",
        f"after {down[-1][0]} rounds ({down[-1][3]:.0f} s and {down[-1][5] / 1000:.1f} GB down) that run ends at "
        f"{100 * down[-1][1]:.1f} %, where the whole model ends at {100 * again[-1][1]:.1f} % on the same CPU "
        f"({again[-1][3]:,.0f} s and {again[-1][5] / 1000:.1f} GB).",
        f"All {again[-1][0]} rounds (“on another CPU” in the [results](results.md)) end at {100 * again[-1][1]:.1f} %;",
    ):
        assert said in page, said


def test_what_each_part_earns_is_what_the_ladder_says():
    """The table of the section, and which steps its sentences call small, costly or dear."""
    ladder, results = script("studies/ladder.py"), script("studies/results_page.py")
    rows = results.rows_of(results.read("results"), "parts")
    page = (ROOT / "docs" / "beyond.md").read_text(encoding="utf-8")
    assert results.replaced(page, "ladder", ladder.ladder(rows)) == page
    seconds, sent = ([cost(run) for run in ladder.steps(rows).values()] for cost in list(ladder.PANELS.values())[:2])
    assert sent[1] > sent[0], "the recipe alone sends everything"
    assert min(range(1, 9), key=lambda step: seconds[step] / seconds[step - 1]) == 2, "one bit earns the most"
    assert all(later <= sooner for sooner, later in pairwise(seconds[2:9])), "each step of 3 to 8 a little"


def test_what_is_said_of_mnist_is_what_the_claims_say():
    page = " ".join((ROOT / "docs" / "beyond.md").read_text(encoding="utf-8").split())
    pages = script("studies/results_page.py")
    known = pages.claims_of(pages.read("results"), "beyond-mnist")
    claims = {(one["better"], one["than"], one["figure"]): change(one) for one in known}
    ours, uniform = "heteroselect2", "heteroselect2, drawn uniformly"
    for better, than, figure, said in (
        (ours, "heteroselect-as-run", "seconds_to_target", "and {} those of its method here, everything charged."),
        (f"{ours}, drawn by the paper's score", uniform, "rounds_to_target", "5 | {} the rounds;"),
        (f"{ours}, the paper's score in all three", uniform, "rounds_to_target", "{} where the score"),
        (f"{ours}, 100 rounds", "fedavg, 100 rounds", "last_accuracy", "it ends {} below FedAvg after 100 rounds"),
    ):
        text = claims[better, than, figure].removeprefix("-")
        assert said.format(re.sub(" the [a-z]+$", "", text)) in page, text
    verdicts = {one["better"]: one["verdict"] for one in known if one["than"] == "fedavg, 100 rounds"}
    assert verdicts == {"heteroselect2, 100 rounds": "inconclusive", "lean, 100 rounds": "holds"}
