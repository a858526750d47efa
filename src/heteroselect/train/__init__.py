"""What does a client do?"""

from heteroselect.train.calibrated import Calibrated
from heteroselect.train.feddyn import FedDyn
from heteroselect.train.fedsol import FedSOL
from heteroselect.train.rate import CosineRate, ScoreRate, SharedRate
from heteroselect.train.reach import reach
from heteroselect.train.scaffold import Scaffold
from heteroselect.train.sgd import SGD
from heteroselect.train.solver import Job, Remembering, Trainable, Trained, Turn, TwoSided
from heteroselect.train.work import DeviceSteps, EqualSteps

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
    "SharedRate",
    "Trainable",
    "Trained",
    "Turn",
    "TwoSided",
    "reach",
]
