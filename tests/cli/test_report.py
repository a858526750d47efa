"""What the command writes, and what it leaves alone."""

import pytest

from heteroselect.comparison.report.load import compare
from heteroselect.comparison.report.write import write_comparison
from heteroselect.errors import HeteroSelectError

pytestmark = pytest.mark.slow  # they train, draw or start processes


def write(folders, *words):
    return write_comparison(compare(folders), *words)


def test_only_a_report_is_replaced(make_run, tmp_path):
    folder, page = make_run("a"), tmp_path / "report.html"
    write([folder], page, None, "one")
    write([folder], page, None, "two")
    assert "<pre>two</pre>" in page.read_text()
    page.write_text("somebody's own")
    with pytest.raises(HeteroSelectError, match="is no report"):
        write([folder], page, None, "three")
    assert page.read_text() == "somebody's own"


def test_a_strangers_figure_stops_everything(make_run, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "accuracy.pdf").write_text("somebody's own")
    with pytest.raises(HeteroSelectError, match=r"accuracy\.pdf exists and is no report"):
        write([make_run("a")], tmp_path / "report.html", tmp_path / "figures", "")
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["accuracy.pdf"]
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written(make_run, tmp_path):
    folder = make_run("a")
    with pytest.raises(HeteroSelectError, match=r"--out: .* cannot be written"):
        write([folder], tmp_path, None, "")
    (tmp_path / "file").write_text("")
    with pytest.raises(HeteroSelectError, match=r"--out: .* cannot be written"):
        write([folder], tmp_path / "file" / "report.html", None, "")


def test_what_was_left_out_is_said(make_run, tmp_path):
    make_run("a")
    make_run("again")
    assert "is the same run as" in write([tmp_path / "runs"], tmp_path / "report.html", None, "")[0]
    assert "is the same run as" in (tmp_path / "report.html").read_text()
