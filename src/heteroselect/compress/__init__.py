"""What does a client send?

What a compressor promises, in class variables, stands at `promises`.
"""

from heteroselect.compress.curvature import Curvature
from heteroselect.compress.down import CodedSteps, WholeModel
from heteroselect.compress.drive import Drive
from heteroselect.compress.everything import Everything
from heteroselect.compress.luar import Luar
from heteroselect.compress.memory import EF21, ErrorMemory, MomentumMemory, NoMemory
from heteroselect.compress.privacy import PRIVACY, Gaussian, NoPrivacy
from heteroselect.compress.qsgd import QSGD
from heteroselect.compress.random_k import RandomK
from heteroselect.compress.scene import Guided, Measured, Scene, promises
from heteroselect.compress.sign import Sign
from heteroselect.compress.stc import STC
from heteroselect.compress.ternary import Ternary
from heteroselect.compress.terngrad import TernGrad
from heteroselect.compress.threshold import Threshold
from heteroselect.compress.topk import TopK
from heteroselect.compress.update import Update
from heteroselect.compress.values import BFloat16, Float16, Float32, UniformValues
from heteroselect.compress.wangni import Wangni
from heteroselect.state import Kept

COMPRESSORS = (Everything, TopK, Curvature, RandomK, Threshold, Wangni, QSGD, TernGrad, Sign, STC, Drive, Ternary, Luar)
MEMORIES = (NoMemory, ErrorMemory, EF21, MomentumMemory)
DOWN = (WholeModel, CodedSteps)
VALUES = (Float32, Float16, BFloat16, UniformValues)

__all__ = [
    "COMPRESSORS",
    "DOWN",
    "EF21",
    "MEMORIES",
    "PRIVACY",
    "QSGD",
    "STC",
    "VALUES",
    "BFloat16",
    "CodedSteps",
    "Curvature",
    "Drive",
    "ErrorMemory",
    "Everything",
    "Float16",
    "Float32",
    "Gaussian",
    "Guided",
    "Kept",
    "Luar",
    "Measured",
    "MomentumMemory",
    "NoMemory",
    "NoPrivacy",
    "RandomK",
    "Scene",
    "Sign",
    "TernGrad",
    "Ternary",
    "Threshold",
    "TopK",
    "UniformValues",
    "Update",
    "Wangni",
    "WholeModel",
    "promises",
]
