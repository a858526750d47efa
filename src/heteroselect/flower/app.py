"""The Flower app behind `heteroselect flower`: an experiment of the settings, at the server and at every node.

Server and nodes prepare the same experiment from the same text, so that client k has the same data everywhere; node
i of n is home to the clients i, i + n, i + 2n, ….
"""

import os
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from flwr.app import Context, Message
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from heteroselect.core.flat import FlatModel
from heteroselect.engines.flower.engine import FlowerEngine
from heteroselect.engines.flower.exchange import Exchange
from heteroselect.engines.flower.post import GridPost
from heteroselect.engines.flower.reply import Site, default_memory, reply
from heteroselect.engines.simulate.pool import Pool
from heteroselect.errors import FolderError, HeteroSelectError
from heteroselect.files import longest_log, opened, parse_json, write_whole
from heteroselect.flower.plan import ERROR, PID, Plan
from heteroselect.runs.api import choose_threads
from heteroselect.runs.checkpoint import Checkpoints
from heteroselect.runs.experiment import Experiment, prepare
from heteroselect.runs.fingerprint import Fingerprint
from heteroselect.runs.folder import FINGERPRINT, RunFolder, as_user_error, whole_rounds
from heteroselect.runs.guard import locked, refuse_links
from heteroselect.runs.identity import fingerprint, refuse_another
from heteroselect.runs.loop import Engine, evaluator, play
from heteroselect.runs.progress import Progress, find_latest
from heteroselect.world import measured_links

LOG = "flower.jsonl"

server = ServerApp()
client = ClientApp()


@lru_cache(maxsize=2)  # between messages where the process is kept, as in Ray's actors
def _experiment(config: str, plan: str) -> Experiment:
    return prepare(Plan.of(plan).load(tomllib.loads(config)))


@lru_cache(maxsize=2)
def _model(config: str, plan: str) -> FlatModel:
    return FlatModel(_experiment(config, plan).module)


@lru_cache(maxsize=2)
def _site(config: str, plan: str, place: int, places: int, memory: str) -> Site:
    experiment = _experiment(config, plan)
    there = {one.id: one for one in experiment.clients() if one.id % places == place}
    folder = Path(memory) if memory else default_memory()
    return Site(there, _model(config, plan), experiment.task, experiment.method, folder, experiment.weights)


def answer(message: Message, context: Context) -> Message:
    """The answer of a node's client to a message of the server."""
    node, run = context.node_config, context.run_config
    place, places = int(node["partition-id"]), int(node["num-partitions"])
    memory = str(node.get("memory") or run["memory"])
    return reply(message, _site(str(run["config"]), str(run["plan"]), place, places, memory))


client.train()(answer)
client.query()(answer)


def main(grid: Grid, context: Context) -> None:
    """Run all rounds, or all that are left, into the run folder. The process id, and what went wrong, go into files for
    the command that waits for it."""
    run = context.run_config
    work = Path(str(run["work"]))
    write_whole(work / PID, str(os.getpid()).encode())
    try:
        plan = Plan.of(str(run["plan"]))
        experiment = prepare(plan.load(tomllib.loads(str(run["config"]))), identify=True)
        serve(grid, experiment, Path(str(run["out"])), plan, str(run.get("keys", "")).split())
    except Exception as error:
        sentence, log = str(error), work / "error.log"
        if not isinstance(error, HeteroSelectError):
            write_whole(log, traceback.format_exc().encode())
            sentence = f"flower: the ServerApp failed ({type(error).__name__}: {error}); see {log}."
        write_whole(work / ERROR, sentence.encode())
        raise


server.main()(main)


def serve(grid: Grid, experiment: Experiment, path: Path, plan: Plan, keys: Sequence[str] = ()) -> None:
    """Go on with the run in the folder `path` from its last checkpoint to its end, over the grid. `keys` are the
    digests of those that the nodes were registered with, by their places."""
    threads = choose_threads(None)

    @contextmanager
    def engine(progress: Progress) -> Iterator[Engine]:
        with Pool(experiment.module, threads=threads) as pool:
            exchange = Exchange(
                GridPost(grid, keys=bool(keys)),
                experiment.config.clients,
                run=plan.token,
                kept=progress.kept,
                claims=experiment.method.outlier_filter.claims,
                since=lambda: min(Checkpoints(path).rounds(), default=0),
                timeout=plan.timeout,
                links=measured_links(experiment.environment.world),
                log=path / LOG,
                examples=dict(enumerate(progress.server.population.sizes.tolist())),
                owners={k: keys[k % len(keys)] for k in range(experiment.config.clients)} if keys else {},
            )
            clients = FlowerEngine(exchange, pool.layout)
            clients.gather()
            yield Engine(clients, evaluator(experiment, pool))

    with locked(path):
        refuse_links(path)
        mine = identified(experiment, path)
        found = find_latest(experiment, path, print, mine)
        rounds = len(found[0].lines)
        folder = RunFolder.reopen(path, rounds, mine)
        cut(path / LOG, rounds)
        play(experiment, folder, threads=threads, found=found, engine=engine)


def identified(experiment: Experiment, path: Path) -> Fingerprint:
    """The fingerprint of the run in the folder, which must be that of the experiment; noted before its first round."""
    now, then = fingerprint(experiment, "cpu"), Fingerprint.read(path)
    if then is None:
        if whole_rounds(path) or Checkpoints(path).rounds():
            raise FolderError(f"flower: the run in {path} has no {FINGERPRINT}; run it again in a new folder.")
        with as_user_error(path):
            now.write(path)
        return now
    refuse_another(path, then, now, print)
    return then


def cut(log: Path, rounds: int) -> None:
    """Cut the log as the rounds are cut: what came after the last checkpoint has not happened."""
    try:
        with opened(log, longest_log()) as file:
            lines = [line for line in file.read().splitlines(keepends=True) if line.endswith(b"\n")]
        write_whole(log, b"".join(line for line in lines if parse_json(line)["round"] <= rounds))
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError) as error:
        raise HeteroSelectError(f"{LOG}: {log} is damaged ({error}).") from error
