"""heteroselect flower: simulate · deploy · resume · keys · app. Flower and PyTorch are imported when they are used."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from heteroselect.cli import options
from heteroselect.cli.commands import Command
from heteroselect.cli.terminal import own_files, print_result, say, terminable
from heteroselect.errors import FolderError, SettingError
from heteroselect.flower import require_flower
from heteroselect.flower.plan import APP, Plan, new_token, refuse_steps, write_app
from heteroselect.runs.display.progress import note, watching, where
from heteroselect.runs.folder import CONFIG, WORK, RunFolder, as_user_error, finished, megabytes_before, numbered
from heteroselect.runs.guard import FILES, made, refuse_links
from heteroselect.settings import Config
from heteroselect.settings.config import flatten, load, to_toml
from heteroselect.settings.own import is_path

app = typer.Typer(
    help="Run on Flower: simulated by Ray, or deployed as SuperLink and SuperNodes.", rich_markup_mode=None
)

_CLIENTS = "Number of clients K, dealt out to the nodes in turn; by default one each."
Clients = Annotated[int | None, typer.Option(help=_CLIENTS)]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds that a round waits for the answers of its clients.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no table.")]  # notices there are


@app.command(cls=Command)
def simulate(
    preset: options.Preset = "mnist",
    clients: Annotated[int | None, typer.Option(help="Number of clients K, each a simulated SuperNode.")] = None,
    rounds: options.Rounds = None,
    method: options.Named = None,
    seed: options.Seed = None,
    set_: options.Changes = None,
    data_dir: options.DataDir = None,
    timeout: Timeout = 600.0,
    out_dir: options.Out = None,
    as_json: options.Json = False,
    quiet: Quiet = False,
) -> None:
    """Run on Flower's simulation engine (Ray), to the same bits. It takes all cores of this machine."""
    from heteroselect.runs.api import refuse_measured_links

    config, own = _config(preset, method, set_, data_dir, seed=seed, rounds=rounds, clients=clients)
    refuse_measured_links(config)
    plan = Plan("simulate", new_token(), config.clients, False, timeout, **own)
    _supervise(_created(plan, config, out_dir), config, plan, as_json=as_json, quiet=quiet)


@app.command(cls=Command)
def deploy(
    preset: options.Preset = "mnist",
    nodes: Annotated[int, typer.Option(min=1, help="SuperNodes to start, here on the loopback.")] = 2,
    tls: Annotated[bool, typer.Option("--tls", help="TLS, and a key that the SuperLink knows for each node.")] = False,
    clients: Clients = None,
    rounds: options.Rounds = None,
    method: options.Named = None,
    seed: options.Seed = None,
    set_: options.Changes = None,
    data_dir: options.DataDir = None,
    timeout: Timeout = 600.0,
    out_dir: options.Out = None,
    as_json: options.Json = False,
    quiet: Quiet = False,
) -> None:
    """Run on a SuperLink and SuperNodes of its own. These are real processes, which talk over the loopback."""
    config, own = _config(preset, method, set_, data_dir, nodes=nodes, seed=seed, rounds=rounds, clients=clients)
    plan = Plan("deploy", new_token(), nodes, tls, timeout, **own)
    _supervise(_created(plan, config, out_dir), config, plan, as_json=as_json, quiet=quiet)


@app.command(cls=Command)
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run on Flower that was stopped.")],
    method: options.OwnMethod = None,
    set_: options.OwnParts = None,
    as_json: options.Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run on Flower from its last checkpoint. It comes to the same bits. Code is loaded from the files that
    are named here and from no others, and they must be those of the run."""
    from heteroselect.runs.ended import read_settings
    from heteroselect.runs.fingerprint import Fingerprint, refuse_edited
    from heteroselect.runs.guard import refuse_changes, refuse_unnamed_download

    require_flower()
    changes = options.changes_of(set_)
    refuse_changes(changes)
    named = flatten(changes).items()
    parts = {key: _whole(place) if key in (*FILES, "data.name") else _whole_code(str(place)) for key, place in named}
    plan = Plan.read(folder)
    if plan.mode == "cluster":
        raise FolderError(
            f"flower resume: the run in {folder} is one of a cluster; "
            f"`flwr run {folder / WORK / 'app'} SUPERLINK` goes on with it."
        )
    plan = replace(plan, method=_whole_code(method) if method else "", parts=parts)
    refuse_links(folder)
    if finished(folder):  # then nothing of the user's own code is needed
        note(f"the run in {folder} has finished; there is nothing to resume.")
        config = read_settings(folder, "flower resume")
    else:
        config = plan.load(folder / CONFIG).config
        refuse_edited(folder, Fingerprint.read(folder), config.model_dump())
        refuse_unnamed_download(folder, config, changes)
    if plan.nodes > config.clients:
        raise FolderError(f"flower resume: {folder} names {plan.nodes} nodes for {config.clients} clients.")
    _supervise(folder, config, plan, as_json=as_json, quiet=quiet)


@app.command(cls=Command)
def keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, for this user alone.")],
    server: Annotated[
        list[str], typer.Option(help="A name or address by which nodes reach the SuperLink; may be given again.")
    ],
    nodes: Annotated[int, typer.Option(min=1, help="Key pairs to make: node0, node1, ….")] = 1,
    days: Annotated[int, typer.Option(min=1, max=36_500, help="How long the certificate holds.")] = 30,
) -> None:
    """Make the certificates and keys of a deployment. These are an authority, a certificate for a SuperLink that others
    reach, and a key pair for each SuperNode."""
    require_flower()
    from heteroselect.flower.keys import make_node_key, make_tls

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"keys: {folder} is not empty; allowed is a new or an empty folder.")
    with as_user_error(folder):
        make_tls(folder, server, days)
        for place in range(nodes):
            make_node_key(folder, f"node{place}")
    note(f"keys: {folder} (ca.crt and its own nodeI for each node; everything else stays here)")


@app.command("app", cls=Command)
def write(
    preset: options.Preset = "mnist",
    nodes: Annotated[int, typer.Option(min=1, help="SuperNodes that will be there; each hosts clients in turn.")] = 1,
    key: Annotated[
        list[Path] | None, typer.Option(metavar="FILE.pub", help="The public key of node 0, again for node 1, ….")
    ] = None,
    clients: Clients = None,
    rounds: options.Rounds = None,
    method: options.Named = None,
    seed: options.Seed = None,
    set_: options.Changes = None,
    timeout: Timeout = 600.0,
    out_dir: options.Out = None,
) -> None:
    """Write a run folder and the app that `flwr run` starts. The SuperLink is one of this machine that is there
    already. The same again goes on with a run that was stopped."""
    require_flower()
    from heteroselect.flower.keys import digest_of

    config, own = _config(preset, method, set_, None, nodes=nodes, seed=seed, rounds=rounds, clients=clients)
    if key and len(key) != nodes:
        raise SettingError(f"--key: there are {len(key)} for {nodes} nodes; allowed is one for each, or none.")
    try:
        digests = [digest_of(one) for one in key or []]
    except OSError as error:
        raise SettingError(f"--key: {error.filename} cannot be read ({error.strerror}).") from error
    plan = Plan("cluster", new_token(), nodes, timeout=timeout, **own)
    path = _created(plan, config, out_dir).absolute()
    with as_user_error(path):
        write_app(path / WORK / APP, plan.app(config, path, keys=digests))
    note(f"`flwr run {path / WORK / APP} SUPERLINK` starts the run in {path}, or goes on with it.")


def _config(
    preset: str, method: str | None, set_: list[str] | None, data_dir: Path | None, nodes: int = 0, **given: Any
) -> tuple[Config, dict[str, Any]]:
    """The settings as for `heteroselect run`, except that there is a client for each of the `nodes` where nobody says
    how many there are, and that a cohort larger than the number of clients becomes all of them; and the user's own code
    in them, as a Plan names it."""
    require_flower()
    changes = flatten(options.changes_of(set_, data_dir, **given))
    if nodes:
        changes.setdefault("clients", nodes)
    changes |= {key: _whole(changes[key]) for key in ("data.dir", "data.name", *FILES) if key in changes}
    own: dict[str, Any] = {"parts": _own_parts(changes)}
    changes |= own["parts"]
    if method is not None and is_path(method):
        own["method"] = method = _whole_code(method)
    if "clients" in changes and "selected" not in changes:
        plain = {key: value for key, value in changes.items() if key != "clients"}
        usual = load(preset, method=method, changes=plain).config.selected
        changes["selected"] = max(1, min(usual, int(changes["clients"])))
    loaded = load(preset, method=method, changes=changes)
    refuse_steps(loaded.method)
    if nodes > loaded.config.clients:
        raise SettingError(f"--nodes: allowed is at most one for each of the {loaded.config.clients} clients.")
    for text in loaded.brought:
        say(text)
    return loaded.config, own


def _own_parts(changes: dict[str, Any]) -> dict[str, str]:
    """The kinds among these settings that are the user's own code, with whole paths."""
    kinds = {key: str(value) for key, value in changes.items() if key.startswith("method.") and key.endswith(".kind")}
    return {key: _whole_code(kind) for key, kind in kinds.items() if is_path(kind)}


def _whole(name: Any) -> Any:
    """The whole path of what lies here: Flower's processes work elsewhere."""
    there = Path(str(name)).expanduser()
    return str(there.absolute()) if there.exists() else name


def _whole_code(name: str) -> str:
    """FILE.py:NAME with the whole path."""
    file, colon, inside = name.rpartition(":")
    return f"{_whole(file)}:{inside}" if colon else name


def _created(plan: Plan, config: Config, out_dir: Path | None) -> Path:
    """A new run folder with the settings and the plan in it."""
    if out_dir is not None:
        RunFolder.refuse_taken(out_dir)
    path = out_dir or numbered(Path("runs"), f"{Path(config.data.name).stem}-{config.method_name}-flower")
    with made(path):
        RunFolder.create(path, to_toml(config)).close()
        plan.write(path)
    return path


def _supervise(path: Path, config: Config, plan: Plan, *, as_json: bool, quiet: bool) -> None:
    from heteroselect.flower.supervise import supervise

    try:
        with terminable(), watching(config.last_round, where(not quiet), sent=partial(megabytes_before, path)) as watch:
            result = supervise(path, config, plan, watch)
    except KeyboardInterrupt:
        words = ["heteroselect", "flower", "resume", str(path), *own_files(config)]
        note(f"interrupted; `{' '.join(words)}` goes on.")
        raise typer.Exit(130) from None
    print_result(result, as_json=as_json, quiet=quiet)
