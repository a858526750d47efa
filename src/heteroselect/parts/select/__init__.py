"""Who takes part?"""

from heteroselect.core.cohort import Cohort as Cohort
from heteroselect.core.cohort import SelectionContext as SelectionContext
from heteroselect.parts.select.adasample import AdaSample as AdaSample
from heteroselect.parts.select.balanced import Balanced as Balanced
from heteroselect.parts.select.clustered import Clustered as Clustered
from heteroselect.parts.select.delta import Delta as Delta
from heteroselect.parts.select.divfl import DivFL as DivFL
from heteroselect.parts.select.fairfedcs import FairFedCS as FairFedCS
from heteroselect.parts.select.fedcg import FedCG as FedCG
from heteroselect.parts.select.fedcor import FedCor as FedCor
from heteroselect.parts.select.fedcs import FedCS as FedCS
from heteroselect.parts.select.fedlecc import FedLECC as FedLECC
from heteroselect.parts.select.fedstas import FedSTaS as FedSTaS
from heteroselect.parts.select.longfed import LongFed as LongFed
from heteroselect.parts.select.oort import Oort as Oort
from heteroselect.parts.select.optimal import OptimalSampling as OptimalSampling
from heteroselect.parts.select.optimal import SendAll as SendAll
from heteroselect.parts.select.power_of_choice import PowerOfChoice as PowerOfChoice
from heteroselect.parts.select.rbcs import RBCSF as RBCSF
from heteroselect.parts.select.reinforced import Reinforced as Reinforced
from heteroselect.parts.select.softmax import Softmax as Softmax
from heteroselect.parts.select.uniform import Everybody as Everybody
from heteroselect.parts.select.uniform import Pool as Pool
from heteroselect.parts.select.uniform import Uniform as Uniform
