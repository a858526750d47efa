"""How much may each send?"""

from heteroselect.allocate.budget import Schedule
from heteroselect.allocate.deadline import Deadline
from heteroselect.allocate.density import All, Allocation, ScoreShare, UniformShare, Waterfill
from heteroselect.allocate.fedband import FedBand
from heteroselect.allocate.fedcg import FedCG
from heteroselect.allocate.flexcom import FlexCom
from heteroselect.allocate.optrate import OptRate
from heteroselect.allocate.price import Price
from heteroselect.allocate.waterfill import waterfill

__all__ = [
    "All",
    "Allocation",
    "Deadline",
    "FedBand",
    "FedCG",
    "FlexCom",
    "OptRate",
    "Price",
    "Schedule",
    "ScoreShare",
    "UniformShare",
    "Waterfill",
    "waterfill",
]
