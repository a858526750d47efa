"""How far local steps reach: what FedNova divides an update by."""


def reach(steps: int, momentum: float = 0.0) -> float:
    """‖a‖₁: how far `steps` steps move by a constant gradient of 1, in units of the rate η.

    Plain SGD gives τ, momentum ρ gives Σ_j (1 − ρ^j)/(1 − ρ).

    >>> round(reach(5, momentum=0.9), 3)
    13.144
    """
    velocity = moved = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + 1
        moved += velocity
    return moved
