"""THE ROUND: observe → score → select → allocate → train and compress → aggregate → record.

This is Algorithm 1 of the paper, one stage per line; each stage is a module of `round/stages` and hands a value to the
next. Where the clients run is the engine's business, what their links and devices are is the world's, and every
decision is the method's. A round changes nothing: it returns the server as it is afterwards.
"""

from dataclasses import replace

from heteroselect.core.moment import Moment
from heteroselect.core.streams import Streams
from heteroselect.round.method import Method
from heteroselect.round.server import Clients, RoundOutcome, Server
from heteroselect.round.stages import RoundContext
from heteroselect.round.stages.aggregate import aggregate
from heteroselect.round.stages.conclude import conclude
from heteroselect.round.stages.observe import observe_and_score
from heteroselect.round.stages.select import select_and_allocate
from heteroselect.round.stages.train import train_and_receive
from heteroselect.world import Environment


def play_round(
    moment: Moment,
    server: Server,
    method: Method,
    clients: Clients,
    environment: Environment,
    streams: Streams,
    *,
    selected: int,
) -> RoundOutcome:
    """Compute one round, which begins at the simulated second `server.now`."""
    moment = replace(moment, now=server.now)
    ctx = RoundContext(moment, server, method, clients, environment, streams, selected)
    seen = observe_and_score(ctx)  # eqs 1 to 5
    plan = select_and_allocate(ctx, seen)  # eqs 6 to 9, and 12
    arrived = train_and_receive(ctx, seen, plan)  # eqs 9 to 12, at the clients
    result = aggregate(ctx, seen, plan, arrived)  # eqs 13 and 14
    return conclude(ctx, seen, plan, arrived, result)
