"""Without an extra, what needs it says so in one sentence before anything is run; nothing else notices."""

import re
import sys

import pytest

from heteroselect.cli import app
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import MODULES, require

STUDY = 'preset = "mnist"\nseeds = [42]\n[[row]]\nmethod = "fedavg"\n'


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["report", "runs"], "report"),
        (["show", "run", "--figure", "run.svg"], "--figure"),
        (["compare", "mnist", "--methods", "fedavg,oort"], "compare"),
        (["tune", "mnist", "--methods", "fedavg"], "tune"),
        (["study", "study.toml"], "study"),
        (["compare-log", "run", "log.csv", "--out", "there"], "--out"),
    ],
)
def test_what_draws_names_the_extra_before_anything_is_run(words, wanted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "log.csv").touch()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sentence = f"{wanted}: Matplotlib is not installed; `pip install 'heteroselect[report]'` brings it."
    with pytest.raises(HeteroSelectError, match=f"^{re.escape(sentence)}$"):
        app(words, standalone_mode=False)
    assert {path.name for path in tmp_path.iterdir()} == {"study.toml", "log.csv"}


@pytest.mark.parametrize("extra", MODULES)
def test_what_is_installed_is_not_asked_for(extra, monkeypatch):
    for module in MODULES[extra]:
        monkeypatch.setitem(sys.modules, module, sys)
    require(extra, "anything")
