"""What does the server make of it?"""

from heteroselect.aggregate.calibration import Calibration
from heteroselect.aggregate.momentum import ServerMomentum, weighted_sum
from heteroselect.aggregate.weights import ClientWeights

__all__ = ["Calibration", "ClientWeights", "ServerMomentum", "weighted_sum"]
