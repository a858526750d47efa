"""Who takes part?"""

from heteroselect.cohort import Cohort, Situation
from heteroselect.select.adasample import AdaSample
from heteroselect.select.balanced import Balanced
from heteroselect.select.clustered import Clustered
from heteroselect.select.delta import Delta
from heteroselect.select.divfl import DivFL
from heteroselect.select.fairfedcs import FairFedCS
from heteroselect.select.fedcg import FedCG
from heteroselect.select.fedcor import FedCor
from heteroselect.select.fedcs import FedCS
from heteroselect.select.fedlecc import FedLECC
from heteroselect.select.fedstas import FedSTaS
from heteroselect.select.longfed import LongFed
from heteroselect.select.oort import Oort
from heteroselect.select.optimal import OptimalSampling, SendAll
from heteroselect.select.power_of_choice import PowerOfChoice
from heteroselect.select.rbcs import RBCSF
from heteroselect.select.reinforced import Reinforced
from heteroselect.select.softmax import Softmax
from heteroselect.select.uniform import Everybody, Pool, Uniform

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
    "SendAll",
    "Situation",
    "Softmax",
    "Uniform",
]
