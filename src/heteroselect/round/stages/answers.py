"""What goes down with a model, what is sent for a plan, and what clients answer."""

from collections.abc import Mapping, Sequence

import numpy as np

from heteroselect.core.arrays import Reals
from heteroselect.core.messages import Upload
from heteroselect.core.state import Kept, flat
from heteroselect.parts.compress import Guided
from heteroselect.parts.compress.wire import table_with
from heteroselect.parts.select import SendAll
from heteroselect.parts.train import TwoSided
from heteroselect.round.claims import bounded_reports
from heteroselect.round.method import Method
from heteroselect.round.stages import Plan, Round, Seen
from heteroselect.world import Event
from heteroselect.world.ledger import Messages

ASKED = ("label", "variance")
"""Numbers of a report that a part asked for; those that come with every update are part of it."""


def goes_down(this: Round) -> Kept:
    """What goes down with the model: of a solver with a half at the server, and of a compressor with one."""
    method, server = this.method, this.server
    solver = method.train.shared(server.of("train")) if isinstance(method.train, TwoSided) else {}
    guide = method.compress.told(server.of("compress")) if isinstance(method.compress, Guided) else {}
    return {**solver, **flat({"compress": guide})}


def answered(this: Round, uploads: Sequence[Upload]) -> tuple[dict[int, Upload], list[Event]]:
    """The uploads by client, with what hostile clients make of theirs and claims bounded; and what was not believed."""
    method, attack = this.method, this.environment.attack
    codecs = table_with(getattr(method.compress, "codec", None))
    sent, size, bound = {one.client: one for one in uploads}, this.clients.layout.size, method.screen.bound
    sent = attack.uploads(sent, this.hostile, size, bound, this.number, this.streams, codecs)
    return bounded_reports(sent, method.screen.claims, labels="labels" in method.needs)


def asked_for(uploads: Mapping[int, Upload]) -> int:
    """How many of the numbers that were reported a part had asked for."""
    return sum(name.startswith(ASKED) for upload in uploads.values() for name in upload.report)


def messages(
    this: Round, seen: Seen, plan: Plan, densities: Reals, uploads: dict[int, Upload], shared: Kept, reports: int
) -> Messages:
    """All that is sent for a plan; `reports` are numbers that go up before the updates."""
    return Messages(
        size=this.clients.layout.size,
        model=this.server.weights.nbytes,
        asked=seen.asked,
        selected=plan.cohort.ids,
        densities=densities,
        payloads=[len(uploads[int(k)].payload) if int(k) in uploads else 0 for k in plan.cohort.ids],
        shared=sum(array.nbytes for array in shared.values()),
        reports=reports,
        probe=np.where(densities < 1, 0.0 if plan.allocation.warmup else this.method.probe, 0.0),
        downloads=this.model.downloads,
        held=not isinstance(this.method.choose, SendAll),
    )


def passes(plan: Plan, method: Method) -> Reals:
    """Passes over a batch that each client is ordered."""
    return np.array([method.passes * order.steps for order in plan.orders])
