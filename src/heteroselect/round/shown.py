"""The model that is evaluated and saved. It may be another one than clients go on from: a server step or a solver may
show another point (`shown`), and an average of the last models may stand for all of them."""

import torch

from heteroselect.core.flat import Weights
from heteroselect.core.state import State
from heteroselect.core.update import Values
from heteroselect.round.method import Method


def point(method: Method, state: State, model: Values) -> Values:
    """The model itself, or the point that the server's step or the solver shows in its place."""
    for role, part in (("server_optimizer", method.server_optimizer), ("solver", method.solver)):
        if hasattr(part, "shown"):
            model = part.shown(state.get(role, {}), model)
    return model


def shown(method: Method, state: State, weights: Weights) -> Weights:
    """What is evaluated of a server with this state: its own `weights`, or another vector with its own statistics."""
    model = weights.vector.numpy()
    vector = method.model_average.mean(state.get("model_average", {}), point(method, state, model))
    if vector is model:
        return weights
    measured = {name: torch.from_numpy(array) for name, array in state.get("calibrate", {}).items()}
    return Weights(torch.from_numpy(vector), measured or weights.buffers)
