"""From folders to groups: what is taken, what is left out, and what is refused."""

import json

import pytest

from heteroselect.comparison.report.load import compare
from heteroselect.errors import HeteroSelectError
from heteroselect.runs.folder import CONFIG, ROUNDS, SUMMARY


def test_seeds_of_a_method_are_one_group_in_order(make_run):
    folders = [make_run(f"b{seed}", method="b", seed=seed) for seed in (3, 1)] + [make_run("a", method="a")]
    found = compare(folders)
    assert [(group.label, group.seeds) for group in found.groups] == [("b", "1, 3"), ("a", "1")]
    assert (found.dataset, found.target) == ("points", 0.9)
    assert [row.source for row in found.paper] == ["Table I"]


def test_a_folder_of_a_comparison_is_read_in_the_order_in_which_its_methods_were_named(make_run, tmp_path):
    for name in ("a", "b"):
        make_run(f"grid/{name}/seed-1", method=name)
    (tmp_path / "runs" / "grid" / "compare.json").write_text(json.dumps({"runs": [{"row": "b"}, {"row": "a"}]}))
    found = compare([tmp_path / "runs" / "grid"])
    assert [group.label for group in found.groups] == ["b", "a"]
    assert found.table.base == "b"
    (tmp_path / "runs" / "grid" / "compare.json").write_text("no table")
    assert compare([tmp_path / "runs" / "grid"]).table.base == "a"


def test_a_folder_given_twice_counts_once(make_run, tmp_path):
    folder = make_run("a")
    assert len(compare([folder, tmp_path, folder / ".." / "a"]).groups[0].runs) == 1


def test_the_same_run_again_is_left_out_and_said(make_run, tmp_path):
    make_run("a", accuracies=(0.5, 0.6))
    longer = make_run("b", accuracies=(0.5, 0.6, 0.7))
    found = compare([tmp_path])
    assert [run.path for run in found.groups[0].runs] == [longer]
    assert "is the same run" in found.left_out[0]


def test_other_settings_are_another_group_named_after_them(make_run, tmp_path):
    make_run("a", settings={"selected": 2})
    make_run("b", settings={"selected": 3})
    make_run("c", method="other")
    assert [group.label for group in compare([tmp_path]).groups] == ["ours (selected=2)", "ours (selected=3)", "other"]


def test_a_part_of_another_kind_is_named_and_not_each_of_its_settings(make_run, tmp_path):
    uniform, oort = {"kind": "uniform"}, {"kind": "oort", "tired": 10, "penalty": 2.0}
    for name, select in (("a", uniform), ("b", oort), ("c", oort | {"tired": 3})):
        make_run(name, settings={"method": {"name": "ours", "select": select, "solver": {"kind": "sgd", "steps": 50}}})
    assert [group.label for group in compare([tmp_path]).groups] == [
        "ours (select.kind=uniform)",
        "ours (select.kind=oort, select.tired=10)",
        "ours (select.kind=oort, select.tired=3)",
    ]


def test_runs_of_the_first_format_stand_beside_those_of_today(make_run, tmp_path):
    old = {"method": {"name": "ours", "solver": {"rate": 0.05}, "compress": {"kind": "topk"}}}
    new = {"version": 2, "method": {"name": "ours", "lr": {"kind": "shared", "start": 0.05}}}
    make_run("a", settings=old)
    make_run("b", settings=new)
    assert [group.label for group in compare([tmp_path]).groups] == ["ours", "ours (version=2)"]


def test_half_a_run_is_no_seed_beside_whole_ones(make_run, tmp_path):
    """Ctrl-C and the stopped trials of a tuning leave a summary, a killed run leaves none."""
    make_run("a", seed=1)
    half = [make_run(f"b{seed}", seed=seed, accuracies=(0.1,), summary={"status": "interrupted"}) for seed in (2, 3)]
    make_run("c", seed=4, summary={"status": "finished"})
    killed = make_run("d", seed=5)
    (killed / SUMMARY).unlink()
    found = compare([tmp_path])
    assert [one.seeds for one in found.groups] == ["1, 4"]
    assert found.left_out == tuple(f"{one} has not finished and is left out." for one in (*half, killed))
    with pytest.raises(HeteroSelectError, match=r"b2 has not finished; `heteroselect resume .*b2`"):
        compare([half[0]])
    with pytest.raises(HeteroSelectError, match="has not finished"):
        compare([killed])
    (tmp_path / "trials").mkdir()
    half[1].rename(tmp_path / "trials" / "b3")
    with pytest.raises(HeteroSelectError, match=r"report: no run in .* has finished"):
        compare([tmp_path / "trials"])


@pytest.mark.parametrize(
    ("field", "value"),
    [("dataset", "mnist"), ("target", 0.8), ("metric", {"name": "hits", "higher": True, "unit": "%"})],
)
def test_what_cannot_be_compared_is_refused(make_run, tmp_path, field, value):
    make_run("a")
    make_run("b", seed=2, summary={field: value})
    with pytest.raises(HeteroSelectError, match=f"differ in {field}"):
        compare([tmp_path])


def test_nothing_to_show(make_run, tmp_path):
    with pytest.raises(HeteroSelectError, match="no folder"):
        compare([tmp_path / "absent"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(HeteroSelectError, match="nor holds any"):
        compare([tmp_path / "empty"])
    with pytest.raises(HeteroSelectError, match="has no rounds"):
        compare([make_run("a", accuracies=())])


def _with(without=None, **changes):
    def spoil(folder):
        first, *rest = (folder / ROUNDS).read_text().splitlines()
        cut = {key: value for key, value in (json.loads(first) | changes).items() if key != without}
        (folder / ROUNDS).write_text("\n".join([json.dumps(cut), *rest]))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (_with(without="bytes_up"), "bytes_up"),
        (_with(selected=[0, 99]), "a client that is not one of 5"),
        (_with(densities=[0.5]), "differ in length"),
        (_with(accuracy="high"), "accuracy"),
        (lambda folder: (folder / ROUNDS).write_text('{"round": 1'), ROUNDS),
        (lambda folder: (folder / ROUNDS).write_text("[1]\n"), ROUNDS),
        (lambda folder: (folder / ROUNDS).write_bytes(b"\xff\xfe"), ROUNDS),
        (lambda folder: (folder / SUMMARY).write_text("{}"), SUMMARY),
        (lambda folder: (folder / CONFIG).write_text("clients = "), CONFIG),
        (lambda folder: (folder / CONFIG).write_text("clients = 'many'"), CONFIG),
        (lambda folder: (folder / CONFIG).write_text("clients = 5\npaper = 3"), CONFIG),
    ],
)
def test_a_damaged_file_is_named(make_run, spoil, named):
    folder = make_run("a")
    spoil(folder)
    with pytest.raises(HeteroSelectError, match="damaged") as caught:
        compare([folder])
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)
