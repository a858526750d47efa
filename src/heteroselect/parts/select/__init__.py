"""Who takes part?"""

from heteroselect.core.cohort import Cohort, SelectionContext
from heteroselect.parts.select.adasample import AdaSample
from heteroselect.parts.select.balanced import Balanced
from heteroselect.parts.select.clustered import Clustered
from heteroselect.parts.select.delta import Delta
from heteroselect.parts.select.divfl import DivFL
from heteroselect.parts.select.fairfedcs import FairFedCS
from heteroselect.parts.select.fedcg import FedCG
from heteroselect.parts.select.fedcor import FedCor
from heteroselect.parts.select.fedcs import FedCS
from heteroselect.parts.select.fedlecc import FedLECC
from heteroselect.parts.select.fedstas import FedSTaS
from heteroselect.parts.select.longfed import LongFed
from heteroselect.parts.select.oort import Oort
from heteroselect.parts.select.optimal import OptimalSampling, SendAll
from heteroselect.parts.select.power_of_choice import PowerOfChoice
from heteroselect.parts.select.rbcs import RBCSF
from heteroselect.parts.select.reinforced import Reinforced
from heteroselect.parts.select.softmax import Softmax
from heteroselect.parts.select.uniform import Everybody, Pool, Uniform

__all__ = [
    "RBCSF",
    "AdaSample",
    "Balanced",
    "Clustered",
    "Cohort",
    "Delta",
    "DivFL",
    "Everybody",
    "FairFedCS",
    "FedCG",
    "FedCS",
    "FedCor",
    "FedLECC",
    "FedSTaS",
    "LongFed",
    "Oort",
    "OptimalSampling",
    "Pool",
    "PowerOfChoice",
    "Reinforced",
    "SelectionContext",
    "SendAll",
    "Softmax",
    "Uniform",
]
