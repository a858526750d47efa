"""What is about to be written again is read first, or refused."""

import json
import os
from types import SimpleNamespace

import pytest

from heteroselect.comparison.report import MARK, write
from heteroselect.errors import HeteroSelectError


def test_tables_that_may_not_be_read_are_refused_and_those_that_are_not_there_are_none(tmp_path, monkeypatch):
    path = tmp_path / "compare.json"
    assert write.read_former(path, "--out") is None
    assert write.read_former(path / "inside", "--out") is None
    path.write_text(json.dumps({"runs": []}))
    assert write.read_former(path, "--out") == {"runs": []}
    path.write_text("no tables")
    assert write.read_former(path, "--out") is None

    def denied(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(write, "read_json", denied)
    with pytest.raises(HeteroSelectError, match=r"--out: .*compare\.json cannot be read \(Permission denied\)"):
        write.read_former(path, "--out")


def test_what_is_no_file_is_no_report_and_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "folder.html").mkdir()
    with (tmp_path / "huge.html").open("wb") as file:
        file.write(MARK.encode())
        file.truncate(10**12)  # without taking room on the disk
    for name in ("pipe.html", "huge.html"):
        with pytest.raises(HeteroSelectError, match=rf"--out: .*{name} exists and is no report"):
            write.refuse_others(tmp_path / name, "--out", MARK)
    with pytest.raises(HeteroSelectError, match=r"--out: .*folder.html cannot be written \(Is a directory\)"):
        write.refuse_others(tmp_path / "folder.html", "--out", MARK)
    (tmp_path / "page.html").write_text(f"<p>{MARK}</p>")
    for name in ("page.html", "none.html", "page.html/inside"):
        write.refuse_others(tmp_path / name, "--out", MARK)


def test_no_page_and_no_figure_is_written_through_a_link(tmp_path, monkeypatch):
    """Nor is one made where a link leads that leads nowhere yet."""
    pytest.importorskip("matplotlib", reason="pages have figures (pip install 'heteroselect[report]')")
    from matplotlib.figure import Figure

    from heteroselect.comparison.report import heatmap, pictures, tuned

    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (outside / "thesis.svg").write_text("mine")
    monkeypatch.setattr(pictures, "_FIGURES", {"accuracy": (lambda _: Figure(), pictures.ENDINGS)})
    names = [heatmap.PAGE, *heatmap.FIGURES, "tune.html", *pictures.names()]
    for name in names:
        (out / name).symlink_to(outside / ("thesis.svg" if name == "cross.svg" else name))
    for module in (heatmap, tuned):
        monkeypatch.setattr(module, "render", lambda *_: "the page")
    monkeypatch.setattr(heatmap, "draw", lambda *_: Figure())
    heatmap.write(None, out, "compare")
    tuned.write([], "final", out, "tune")
    drawn = pictures.write(SimpleNamespace(groups=()), out)
    assert [path.name for path in outside.iterdir()] == ["thesis.svg"]
    assert (outside / "thesis.svg").read_text() == "mine"
    written = [out / heatmap.PAGE, out / "tune.html", *(out / name for name in heatmap.FIGURES), *drawn]
    assert all(path.is_file() and not path.is_symlink() for path in written)
    assert [path.read_text() for path in written[:2]] == ["the page"] * 2
