"""A whole run on Flower, supervised by this process: it starts what the run needs, submits the app, watches the run
folder fill, and restarts what dies. What counts is in the run folder; a run that is stopped goes on from there."""

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from heteroselect.engines.flower.memory import forget
from heteroselect.errors import HeteroSelectError
from heteroselect.flower.guard import end, exists, left
from heteroselect.flower.keys import digest_of, make_node_key, make_tls
from heteroselect.flower.plan import ERROR, PID, Plan
from heteroselect.flower.processes import Flower, end_orphans, tidy
from heteroselect.runs.ended import read_ended
from heteroselect.runs.folder import WORK, as_user_error, finished, whole_rounds
from heteroselect.runs.guard import locked, refuse_links
from heteroselect.runs.result import Line, Result
from heteroselect.settings import Config

MEMORY, KEYS = "memory", "keys"
PATIENCE = 180.0  # seconds in which an app that was submitted should have started
ENDING = 20.0  # seconds in which a ServerApp that has done its work should have ended
PAUSE = 10.0  # seconds from one try to start a dead SuperNode to the next
RESTARTS = 20  # without a round in between


def supervise(path: Path, config: Config, plan: Plan, watch: Callable[[Line], None] | None = None) -> Result:
    """Bring the run in the folder `path` to its end, and tidy up after it. Only its logs stay where it fails."""
    path = path.absolute()
    work = path / WORK
    refuse_links(path)
    with as_user_error(path):
        work.mkdir(mode=0o700, exist_ok=True)
    with locked(work):
        end_orphans(work)
        tidy(work, keep=True)  # of an earlier try: what counts is in the checkpoints and the memory
        refuse_links(work)  # such as one in the place of a folder that is written into
        if not finished(path):
            keys = work / KEYS if plan.tls else None
            if keys:
                with as_user_error(work):
                    make_tls(keys)
            with Flower(work, keys) as flower:
                _Supervisor(flower, path, config, plan, watch).run()
        tidy(work)
        forget(path / MEMORY)
    return read_ended(path, config, "flower resume")


@dataclass
class _Supervisor:
    flower: Flower
    path: Path
    config: Config
    plan: Plan
    watch: Callable[[Line], None] | None
    digests: list[str] = field(default_factory=list)  # of the nodes' keys, by their places
    tried: dict[str, float] = field(default_factory=dict)  # when dead SuperNodes were started again
    left: int = RESTARTS
    submitted: float = 0.0

    def run(self) -> None:
        self.seen = len(whole_rounds(self.path))
        places = range(0 if self.plan.mode == "simulate" else self.plan.nodes)
        self._superlink()
        for place in places:
            if self.flower.tls:
                _, public = make_node_key(self.flower.tls, _name(place))
                self.flower.register(public)
                self.digests.append(digest_of(public))
            self._node(place)
        self._submit()
        while not self._over():
            time.sleep(0.3)
            self._report()
            self._revive_server()
            for place in places:
                self._revive(place)
        self._report()
        until = time.monotonic() + ENDING
        while exists(self._server() or 0) and time.monotonic() < until:
            time.sleep(0.1)

    def _superlink(self) -> None:
        self.flower.superlink(*(["--simulation"] if self.plan.mode == "simulate" else []))

    def _submit(self) -> None:
        """Submit the app, which goes on from the last checkpoint, if there is one."""
        (self.flower.work / PID).unlink(missing_ok=True)
        app = self.plan.app(self.config, self.path, memory=str(self.path / MEMORY), keys=self.digests)
        nodes = f"num-supernodes={self.plan.nodes} client-resources-num-cpus=1"
        self.flower.submit(app, nodes if self.plan.mode == "simulate" else "")
        self.submitted = time.monotonic()

    def _node(self, place: int) -> None:
        name, keys = _name(place), self.flower.tls
        memory = str(self.path / MEMORY / name)
        settings = {"partition-id": place, "num-partitions": self.plan.nodes, "memory": memory}
        self.flower.supernode(name, settings, key=keys / name if keys else None)

    def _revive_server(self) -> None:
        """Start the SuperLink or the ServerApp again where it has died."""
        flower, pid = self.flower, self._server()
        if not flower.alive("superlink"):
            self._again("the SuperLink died")
            flower.stop("superlink")
            if pid in left(flower.mark):  # without its SuperLink it would hold the run folder for ever
                end([pid])
            self._superlink()
            self._submit()
        elif pid is None:
            if time.monotonic() - self.submitted > PATIENCE:
                raise HeteroSelectError(f"flower: the ServerApp did not start; {flower.log_end('superlink')}")
        elif not exists(pid) and not self._over():
            self._again("the ServerApp died")
            self._submit()

    def _revive(self, place: int) -> None:
        """Start a SuperNode again that has died. (One with a key is let in again only after its last heartbeat has
        grown old, which takes Flower up to a minute: it is tried again and again, and the round goes on without it.)"""
        name, now = _name(place), time.monotonic()
        if not self.flower.alive(name) and now - self.tried.get(name, -PAUSE) >= PAUSE:
            self.tried[name] = now
            self.flower.stop(name)
            self._node(place)

    def _over(self) -> bool:
        """Whether the run has come to its end, well or not."""
        if (self.flower.work / ERROR).exists():
            raise HeteroSelectError((self.flower.work / ERROR).read_text(encoding="utf-8"))
        return finished(self.path)

    def _again(self, why: str) -> None:
        """Count a restart of what died: they do not go on for ever without a round in between."""
        self.left -= 1
        if self.left < 0:
            raise HeteroSelectError(f"flower: {why}, once too often; logs: {self.flower.work}.")

    def _server(self) -> int | None:
        """The process id of the ServerApp, once it has started."""
        with contextlib.suppress(OSError, ValueError):
            return int((self.flower.work / PID).read_text(encoding="utf-8"))
        return None

    def _report(self) -> None:
        new = whole_rounds(self.path)[self.seen :]
        if self.watch is not None:
            for line in new:
                self.watch(line)
        if new:
            self.seen, self.left = self.seen + len(new), RESTARTS


def _name(place: int) -> str:
    return f"supernode-{place}"
