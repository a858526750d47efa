"""Pictures of the worlds for docs/worlds.md, drawn from the worlds themselves. Run it with `make worlds`.

Every picture shows 100 clients of seed 42. The trace of a link is made up here, because none comes with the package.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn

from heteroselect import models, run
from heteroselect.comparison.report.figure import save
from heteroselect.comparison.report.style import COLOURS, QUIET
from heteroselect.core.arrays import Reals
from heteroselect.core.conditions import Conditions
from heteroselect.core.draws import Draws
from heteroselect.core.flat import FlatModel
from heteroselect.core.flops import step_flops
from heteroselect.core.streams import Streams
from heteroselect.world import (
    Coupling,
    DrawnWorld,
    FlopDevices,
    GivenDevices,
    GivenLinks,
    LinkTrace,
    Rates,
    World,
    day_cycle,
    read_devices,
)
from heteroselect.world.devices import phones

OUT = Path(__file__).resolve().parents[1] / "docs" / "worlds"
CLIENTS, STREAMS = 100, Streams(42)
# no random names in the file, so that the same picture is the same bytes
STYLE: dict[Any, Any] = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
         "legend.fontsize": 7, "svg.hashsalt": "worlds", "svg.fonttype": "none"}  # fmt: skip


def operations(name: str, *shape: int) -> float:
    """Of a training step of a model with a batch of 32 inputs of this shape."""
    model = FlatModel(models.build(name, shape, 10, dropout=0.5))
    draws = Draws(frozenset({nn.functional.dropout}))
    batch, targets = torch.ones(32, *shape), torch.zeros(32, dtype=torch.int64)
    return step_flops(model, nn.functional.cross_entropy, batch, targets, draws)


def seen(world: World, round: int = 1, now: float = 0.0) -> Conditions:
    return world.conditions(round, now, CLIENTS, lambda: np.ones(CLIENTS), STREAMS)


def paper(left: Axes, right: Axes) -> None:
    """The paper's world: links anew in every round, devices for good."""
    _over_rounds(left, DrawnWorld())
    left.set_title("uplinks of three clients, drawn anew in every round")
    right.hist(seen(DrawnWorld()).step_seconds, bins=20, color=COLOURS[0])
    right.set(xlabel="seconds per step", ylabel="clients", title="devices, whatever the model")


def table(left: Axes, right: Axes) -> None:
    """The devices of the extra `phones`."""
    drawn = read_devices(phones()).drawn(CLIENTS, STREAMS)
    assert drawn.up is not None
    assert drawn.down is not None
    assert drawn.flops is not None
    devices = GivenDevices(operations("alexnet", 3, 32, 32) / drawn.flops)
    found = seen(DrawnWorld(GivenLinks(drawn.up), devices, GivenLinks(drawn.down)))
    for rates, name, colour in ((found.up, "up", COLOURS[0]), (found.down, "down", COLOURS[1])):
        left.step(*_steps(rates / 1e6), where="post", color=colour, label=name)
    left.set(xscale="log", xlabel="Mb/s", ylabel="share of the clients", title="links of 100 devices of the table")
    left.legend(loc="upper left")
    right.scatter(found.step_seconds, found.up / 1e6, s=9, color=COLOURS[0])
    right.set(yscale="log", xlabel="seconds per step of AlexNet", ylabel="uplink, Mb/s", xlim=(0, None))
    right.set_title("each client is one row of it")


def trace(left: Axes, right: Axes) -> None:
    """Links second by second, and one upload."""
    scores = Coupling(persistence=0.8)
    rates = np.array([np.exp(scores.links("made up", second, 1, STREAMS))[0] for second in range(120)])
    links = LinkTrace((Rates(np.arange(120.0), rates * 1e6, 120.0),)).dealt(3, STREAMS)
    seconds = np.arange(0, 60, 0.25)
    for client in range(3):
        values = [links.up[client].at(second + links.begins(client)) / 1e6 for second in seconds]
        left.plot(seconds, values, color=COLOURS[client], lw=1, label=f"client {client}")
    left.set(xlabel="simulated second", ylabel="uplink, Mb/s", title="one trace, read from three places")
    left.legend(loc="upper right")
    starts = np.arange(0, 60, 0.5)
    right.plot(starts, [links.up_seconds(0, 8e6, start) for start in starts], color=COLOURS[0])
    right.set(xlabel="second at which an upload begins", ylabel="seconds", ylim=(0, None))
    right.set_title("what 1 MB takes client 0")


def availability(left: Axes, right: Axes) -> None:
    """The day cycle."""
    days = day_cycle(CLIENTS, STREAMS, share=0.3, period=86400.0, spread=0.8)
    hours = np.arange(0, 48, 0.25)
    there = np.array([days.at(hour * 3600, CLIENTS)[0] for hour in hours])
    left.plot(hours, there.sum(axis=1), color=COLOURS[0])
    left.set(xlabel="simulated hour", ylabel="clients there", ylim=(0, None), title="30 % of a day each, spread 0.8")
    places, comes = np.arange(CLIENTS), np.sort(days.starts) / 3600
    for day in (-24, 0, 24):
        right.hlines(places, comes + day, comes + day + 0.3 * 24, color=COLOURS[0], lw=0.8)
    right.set(xlabel="simulated hour", ylabel="clients, by when they come", title="who is there", xlim=(0, 48))


def flops(left: Axes, right: Axes) -> None:
    """Compute that follows the model."""
    logistic, alexnet = operations("logistic", 1, 28, 28), operations("alexnet", 3, 32, 32)
    for counted, name, colour in ((logistic, "logistic regression", COLOURS[0]), (alexnet, "AlexNet", COLOURS[1])):
        seconds = seen(DrawnWorld(devices=FlopDevices(counted))).step_seconds
        left.step(*_steps(seconds), where="post", color=colour, label=name)
    left.step(*_steps(seen(DrawnWorld()).step_seconds), where="post", color=QUIET, label="the paper's, any model")
    left.set(xscale="log", xlabel="seconds per step", ylabel="share of the clients", title="3 to 30 GFLOP/s")
    left.legend(loc="center left")
    right.barh(["logistic\nregression", "AlexNet"], [logistic, alexnet], color=[COLOURS[0], COLOURS[1]])
    right.set(xscale="log", xlabel="operations of a step with a batch of 32", xlim=(1e4, None))
    right.set_title("as torch counts them")


def coupling(left: Axes, right: Axes) -> None:
    """Persistence and coupling."""
    _over_rounds(left, DrawnWorld(coupling=Coupling(persistence=0.9)))
    left.set_title("uplinks of three clients, persistence 0.9")
    found = seen(DrawnWorld(coupling=Coupling(links_by_speed=0.8)))
    right.scatter(found.step_seconds, found.up / 1e6, s=9, color=COLOURS[0])
    right.set(xlabel="seconds per step", ylabel="uplink, Mb/s", title="links_by_speed 0.8")


def _over_rounds(axes: Axes, world: World) -> None:
    rounds = np.arange(1, 41)
    links = np.array([seen(world, int(round)).up[:3] for round in rounds]) / 1e6
    for client in range(3):
        axes.plot(rounds, links[:, client], color=COLOURS[client], lw=1, marker=".", ms=3)
    axes.set(xlabel="round", ylabel="uplink, Mb/s", ylim=(0, 5.5))


def _steps(values: Reals) -> tuple[Reals, Reals]:
    """The share of the values up to each of them."""
    return np.sort(values), np.arange(1, len(values) + 1) / len(values)


def clock(preset: str, rounds: int = 10) -> dict[str, float]:
    """Ten rounds of FedAvg by the clock that counts everything: the seconds of a round, and the shares in which the
    client that is waited for computes, sends and fetches."""
    result = run(preset, method="fedavg", rounds=rounds, settings={"world.charge": "everything"})
    spent = np.zeros(3)
    for line in result.rounds:
        note = line["world"]
        last = int(np.argmax(note["took"]))
        spent += [note[part][last] for part in ("compute", "up", "down")]
    shares = dict(zip(("compute", "up", "down"), (spent / spent.sum()).round(3).tolist(), strict=True))
    return {"seconds": round(result.total_seconds / rounds, 1), **shares}


PICTURES: tuple[Callable[[Axes, Axes], None], ...] = (paper, table, trace, availability, flops, coupling)


def main(out: Path = OUT) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for draw in PICTURES:
        with rc_context(STYLE):
            figure = Figure(figsize=(7.0, 2.3), layout="constrained")
            draw(*figure.subplots(1, 2))
            save(figure, out / f"{draw.__name__}.svg", "--out")
            print(f"{draw.__name__}.svg")
    found = {preset: clock(preset) for preset in ("mnist", "mnist-narrowband")}
    (out / "clock.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
