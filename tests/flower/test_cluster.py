"""The commands of docs/flower.md for two machines, as they stand there, between two network namespaces (make
test-network). The machines share a disk here, but each has a folder and a home of its own."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import heteroselect
from heteroselect.flower.guard import MARK, end, left
from heteroselect.flower.plan import ERROR
from heteroselect.flower.processes import OFFLINE
from heteroselect.runs.folder import finished, read_summary
from scripts import script

pytestmark = [pytest.mark.flower, pytest.mark.slow, pytest.mark.network]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "flower.md"
links = script("studies/shaped_links.py")
HOSTS = {"server": links.SERVER, "device": links.Host(0).name}


def commands() -> list[tuple[str, bool, str]]:
    """The machine of each command of the page's section, whether it is left running, and the command."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## On two machines\n")[2].partition("\n## ")[0]
    found = []
    for block in re.findall(r"```sh\n(.*?)```", section, re.S):
        title, *lines = block.strip().splitlines()
        host, _, more = title.removeprefix("# ").partition(", ")
        found += [(host, more == "left running", line) for line in lines]
    return found


def test_the_page_has_commands_for_both_machines():
    assert {host for host, _, _ in commands()} == set(HOSTS)
    assert next(line.split()[0] for _, stays, line in commands() if stays) == "flower-superlink"


class Machines:
    """Commands run by a shell in the network and the home of their host. Whatever stays carries a mark."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, hashlib.sha256(str(folder).encode()).hexdigest()
        self.running: list[subprocess.Popen[bytes]] = []
        for host in HOSTS:
            (folder / host / "home").mkdir(parents=True)

    def start(self, host: str, line: str, log: Path) -> subprocess.Popen[bytes]:
        here = self.folder / host
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        more = {"HOME": str(here / "home"), "PATH": path, MARK: self.mark}
        kept = {name: value for name, value in os.environ.items() if name != "FLWR_HOME"}
        with log.open("ab") as out:
            return subprocess.Popen(
                [*links.inside(HOSTS[host]), "sh", "-c", line],
                cwd=here, env={**kept, **OFFLINE, **more}, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def do(self, host: str, line: str) -> None:
        if line.startswith("scp "):  # there is no such server here; what goes where is the command's
            *files, target = line.split()[1:]
            for file in files:
                shutil.copy(self.folder / host / file, self.folder / target.rstrip(":"))
            return
        log = self.folder / f"{host}.log"
        assert self.start(host, line, log).wait(300) == 0, (line, log.read_text())

    def leave(self, host: str, line: str, ready: str) -> None:
        log = self.folder / f"{host}-{len(self.running)}.log"
        process = self.start(host, line, log)
        self.running.append(process)
        until = time.monotonic() + 240
        while ready not in log.read_text(errors="replace"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.5)

    def close(self) -> None:
        for process in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        end(left(self.mark))
        for process in self.running:
            process.wait()


def test_the_commands_of_the_page_run_a_preset_from_one_machine_on_another(tmp_path: Path, joined):
    joined(1)
    machines = Machines(tmp_path)
    run = tmp_path / "server" / "run"
    try:
        for host, stays, line in commands():
            if stays:
                machines.leave(host, line, "Uvicorn running" if "superlink.db" in line else "Starting Flower SuperNode")
            else:
                machines.do(host, line)
        until = time.monotonic() + 900
        while not finished(run):
            assert not (run / "flower" / ERROR).exists(), (run / "flower" / ERROR).read_text()
            assert time.monotonic() < until, "it took too long"
            time.sleep(1)
    finally:
        machines.close()
    changes = {"clients": 2, "selected": 2, "rounds": 2}
    expected = heteroselect.run("mnist", settings=changes).summary["model_sha256"]
    assert read_summary(run)["model_sha256"] == expected
    memories = [path for path in (tmp_path / "device" / "memory").rglob("*") if path.is_file()]
    assert memories, "the device keeps what its clients did not send"
    assert not (tmp_path / "device" / "server.key").exists()
