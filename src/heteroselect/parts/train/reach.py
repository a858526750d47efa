"""How far local steps reach: what SCAFFOLD and FedNova divide an update by."""


def reach(steps: int, momentum: float = 0.0, pull: float = 0.0) -> float:
    """‖a‖₁: how far `steps` steps move by a constant gradient of 1, in units of the rate η.

    Plain SGD gives τ; momentum ρ gives Σ_j (1 − ρ^j)/(1 − ρ); a proximal term, with `pull` = ημ, gives
    a ← (1 − ημ)a + 1. With both it is the recursion of the local solver itself.

    >>> round(reach(5, momentum=0.9), 3)
    13.144
    """
    velocity = moved = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + 1 - pull * moved
        moved += velocity
    return moved
