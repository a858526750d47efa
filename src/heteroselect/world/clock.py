"""The clock: a round lasts until its slowest client has computed and uploaded."""

from heteroselect.population import Reals


def upload_seconds(densities: Reals, bandwidth: Reals, size: int) -> Reals:
    """θ_k·32N/B_k, the paper's uplink time (section V-C)."""
    return densities * 32 * size / bandwidth


def round_seconds(upload: Reals, step_seconds: Reals, steps: int) -> float:
    """max_k(upload_k + H·c_k)"""
    return float((upload + steps * step_seconds).max())


def time_budget(average: float, size: int, bandwidth: float, steps: int, step_seconds: float) -> float:
    """T_budget = θ_avg·32N/B̄ + H·c̄: the round of an average client; undefined in the text, from the logs."""
    return average * 32 * size / bandwidth + steps * step_seconds
