"""What does the server make of it?"""

from heteroselect.aggregate.calibration import Calibration
from heteroselect.aggregate.momentum import LookAhead, Running, ServerMomentum, weighted_sum
from heteroselect.aggregate.screen import Screen
from heteroselect.aggregate.weights import ClientWeights

__all__ = ["Calibration", "ClientWeights", "LookAhead", "Running", "Screen", "ServerMomentum", "weighted_sum"]
