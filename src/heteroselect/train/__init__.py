"""What does a client do?"""

from heteroselect.train.fedprox import FedProx
from heteroselect.train.rate import Rate

__all__ = ["FedProx", "Rate"]
