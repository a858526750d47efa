"""What does a client do?"""

from heteroselect.parts.train.calibrated import Calibrated
from heteroselect.parts.train.feddyn import FedDyn
from heteroselect.parts.train.fedsol import FedSOL
from heteroselect.parts.train.rate import CosineRate, ScoreRate, SharedRate
from heteroselect.parts.train.reach import reach
from heteroselect.parts.train.scaffold import Scaffold
from heteroselect.parts.train.sgd import SGD
from heteroselect.parts.train.solver import Job, Remembering, ServerContext, Trainable, Trained, TwoSided
from heteroselect.parts.train.work import DeviceSteps, EqualSteps

__all__ = [
    "SGD",
    "Calibrated",
    "CosineRate",
    "DeviceSteps",
    "EqualSteps",
    "FedDyn",
    "FedSOL",
    "Job",
    "Remembering",
    "Scaffold",
    "ScoreRate",
    "ServerContext",
    "SharedRate",
    "Trainable",
    "Trained",
    "TwoSided",
    "reach",
]
