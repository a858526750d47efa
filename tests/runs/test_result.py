"""What a run gives back in Python: fields, a page for a notebook, a frame, a picture; and a run that is read again."""

import ast
import builtins
import copy
import dataclasses
import doctest
import inspect
import json
import re
import shutil
import sys

import pytest
import torch

import heteroselect
from heteroselect import HeteroSelectError
from heteroselect.runs.calls import run

SMALL = {"clients": 10, "selected": 3, "method.solver.steps": 2, "rounds": 3, "target": 0.3}


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> heteroselect.Result:
    return heteroselect.run("mnist", settings=SMALL, out=tmp_path_factory.mktemp("result") / "run")


def test_figures_of_the_summary_are_fields(result):
    names = {one.name for one in dataclasses.fields(result)} - {"config", "summary", "rounds", "model", "folder"}
    assert {"final_accuracy", "rounds_to_target", "model_sha256", "status"} <= names <= set(result.summary)
    assert {name: getattr(result, name) for name in names} == {name: result.summary[name] for name in names}
    assert len(result.rounds) == result.rounds_run == 3
    assert result.title == result.summary["title"], "the others can be reached, too"
    assert {"title", "final_accuracy", "plot"} <= set(dir(result))
    with pytest.raises(AttributeError, match="final_acuracy"):
        result.final_acuracy  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.seed = 3
    assert copy.copy(result).seed == result.seed


def test_a_notebook_shows_a_table_and_a_curve_that_load_nothing(result):
    page = result._repr_html_()
    assert f"{result.final_accuracy:.2%}" in page
    assert "rounds to 30%" in page
    assert page.count("<polyline") == 1
    assert not re.search(r"<script|href=|src=|url\(", page)


def test_a_run_that_is_read_is_the_run(result, tmp_path):
    before = {path: path.read_bytes() for path in result.folder.iterdir()}
    again = heteroselect.read(result.folder)
    assert (again.summary, again.rounds, again.config) == (result.summary, result.rounds, result.config)
    assert all(torch.equal(again.model[name], result.model[name]) for name in result.model)
    assert {path: path.read_bytes() for path in result.folder.iterdir()} == before
    with pytest.raises(HeteroSelectError, match="is no run folder"):
        heteroselect.read(tmp_path)
    folder = shutil.copytree(result.folder, tmp_path / "run")
    (folder / "model.safetensors").write_bytes(b"no model")
    with pytest.raises(HeteroSelectError, match=r"read: the files in .* are damaged"):
        heteroselect.read(folder)
    (folder / "summary.json").unlink()
    with pytest.raises(HeteroSelectError, match=r"has not ended; heteroselect\.resume goes on"):
        heteroselect.read(folder)


def test_a_frame_has_a_line_per_round(result):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = result.to_frame()
    assert list(frame.index) == [1, 2, 3]
    assert list(frame["accuracy"]) == [line["accuracy"] for line in result.rounds]
    assert set(frame.columns) == set(result.rounds[0]) - {"round"}


def test_without_pandas_a_sentence_says_what_is_missing(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        HeteroSelectError, match=r"^to_frame: pandas is not installed; `pip install pandas` brings it\.$"
    ):
        result.to_frame()


def test_a_picture_has_the_curve_and_the_target_on_new_axes_or_on_those_given(result, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = result.plot("megabytes", label="one")
    curve, target = axes.lines
    assert list(curve.get_ydata()) == [line["accuracy"] for line in result.rounds]
    assert curve.get_xdata()[-1] == pytest.approx(result.total_wire_megabytes)
    assert list(target.get_ydata()) == [0.3, 0.3]
    assert axes.get_xlabel() == "MB sent by clients"
    assert result.plot("megabytes", ax=axes, label="two") is axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    pyplot.close(axes.figure)
    with pytest.raises(HeteroSelectError, match="axis: allowed are"):
        result.plot("time")


def test_a_run_says_what_it_does_where_it_is_asked_to(capsys):
    heteroselect.run("mnist", settings=SMALL)
    assert capsys.readouterr() == ("", "")
    heteroselect.run("mnist", settings=SMALL, progress=True)
    said = capsys.readouterr().err.splitlines()
    assert [text.partition(" ·")[0] for text in said] == ["round 1/3", "round 2/3", "round 3/3"]


def test_every_argument_is_explained():
    for function in (run, heteroselect.resume, heteroselect.compare, heteroselect.study):
        text = inspect.getdoc(function)
        assert ">>> " in text
        told = set(re.findall(r"\w+", "\n".join(re.findall(r"^ {4,8}(\w+(?:, \w+)*) {2,}\S", text, re.M))))
        missing = set(inspect.signature(function).parameters) - told
        if function is heteroselect.resume:
            missing -= {"threads", "device", "progress", "log", "watch", "warn"}  # as in `run`, which it says
        assert not missing, (function.__name__, missing)


@pytest.mark.parametrize("name", ["run", "resume", "read", "compare", "study"])
def test_an_example_of_help_needs_only_the_package_and_what_it_imports(name):
    """Doctest would also find what the function's own module imports, which a reader does not have."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(heteroselect, name)))
    nodes = list(ast.walk(ast.parse("".join(example.source for example in examples))))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    made |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert name in used
    assert used - made - set(dir(builtins)) - set(heteroselect.__all__) == set()


def test_a_summary_that_was_damaged_is_one_sentence(tmp_path):
    heteroselect.run("mnist", settings={**SMALL, "rounds": 1}, out=tmp_path / "run")
    summary = tmp_path / "run" / "summary.json"
    summary.write_text(json.dumps({**json.loads(summary.read_text()), "metric": "x"}))
    with pytest.raises(HeteroSelectError, match=r"read: the files in .* are damaged"):
        heteroselect.read(tmp_path / "run")
