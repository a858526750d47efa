"""What does a client do?"""

from heteroselect.train.drift import FedDyn, NoDrift, Scaffold, Turn
from heteroselect.train.fedprox import FedProx
from heteroselect.train.rate import Rate
from heteroselect.train.steps import Steps

__all__ = ["FedDyn", "FedProx", "NoDrift", "Rate", "Scaffold", "Steps", "Turn"]
