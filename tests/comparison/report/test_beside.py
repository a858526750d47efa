"""A paper's figures stand beside runs that can be measured by them."""

import shutil

import pytest

from heteroselect.comparison.report.beside import beside, with_clock
from heteroselect.comparison.report.load import compare
from heteroselect.settings import PaperRow
from heteroselect.settings.config import load

ROW = PaperRow(source="Table", rounds=100, peak_accuracy=0.9, final_accuracy=0.8, rounds_to_target=5)
NEVER = PaperRow(source="Table", rounds=100, peak_accuracy=0.5)
SHORT = {"peak_accuracy": None, "final_accuracy": None}


@pytest.mark.parametrize(
    ("row", "rounds", "reached", "expected"),
    [
        (ROW, 4, False, None),
        (ROW, 5, False, SHORT),
        (ROW, 3, True, SHORT),
        (ROW, 99, True, SHORT),
        (ROW, 100, False, {}),
        (NEVER, 99, False, None),
        (NEVER, 50, True, SHORT),
        (NEVER, 100, False, {}),
        (PaperRow(source="Table", peak_accuracy=0.5), 1, False, {}),
    ],
)
def test_so_many_rounds_as_a_figure_needs(row, rounds, reached, expected):
    assert beside([row], rounds, reached=reached) == ([] if expected is None else [row.model_copy(update=expected)])


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        ({}, 1),
        ({"rounds": 3, "clients": 20, "data.dir": "there", "data.augment": False}, 1),
        ({"data.name": "random.npz"}, 0),
        ({"data.partition": "iid"}, 0),
        ({"data.dominant_fraction": 0.8}, 0),
        ({"model.name": "alexnet"}, 0),
    ],
)
def test_only_of_the_same_data_partition_and_model(changes, rows):
    preset = load("mnist").config
    assert len(preset.paper) == 1
    for written in ("mnist", preset):  # a written configuration keeps its row until it becomes another experiment
        assert len(load(written, changes=changes).config.paper) == rows


def test_a_page_shows_no_row_that_is_not_of_all_of_its_runs(make_run, tmp_path):
    """As one of mnist and of mnist with another partition, whose runs carry no row."""
    make_run("paper's")
    other = make_run("other", method="other", paper=False)
    found = compare([tmp_path])
    assert found.paper == ()
    assert found.left_out == ("the paper's Table I is left out: it is not of all of these runs.",)
    shutil.rmtree(other)
    assert [row.source for row in compare([tmp_path]).paper] == ["Table I"]
    assert compare([tmp_path]).left_out == ()


def test_a_page_shows_what_stands_beside_any_of_its_runs(make_run, tmp_path):
    row = {"source": "Table I", "rounds": 4, "peak_accuracy": 0.99, "rounds_to_target": 3}
    short = make_run("short", method="short", accuracies=(0.1, 0.2), settings={"paper": [row]})
    assert compare([short]).paper == ()
    make_run("long", settings={"paper": [row]})
    assert [one.peak_accuracy for one in compare([tmp_path]).paper] == [0.99]


def test_seconds_by_another_clock_are_said_to_be():
    rows = [PaperRow(source="Table III", seconds_to_target=118.3), PaperRow(source="Table I", rounds_to_target=5)]
    assert with_clock(rows, ["paper"]) == rows
    assert [row.source for row in with_clock(rows, ["everything"])] == ["Table III, by the paper's clock", "Table I"]
    assert with_clock(rows, ["paper", "uplink"])[0].seconds_to_target == 118.3
