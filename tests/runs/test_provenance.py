"""Where a run was made is noted: the processor, the versions, and the commit of the code."""

import subprocess
from pathlib import Path

import numpy as np
import torch

from heteroselect.runs import provenance

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Some(R) Processor
stepping\t: 7

processor\t: 1
model name\t: Another
"""


def test_a_processor_is_named_with_its_numbers(tmp_path):
    (tmp_path / "cpuinfo").write_text(CPUINFO)
    assert provenance.cpu(tmp_path / "cpuinfo") == "Some(R) Processor (family 6, model 85, stepping 7)"
    assert provenance.cpu(tmp_path / "absent")


def test_the_environment_names_versions_and_threads():
    found = provenance.environment(3, "cpu")
    assert (found["threads"], found["torch"], found["numpy"]) == (3, str(torch.__version__), np.__version__)
    assert found["instructions"] == torch.backends.cpu.get_cpu_capability()


def test_the_commit_is_that_of_the_code_and_a_changed_file_is_seen(tmp_path, monkeypatch):
    package = tmp_path / "src" / "heteroselect"
    (package / "runs").mkdir(parents=True)
    (package / "version.py").write_text("")

    def git(*words: str) -> str:
        call = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    def told() -> dict:
        provenance.commit.cache_clear()
        return provenance.commit()

    monkeypatch.setattr(provenance, "__file__", str(package / "runs" / "provenance.py"))
    assert told() == {"commit": None, "clean": None}
    git("init", "-q")
    git("add", ".")
    assert told()["clean"] is None, "there is no commit yet"
    git("commit", "-q", "-m", "one")
    assert told() == {"commit": git("rev-parse", "HEAD"), "clean": True}
    Path(tmp_path / "notes").write_text("what lies beside the package moves no bits")
    assert told()["clean"] is True
    (package / "version.py").write_text("x = 1")
    assert told()["clean"] is False
    provenance.commit.cache_clear()
