"""What follows a step of the model: it is coded for its way down, batch-norm statistics are measured for it, and it is
taken into the average."""

from dataclasses import replace

from heteroselect.core.arrays import Counts
from heteroselect.core.flat import Weights
from heteroselect.core.messages import Calibrate
from heteroselect.core.state import Kept
from heteroselect.core.update import Values
from heteroselect.round.method import naming
from heteroselect.round.shown import point, shown
from heteroselect.round.stages import Round
from heteroselect.world.ledger import Calibrated


def send_down(this: Round, there: Counts, step: Values | None) -> tuple[Kept, Values | None]:
    """Code the server's step for its way down: who has got the model of this round (`there`) and what else the role
    keeps, and the step as clients will decode it."""
    method, rng = this.method, this.streams.numpy("down", round=this.number)
    kept = fetched(this, this.server.of("down"), there, this.server.round)
    with naming("down"):
        return method.down.code(kept, step, this.clients.layout.layer_ends, rng)


def fetched(this: Round, kept: Kept, ids: Counts, round: int) -> Kept:
    """What the role `down` keeps once these clients have got the model after `round`."""
    with naming("down"):
        return this.method.down.fetched(kept, ids, round, len(this.server.population))


def recalibrate(this: Round, model: Weights, ids: Counts) -> tuple[Weights, list[Calibrated]]:
    """Measure batch-norm statistics for the new model at the first clients that answered; who did how much of it."""
    done: list[Calibrated] = []
    if not model.has_statistics or len(ids) == 0:
        return replace(model, trail=None), done
    size, lacking = this.method.train.batch, model.downloads
    available = [-(-int(this.server.population.sizes[k]) // size) for k in ids]
    for client, batches in zip(ids, this.method.calibrate.plan(available), strict=False):
        if batches:
            buffers = this.clients.calibrate(model, Calibrate(int(client), this.number, batches, size))
            answer = sum(buffer.numel() * buffer.element_size() for buffer in buffers.values())
            done.append(Calibrated(int(client), batches, answer, None if lacking is None else int(lacking[client])))
            model = replace(model, buffers=buffers)
    return replace(model, trail=None), done


def show(this: Round, state: dict[str, Kept], model: Weights, ids: Counts) -> tuple[dict[str, Kept], list[Calibrated]]:
    """Take the new model into the average. Where another model is shown than clients go on from, batch-norm statistics
    are measured for that one, too."""
    method = this.method
    there = point(method, state, model.vector.numpy())
    state = {**state, "average": method.average.add(this.server.of("average"), there, this.moment)}
    other = shown(method, state, model)
    if other is model or not model.has_statistics:
        return state, []
    other, calibrated = recalibrate(this, other, ids)
    return {**state, "calibrate": {name: buffer.numpy() for name, buffer in other.buffers.items()}}, calibrated
