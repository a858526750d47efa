"""What does a client do?"""

from heteroselect.parts.train.calibrated import Calibrated as Calibrated
from heteroselect.parts.train.feddyn import FedDyn as FedDyn
from heteroselect.parts.train.fedsol import FedSOL as FedSOL
from heteroselect.parts.train.rate import CosineRate as CosineRate
from heteroselect.parts.train.rate import ScoreRate as ScoreRate
from heteroselect.parts.train.rate import SharedRate as SharedRate
from heteroselect.parts.train.scaffold import Scaffold as Scaffold
from heteroselect.parts.train.sgd import SGD as SGD
from heteroselect.parts.train.solver import Job as Job
from heteroselect.parts.train.solver import Remembering as Remembering
from heteroselect.parts.train.solver import ServerContext as ServerContext
from heteroselect.parts.train.solver import Trainable as Trainable
from heteroselect.parts.train.solver import Trained as Trained
from heteroselect.parts.train.solver import TwoSided as TwoSided
from heteroselect.parts.train.work import DeviceSteps as DeviceSteps
from heteroselect.parts.train.work import EqualSteps as EqualSteps
