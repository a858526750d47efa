"""Flower's processes for one run: started here, watched here, and ended here, by their ids.

State, keys and logs lie in the run's folder, which may come from anybody. Where Python looks for code is a new folder
instead, the scratch: processes work in it, and it has a private FLWR_HOME and the app. Flower and Ray start processes
in turn, some in sessions of their own; all of them inherit a mark in their environment, and by that mark, and no other,
whatever is left at the end is found and ended: by us, or by a guard that stays where we are killed.
"""

import contextlib
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT
from typing import Any

import tomli_w

from heteroselect.engines.flower.uplink import FILE
from heteroselect.errors import HeteroSelectError
from heteroselect.files import appending, read_json, sweep, write_whole
from heteroselect.flower import guard
from heteroselect.flower.guard import MARK, clean_up, end, left
from heteroselect.flower.keys import CA, CERTIFICATE, KEY, LOOPBACK
from heteroselect.flower.plan import APP, ERROR, PID, write_app
from heteroselect.runs.folder import as_user_error
from heteroselect.runs.loop import defer_signals

OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # Ray then listens on the loopback only
}
PROCESSES = "processes.json"
ANSWER = 120.0  # seconds in which one of Flower's own commands should have answered
_CONNECTION = "here"
_OURS = re.compile(
    r"keys/(ca\.crt|server\.(pem|key)|supernode-[0-9]+(\.pub)?)|superlink\.db(-wal|-shm|-journal)?"
    r"|(superlink|supernode-[0-9]+|error)\.log|supernode-[0-9]+\.uplink"
    rf"|{PROCESSES}|{ERROR}|{PID}|\.[^/]*\.partial"
)
"""The names of all files in a run's folder of work."""


@dataclass
class Flower:
    """Use as a context manager: when it closes, all processes have ended.

    All addresses are the loopback's by default; `prefix` is a command to start the SuperLink through. With `tls`, a
    folder of certificates (`make_tls`), it lets in only SuperNodes that it knows.
    """

    work: Path
    tls: Path | None = None
    port: int = 0
    listen: str = LOOPBACK
    prefix: Sequence[str] = ()
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    offsets: dict[str, int] = field(default_factory=dict)  # how long each log was when its process was started
    mark: str = field(default_factory=lambda: secrets.token_hex(16))
    scratch: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="heteroselect-")))  # short: for sockets

    def __enter__(self) -> "Flower":
        # in a session of its own, so that nothing that ends us by our group or terminal ends the guard, too
        command = [sys.executable, "-I", "-S", guard.__file__]
        self.guard = subprocess.Popen(
            command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, text=True, start_new_session=True, cwd="/"
        )
        assert self.guard.stdin is not None
        print(self.mark, self.scratch, sep="\n", file=self.guard.stdin, flush=True)
        self.home.mkdir()
        self.port = self.port or free_port()
        connection: dict[str, Any] = {"address": f"{LOOPBACK}:{self.port}"}
        connection |= {"root-certificates": str(self.tls / CA)} if self.tls else {"insecure": True}
        config = {"superlink": {"default": _CONNECTION, _CONNECTION: connection}}
        (self.home / "config.toml").write_text(tomli_w.dumps(config), encoding="utf-8")
        return self

    def __exit__(self, *exception: object) -> None:
        with defer_signals():
            for process in self.running.values():
                process.terminate()
            for name in reversed(list(self.running)):
                self.stop(name)
            clean_up(self.mark, self.scratch)
            self.guard.communicate()  # the end of its input, after which it ends

    @property
    def home(self) -> Path:
        """Flower keeps apps in there, and takes one that it finds there for the one that was submitted."""
        return self.scratch / "home"

    def superlink(self, *options: str) -> None:
        """Start the SuperLink and wait until it answers. Its state is in a file, so that it may be started again."""
        command = [*self.prefix, "flower-superlink", "--host", self.listen, "--port", str(self.port), *options]
        command += ["--database", str(self.work / "superlink.db")]
        if self.tls:
            command += ["--ssl-ca-certfile", str(self.tls / CA), "--ssl-certfile", str(self.tls / CERTIFICATE)]
            command += ["--ssl-keyfile", str(self.tls / KEY), "--enable-supernode-auth"]
        else:
            command.append("--insecure")
        self.start("superlink", command)
        self.wait_for("superlink", "Uvicorn running")

    def supernode(
        self,
        name: str,
        settings: Mapping[str, Any],
        *,
        key: Path | None = None,
        superlink: str = LOOPBACK,
        prefix: Sequence[str] = (),
    ) -> None:
        """Start a SuperNode that measures its uplink; `settings` are its node config, `superlink` the address at
        which it finds the SuperLink, and `prefix` a command to start it through."""
        command = [*prefix, sys.executable, "-m", "heteroselect.engines.flower.uplink"]
        command += ["--superlink", f"{superlink}:{self.port}", "--host", LOOPBACK, "--port", str(free_port())]
        # as Flower takes them: a text in quotes, a number as it is
        command += ["--node-config", " ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())]
        command += ["--root-certificates", str(self.tls / CA)] if self.tls else ["--insecure"]
        if key is not None:
            command += ["--auth-supernode-private-key", str(key)]
        self.start(name, command, {FILE: str(self.work / f"{name}.uplink")})

    def submit(self, app: Mapping[str, Any], federation: str = "") -> str:
        """Hand the app to the SuperLink, and return the number of the run. (Flower packs all code in the app's folder,
        and its nodes import that first.)"""
        write_app(self.scratch / APP, app)
        options = ["--federation-config", federation] if federation else []
        return str(self.flwr("run", str(self.scratch / APP), _CONNECTION, *options)["run-id"])

    def register(self, public: Path) -> None:
        """Make a node's key known to the SuperLink."""
        self.flwr("supernode", "register", str(public), _CONNECTION)

    def flwr(self, *arguments: str) -> dict[str, Any]:
        """The answer of one of Flower's own commands. (Its exit code tells little.)"""
        command, said = [*self.prefix, "flwr", *arguments, "--format", "json"], f"flwr {' '.join(arguments[:2])}"
        environment, where = self._environment(), self.scratch
        try:
            done = subprocess.run(
                command, env=environment, cwd=where, capture_output=True, text=True, check=False, timeout=ANSWER
            )
        except subprocess.TimeoutExpired:
            raise HeteroSelectError(f"flower: `{said}` gave no answer in {ANSWER:g} s; logs: {self.work}.") from None
        try:
            found: dict[str, Any] = json.loads("{" + done.stdout.partition("{")[2])
        except ValueError:
            found = {}
        if not found.get("success"):
            reason = found.get("error-message") or (done.stderr or done.stdout).strip().splitlines()[-1:] or "no answer"
            raise HeteroSelectError(f"flower: `{said}` failed: {reason}; logs: {self.work}.")
        return found

    def start(self, name: str, command: Sequence[str], more: Mapping[str, str] | None = None) -> None:
        self.offsets[name] = len(self._log(name))
        with as_user_error(self.work):
            file = appending(self.work / f"{name}.log")
        environment = {**self._environment(), **(more or {})}
        with file as log:  # `python -m` looks for code in its working directory first
            self.running[name] = subprocess.Popen(
                command,
                env=environment,
                stdin=DEVNULL,
                stdout=log,
                stderr=STDOUT,
                start_new_session=True,
                cwd=self.scratch,
            )
        self._note()

    def stop(self, name: str, patience: float = 10.0) -> None:
        """Ask a process to end, then end it and its session."""
        process = self.running.pop(name)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # the group that it was started as the leader of
        process.wait()
        self._note()

    def alive(self, name: str) -> bool:
        return name in self.running and self.running[name].poll() is None

    def wait_for(self, name: str, words: str, patience: float = 60.0) -> None:
        """Wait until these words are in a process's log, since it was started."""
        until = time.monotonic() + patience
        while words not in self._log(name)[self.offsets[name] :]:
            if not self.alive(name) or time.monotonic() > until:
                raise HeteroSelectError(f"flower: {name} did not start; {self.log_end(name)}")
            time.sleep(0.2)

    def log_end(self, name: str) -> str:
        lines = self._log(name).strip().splitlines()
        return f"the end of {self.work / name}.log: {' / '.join(lines[-3:]) or 'nothing'}"

    def _log(self, name: str) -> str:
        path = self.work / f"{name}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def _note(self) -> None:
        """Write down the process ids, for people who look and for a command that comes after one that was killed."""
        pids = {name: process.pid for name, process in self.running.items()}
        known = {**pids, "mark": self.mark, "scratch": str(self.scratch)}
        with contextlib.suppress(OSError):  # the run goes on without
            write_whole(self.work / PROCESSES, (json.dumps(known, indent=2) + "\n").encode())

    def _environment(self) -> dict[str, str]:
        """Flower's programs are those beside this interpreter, and its parts find each other on the path."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        own = {"FLWR_HOME": str(self.home), "RAY_TMPDIR": str(self.scratch), MARK: self.mark, "PATH": path}
        if named := os.environ.get("HETEROSELECT_DATA"):
            own["HETEROSELECT_DATA"] = str(Path(named).expanduser().absolute())
        return {**os.environ, **OFFLINE, **own}


def end_orphans(work: Path) -> None:
    """End what a command that was killed has left running."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        end(left(str(read_json(work / PROCESSES)["mark"])))


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        return int(probe.getsockname()[1])


def tidy(work: Path, *, keep: bool = False) -> None:
    """Remove what the processes of a run have left in its folder, by names of ours; with `keep`, not the folder."""
    sweep(work, _OURS, keep=keep)
