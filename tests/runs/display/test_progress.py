"""Progress: who sees it, and what it says."""

import sys
from types import SimpleNamespace

import pytest

from heteroselect.core.measure import Measure
from heteroselect.runs.display import progress
from heteroselect.runs.display.progress import in_notebook, shown, watching, where


def line(t: int, value: float | None) -> dict[str, object]:
    return {"round": t, "accuracy": value, "cumulative_seconds": 1000.0 * t, "bytes_up": 250_000}


@pytest.mark.parametrize(
    ("wanted", "watched", "place"),
    [(None, False, "nowhere"), (True, False, "lines"), (True, True, "lines"), (False, False, "nowhere")],
)
def test_without_a_terminal_only_who_asks_sees_anything(wanted, watched, place):
    assert where(wanted, watched=watched) == place


def test_on_a_terminal_everybody_sees_it_but_who_watches_alone(monkeypatch):
    monkeypatch.setattr(progress, "err", SimpleNamespace(is_terminal=True))
    assert (where(None), where(True), where(False)) == ("terminal", "terminal", "nowhere")
    assert (where(None, watched=True), where(True, watched=True)) == ("nowhere", "terminal")


def test_lines_are_about_ten_and_tell_the_metric_the_clock_and_the_bytes(capsys):
    with watching(40, "lines", sent=lambda t: 2.0 * (t - 11), measure=Measure("MSE", False, "")) as watch:
        watch.stage("setting up: data and model")
        for t in range(12, 41):
            watch(line(t, 3.5 if t == 12 else None))
    said = capsys.readouterr().err.splitlines()
    assert [text.split(" · ")[0] for text in said] == [f"round {t}/40" for t in (12, 16, 20, 24, 28, 32, 36, 40)]
    assert said[0] == "round 12/40 · MSE    3.5 · 12,000 simulated s · 2.25 MB sent"
    assert said[-1].endswith("MSE    3.5 · 40,000 simulated s · 9.25 MB sent"), "the last value stays"


def test_live_it_says_what_is_being_set_up():
    seen: list[tuple[str, int]] = []
    watch = progress.Watch(
        lambda text, done: seen.append((text, done)), 3, sent=lambda _: 0.0, some=False, measure=Measure()
    )
    watch.stage("setting up: data and model")
    watch(line(1, 0.5))
    watch(line(2, None))
    assert [(text.partition(" ·")[0], done) for text, done in seen] == [
        ("setting up: data and model", 0),
        ("round 1/3", 1),
        ("round 2/3", 2),
    ]
    assert "accuracy 50.00%" in seen[2][0]


def test_nowhere_nothing_is_said(capsys):
    with watching(2, "nowhere") as watch:
        watch.stage("setting up")
        watch(line(1, 0.5))
    assert capsys.readouterr() == ("", "")


class Shell:
    """As IPython is where it is the kernel of a notebook."""

    kernel = object()


def test_in_a_notebook_one_output_is_updated_and_ends_with_the_last_round(monkeypatch):
    updates: list[str] = []
    handle = SimpleNamespace(update=updates.append)
    display = SimpleNamespace(HTML=str, display=lambda _, display_id: handle)
    shell = SimpleNamespace(get_ipython=Shell, display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert in_notebook()
    assert where(None) == "notebook"
    with shown("notebook", 50) as show:
        for t in range(51):
            show(f"<b>{t}", t)
    assert len(updates) < 20, "not each of many quick ones"
    assert updates[-1] == "<progress max='50' value='50'></progress> <code>&lt;b&gt;50</code>"
    monkeypatch.setattr(Shell, "kernel", None, raising=True)
    assert not in_notebook(), "IPython on a terminal is none"


@pytest.mark.slow
def test_in_a_real_kernel_a_run_shows_its_progress_and_itself():
    """With Jupyter's own packages, where they are installed."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    code = (
        "import heteroselect\n"
        "small = {'clients': 10, 'selected': 3, 'method.solver.steps': 2}\n"
        "heteroselect.run('mnist', rounds=3, settings=small)"
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of those packages
        nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    pages = ["".join(one["data"]["text/html"]) for one in book.cells[0].outputs if "text/html" in one.get("data", {})]
    assert len(pages) == 2
    assert "round 3/3" in pages[0]
    assert "<svg" in pages[1]
    assert [one for one in book.cells[0].outputs if one["output_type"] == "stream"] == []
