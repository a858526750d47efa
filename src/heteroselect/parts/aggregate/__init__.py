"""What does the server make of it?"""

from heteroselect.parts.aggregate.adaptive import Adaptive
from heteroselect.parts.aggregate.average import ExponentialAverage, NoAverage, TailAverage
from heteroselect.parts.aggregate.calibration import Calibration
from heteroselect.parts.aggregate.majority import Majority
from heteroselect.parts.aggregate.mean import Mean
from heteroselect.parts.aggregate.momentum import LookAhead, Running, ServerMomentum, ServerSGD
from heteroselect.parts.aggregate.normalised import FedNova
from heteroselect.parts.aggregate.overlap import Overlap
from heteroselect.parts.aggregate.robust import GeometricMedian, Median, MultiKrum, TrimmedMean
from heteroselect.parts.aggregate.screen import Screen
from heteroselect.parts.aggregate.variance import ByVariance
from heteroselect.parts.aggregate.wait import Buffer, WaitForAll
from heteroselect.parts.aggregate.weights import ByData, ByScore, ByShare, Equal, Inverse, OneOfAll

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
