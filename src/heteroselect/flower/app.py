"""The Flower app behind `heteroselect flower`: an experiment of the settings, at the server and at every node.

Server and nodes prepare the same experiment from the same text, so that client k has the same data everywhere; node
i of n is home to the clients i, i + n, i + 2n, ….
"""

import json
import os
import tomllib
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from heteroselect import methods
from heteroselect.errors import HeteroSelectError
from heteroselect.flat import FlatModel
from heteroselect.flower.engine import FlowerEngine
from heteroselect.flower.plan import ERROR, PID
from heteroselect.flower.post import GridPost
from heteroselect.flower.reply import Site, default_memory, reply
from heteroselect.methods import own
from heteroselect.runs.api import choose_threads
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.folder import RunFolder, locked, write_whole
from heteroselect.runs.loop import play, simulator
from heteroselect.runs.progress import Progress, find_latest
from heteroselect.settings.config import load
from heteroselect.world import MeasuredLinks

LOG = "flower.jsonl"

server = ServerApp()
client = ClientApp()


@lru_cache(maxsize=2)
def _experiment(text: str, method: str) -> Experiment:
    """`method` is FILE.py:NAME where it is the user's own."""
    mine = own.load(method) if method else None
    config = load(tomllib.loads(text), methods=methods.SETTINGS, own=mine is not None)
    if method:
        own.refuse_changed(method, config.method.source)
    return prepare(config, method=mine)


@lru_cache(maxsize=2)
def _site(text: str, method: str, place: int, places: int, memory: str) -> Site:
    """Kept between messages where the process is, as in Ray's actors."""
    experiment = _experiment(text, method)
    there = {one.id: one for one in experiment.clients() if one.id % places == place}
    folder = Path(memory) if memory else default_memory()
    return Site(there, _model(text, method), experiment.task, experiment.method, folder)


@lru_cache(maxsize=2)
def _model(text: str, method: str) -> FlatModel:
    return FlatModel(_experiment(text, method).module)


def answer(message: Message, context: Context) -> Message:
    node, run = context.node_config, context.run_config
    place, places = int(node["partition-id"]), int(node["num-partitions"])
    memory = str(node.get("memory") or run["memory"])
    return reply(message, _site(str(run["config"]), str(run["method"]), place, places, memory))


client.train()(answer)
client.query()(answer)


def main(grid: Grid, context: Context) -> None:
    """All rounds, or all that are left, into the run folder. Who is at work, and what is wrong, goes into files for
    the command that waits for it."""
    run = context.run_config
    work = Path(str(run["work"]))
    write_whole(work / PID, str(os.getpid()).encode())
    try:
        experiment = _experiment(str(run["config"]), str(run["method"]))
        serve(grid, experiment, Path(str(run["out"])), str(run["token"]), float(run["timeout"]))
    except HeteroSelectError as error:
        write_whole(work / ERROR, str(error).encode())
        raise
    except Exception as error:
        log = work / "error.log"
        log.write_text(traceback.format_exc(), encoding="utf-8")
        write_whole(
            work / ERROR, f"flower: the ServerApp failed ({type(error).__name__}: {error}); see {log}.".encode()
        )
        raise


server.main()(main)


def serve(grid: Any, experiment: Experiment, path: Path, token: str, timeout: float) -> None:
    threads, links = choose_threads(None), experiment.world.links

    def stage(progress: Progress) -> FlowerEngine:
        return FlowerEngine(
            GridPost(grid),
            simulator(experiment, [], threads=threads),  # it has no clients, and only evaluates
            experiment.config.clients,
            run=token,
            kept=progress.kept,
            since=lambda: min(Checkpoints(path).rounds(), default=0),
            timeout=timeout,
            links=links if isinstance(links, MeasuredLinks) else None,
            log=path / LOG,
        )

    with locked(path):
        found = find_latest(experiment, path, print)
        rounds = len(found[0].lines)
        folder = RunFolder.reopen(path, rounds)
        cut(path / LOG, rounds)
        play(experiment, folder, threads=threads, found=found, stage=stage)


def cut(log: Path, rounds: int) -> None:
    """As the round log is: what came after the last checkpoint has not happened."""
    if log.exists():
        lines = [line for line in log.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        write_whole(log, "".join(line for line in lines if json.loads(line)["round"] <= rounds).encode())
