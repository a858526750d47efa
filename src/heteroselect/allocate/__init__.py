"""How much may each send?"""

from heteroselect.allocate.budget import Schedule
from heteroselect.allocate.density import All, Allocation, ScoreShare, UniformShare, Waterfill
from heteroselect.allocate.fedcg import FedCG
from heteroselect.allocate.flexcom import FlexCom
from heteroselect.allocate.optrate import OptRate
from heteroselect.allocate.waterfill import waterfill

__all__ = [
    "All",
    "Allocation",
    "FedCG",
    "FlexCom",
    "OptRate",
    "Schedule",
    "ScoreShare",
    "UniformShare",
    "Waterfill",
    "waterfill",
]
