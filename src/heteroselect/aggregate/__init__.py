"""What does the server make of it?"""

from heteroselect.aggregate.adaptive import Adaptive
from heteroselect.aggregate.average import ExponentialAverage, NoAverage, TailAverage
from heteroselect.aggregate.calibration import Calibration
from heteroselect.aggregate.majority import Majority
from heteroselect.aggregate.mean import Mean
from heteroselect.aggregate.momentum import LookAhead, Running, ServerMomentum, ServerSGD
from heteroselect.aggregate.normalised import FedNova
from heteroselect.aggregate.overlap import Overlap
from heteroselect.aggregate.robust import GeometricMedian, Median, MultiKrum, TrimmedMean
from heteroselect.aggregate.screen import Screen
from heteroselect.aggregate.variance import ByVariance
from heteroselect.aggregate.wait import Buffer, WaitForAll
from heteroselect.aggregate.weights import ByData, ByScore, ByShare, Equal, Inverse, OneOfAll

__all__ = [
    "Adaptive",
    "Buffer",
    "ByData",
    "ByScore",
    "ByShare",
    "ByVariance",
    "Calibration",
    "Equal",
    "ExponentialAverage",
    "FedNova",
    "GeometricMedian",
    "Inverse",
    "LookAhead",
    "Majority",
    "Mean",
    "Median",
    "MultiKrum",
    "NoAverage",
    "OneOfAll",
    "Overlap",
    "Running",
    "Screen",
    "ServerMomentum",
    "ServerSGD",
    "TailAverage",
    "TrimmedMean",
    "WaitForAll",
]
