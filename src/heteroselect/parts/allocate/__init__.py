"""How much may each send?"""

from heteroselect.parts.allocate.budget import Schedule
from heteroselect.parts.allocate.deadline import Deadline
from heteroselect.parts.allocate.density import All, Allocation, ScoreShare, UniformShare, Waterfill
from heteroselect.parts.allocate.fedband import FedBand
from heteroselect.parts.allocate.fedcg import FedCG
from heteroselect.parts.allocate.flexcom import FlexCom
from heteroselect.parts.allocate.optrate import OptRate
from heteroselect.parts.allocate.price import Price
from heteroselect.parts.allocate.waterfill import waterfill

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
