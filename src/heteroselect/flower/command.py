"""heteroselect flower: simulate · deploy · resume. Flower itself is imported only when one of them is used."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from heteroselect import methods
from heteroselect.config import load, parse_changes, to_toml
from heteroselect.errors import HeteroSelectError
from heteroselect.flower import require_flower
from heteroselect.folder import CONFIG, RunFolder, finished, numbered
from heteroselect.run import refuse_measured_links, settings_of
from heteroselect.settings import Config

app = typer.Typer(help="Run on Flower: simulated by Ray, or deployed as SuperLink and SuperNodes.")

Preset = Annotated[str, typer.Argument(help="A preset, or the path of a TOML file.")]
Rounds = Annotated[int | None, typer.Option(help="The horizon T of all schedules.")]
Seed = Annotated[int | None, typer.Option(help="The seed of every random number.")]
Name = Annotated[str | None, typer.Option("--method", help="A method's name; see `heteroselect methods`.")]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change one setting.")]
DataDir = Annotated[Path | None, typer.Option(help="Where the data sets lie.")]
Timeout = Annotated[float, typer.Option(help="Seconds that a round waits for the answers of its clients.")]
Out = Annotated[Path | None, typer.Option("--out", help="A new folder; by default one under runs/.")]
Json = Annotated[bool, typer.Option("--json", help="Print summary.json and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress and no table.")]


@app.command()
def simulate(
    preset: Preset = "mnist",
    clients: Annotated[int | None, typer.Option(help="K, each a simulated SuperNode.")] = None,
    rounds: Rounds = None,
    method: Name = None,
    seed: Seed = None,
    set_: Changes = None,
    data_dir: DataDir = None,
    timeout: Timeout = 600.0,
    out_dir: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run on Flower's simulation engine (Ray): the simulator's bits, on as many cores and machines as Ray has."""
    config = _config(preset, method, set_, data_dir, seed=seed, rounds=rounds, clients=clients)
    refuse_measured_links(config)
    _run("simulate", config, config.clients, False, timeout, out_dir, as_json=as_json, quiet=quiet)


@app.command()
def deploy(
    preset: Preset = "mnist",
    nodes: Annotated[int, typer.Option(min=1, help="SuperNodes to start, here on the loopback.")] = 2,
    tls: Annotated[bool, typer.Option("--tls", help="TLS, and a key that the SuperLink knows for each node.")] = False,
    clients: Annotated[int | None, typer.Option(help="K, dealt out to the nodes in turn; by default one each.")] = None,
    rounds: Rounds = None,
    method: Name = None,
    seed: Seed = None,
    set_: Changes = None,
    data_dir: DataDir = None,
    timeout: Timeout = 600.0,
    out_dir: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run on a SuperLink and SuperNodes of its own, real processes that talk over the loopback."""
    config = _config(preset, method, set_, data_dir, seed=seed, rounds=rounds, clients=clients or nodes)
    if nodes > config.clients:
        raise HeteroSelectError(f"--nodes: allowed is at most one for each of the {config.clients} clients.")
    _run("deploy", config, nodes, tls, timeout, out_dir, as_json=as_json, quiet=quiet)


@app.command()
def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run on Flower that was stopped.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run on Flower from its last checkpoint, to the same bits."""
    require_flower()
    from heteroselect.flower.conduct import Plan

    plan = Plan.read(folder)
    if finished(folder):
        raise HeteroSelectError(f"flower resume: the run in {folder} has finished; `heteroselect show` shows it.")
    config = load(folder / CONFIG, methods=methods.SETTINGS)
    _conduct(folder, config, plan, as_json=as_json, quiet=quiet)


def _config(preset: str, method: str | None, set_: list[str] | None, data_dir: Path | None, **given: Any) -> Config:
    """As for `heteroselect run`; a cohort larger than the number of clients becomes all of them."""
    require_flower()
    changes = parse_changes(set_ or [])
    changes |= {key: value for key, value in given.items() if value is not None}
    if data_dir is not None:
        changes["data.dir"] = str(data_dir.absolute())
    if "clients" in changes and "selected" not in changes:
        plain = {key: value for key, value in changes.items() if key != "clients"}
        usual = settings_of(preset, method=method, changes=plain)
        changes["selected"] = max(1, min(usual.selected, int(changes["clients"])))
    return settings_of(preset, method=method, changes=changes)


def _run(
    mode: Literal["simulate", "deploy"],
    config: Config,
    nodes: int,
    tls: bool,
    timeout: float,
    out_dir: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    from heteroselect.flower.conduct import Plan

    if out_dir is not None:
        RunFolder.refuse_taken(out_dir)
    path = out_dir or numbered(Path("runs"), f"{Path(config.data.name).stem}-{config.method.name}-flower")
    RunFolder.create(path, to_toml(config)).close()
    plan = Plan.new(mode, nodes, tls=tls, timeout=timeout)
    plan.write(path)
    _conduct(path, config, plan, as_json=as_json, quiet=quiet)


def _conduct(path: Path, config: Config, plan: Any, *, as_json: bool, quiet: bool) -> None:
    from heteroselect.cli import _print_result, _terminable, _watching, err
    from heteroselect.flower.conduct import conduct

    try:
        with _terminable(), _watching(config, quiet=quiet) as watch:
            result = conduct(path, config, plan, watch)
    except KeyboardInterrupt:
        err.print(f"interrupted; `heteroselect flower resume {path}` goes on.", soft_wrap=True, highlight=False)
        raise typer.Exit(130) from None
    _print_result(result, path, as_json=as_json, quiet=quiet)
