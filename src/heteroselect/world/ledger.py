"""The ledger: what a round sent, in bytes, each kind apart."""

from dataclasses import dataclass

from heteroselect.population import Reals

LOSS_BYTES = 4  # a client answers a scoring question with one float32


@dataclass(frozen=True)
class Bytes:
    """One round's traffic.

    up_paper: θ_k·4N, the paper's count of values alone. up: real payloads. down: the model to the selected.
    scoring: the model to those who are scored but not selected, and everybody's answer. calibration: the
    model down and the batch-norm statistics both ways.
    """

    up_paper: float
    up: int
    down: int
    scoring: int
    calibration: int


def paper_bytes(densities: Reals, size: int) -> float:
    """Σ θ_k·4N"""
    return float((densities * 4 * size).sum())


def scoring_bytes(asked: int, selected: int, model: int) -> int:
    return max(asked - selected, 0) * model + asked * LOSS_BYTES
