"""What is about to be written again is read first, or refused."""

import json

import pytest

from heteroselect.errors import HeteroSelectError
from heteroselect.report import write


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
