"""Without an extra, what needs it says so in one sentence before anything is run; nothing else notices."""

import re
import sys
from pathlib import Path

import pytest

from heteroselect.cli import app
from heteroselect.errors import HeteroSelectError
from heteroselect.extras import MODULES, require
from heteroselect.runs.worlds import files_of
from heteroselect.settings.world import WorldSettings

PRIVATE = ["--set", "method.privacy.kind=gaussian", "--set", "method.privacy.noise=1.3"]
EXTRA = {"flwr": "flower", "tensorboard": "tensorboard", "dp_accounting": "privacy"}
STUDY = 'preset = "mnist"\nseeds = [42]\n[[row]]\nmethod = "fedavg"\n'


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["report", "runs"], "report"),
        (["show", "run", "--figure", "run.svg"], "--figure"),
        (["compare", "mnist", "--methods", "fedavg,oort"], "compare"),
        (["tune", "mnist", "--methods", "fedavg"], "tune"),
        (["study", "study.toml"], "study"),
        (["paper", "compare-log", "run", "log.csv", "--out", "there"], "--out"),
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


@pytest.mark.parametrize(
    ("words", "module", "sentence"),
    [
        (["flower", "keys", "keys", "--server", "192.0.2.1"], "flwr", "flower: Flower is not installed;"),
        (["run", "mnist", "--log", "tensorboard"], "tensorboard", "log: tensorboard is not installed;"),
        (["privacy", "mnist", *PRIVATE], "dp_accounting", "privacy: dp-accounting is not installed;"),
    ],
)
def test_what_else_needs_an_extra_names_it_too(words, module, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    wanted = f"{sentence} `pip install 'heteroselect[{EXTRA[module]}]'` brings it."
    with pytest.raises(HeteroSelectError, match=f"^{re.escape(wanted)}$"):
        app(words, standalone_mode=False)
    assert list(tmp_path.iterdir()) == []


def test_the_table_of_devices_is_asked_for_where_no_other_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "heteroselect_phones", None)
    sentence = (
        "world.table: the table of devices is not installed; `pip install 'heteroselect[phones]'` brings it, or name a "
        "CSV file of your own."
    )
    for asked in ({"devices": "table"}, {"links": "table"}):
        with pytest.raises(HeteroSelectError, match=f"^{re.escape(sentence)}$"):
            files_of(WorldSettings(**asked))
        assert files_of(WorldSettings(**asked, table="own.csv")) == {"world.table": Path("own.csv")}
    assert files_of(WorldSettings()) == {}


@pytest.mark.parametrize("extra", MODULES)
def test_what_is_installed_is_not_asked_for(extra, monkeypatch):
    for module in MODULES[extra]:
        monkeypatch.setitem(sys.modules, module, sys)
    require(extra, "anything")
