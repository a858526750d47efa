"""The picture of a run: it draws what is in the folder, and the same run gives the same file."""

import pytest

from heteroselect.errors import HeteroSelectError
from heteroselect.report.figure import draw_run
from heteroselect.settings import PaperRow

pytestmark = pytest.mark.slow  # pictures

SUMMARY = {"method": "heteroselect", "dataset": "mnist", "seed": 42, "target": 0.9}
ROUNDS = [
    {
        "round": t,
        "accuracy": 0.8 + 0.01 * t if t != 2 else None,
        "cumulative_seconds": 20.0 * t,
        "bytes_up_paper": 1e5,
        "bytes_up": 110000,
    }
    for t in range(1, 6)
]
PAPER = [PaperRow(source="Table", rounds_to_target=5, seconds_to_target=118.3, megabytes_to_target=0.61)]


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_each_format(tmp_path, ending, magic):
    path = tmp_path / f"run.{ending}"
    draw_run(SUMMARY, ROUNDS, PAPER, path)
    assert path.read_bytes().startswith(magic)


def test_the_same_run_gives_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_another_run_gives_another_file(tmp_path):
    draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "a.svg")
    draw_run(SUMMARY, ROUNDS[:-1], PAPER, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.svg").read_bytes()


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(HeteroSelectError, match=r"allowed endings are \.png, \.svg, \.pdf"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "run.gif")


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(HeteroSelectError, match="cannot be written"):
        draw_run(SUMMARY, ROUNDS, PAPER, tmp_path / "none" / "run.png")
