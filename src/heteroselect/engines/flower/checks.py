"""Whether an answer can be believed: raises RecordError, with the reason as a sentence about the client, where not."""

from collections.abc import Mapping

from torch import Tensor

from heteroselect.core.messages import Upload
from heteroselect.engines.flower.records import Present, RecordError

HUGE = 1e30  # beyond it a report is no measurement, and sums of reports would overflow
MOST = 10**12  # examples of a client: sums of them do not overflow
GROWTH = 1e6  # how many times as large as before (as 1 at least) batch-norm statistics may be


def check_loss(loss: object) -> float:
    """The loss, unless it is no number, or too large for one."""
    if not (isinstance(loss, float) and abs(loss) < HUGE):
        raise RecordError(f"its loss is {loss}")
    return loss


def check_upload(upload: Upload) -> None:
    """Refuse an upload whose numbers are no numbers, or whose lengths no lengths."""
    numbers = [upload.examples, *upload.report.values()]
    sound = all(isinstance(number, int | float) and abs(number) < HUGE for number in numbers)
    if not (sound and all(upload.report.get(name, 0.0) >= 0 for name in ("norm", "rms", "memory"))):
        raise RecordError("its report is not made of numbers")


def check_statistics(found: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> None:
    """Refuse what no batch of this model can give, and what is out of all proportion to the statistics before: one such
    client would undo the model."""
    shapes, own = ({name: (one.shape, one.dtype) for name, one in of.items()} for of in (found, before))
    if shapes != own:  # first: not every type that can be sent can be compared
        raise RecordError("its statistics are not of this model")
    finite = all(bool(buffer.isfinite().all()) for buffer in found.values())
    lengths = all(bool((found[name] >= 0).all()) for name in found if name.endswith("running_var"))
    if not finite or not lengths:
        raise RecordError("its statistics are not of this model")
    for name, buffer in found.items():
        if buffer.numel() and _largest(buffer) > min(HUGE, GROWTH * max(1.0, _largest(before[name]))):
            raise RecordError(f"its statistics are more than {GROWTH:g} times those before")


def believable_clients(present: Present, clients: int) -> dict[int, int]:
    """Those of the clients a node names that there can be, each with its examples; or ValueError, TypeError or
    OverflowError where it names something else."""
    pairs = {int(c): int(n) for c, n in zip(present.clients, present.examples, strict=True)}
    return {c: n for c, n in pairs.items() if 0 <= c < clients and 0 < n <= MOST}


def _largest(buffer: Tensor) -> float:
    return float(buffer.abs().max())
