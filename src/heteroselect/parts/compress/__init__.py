"""Client side of an upload: privacy, error feedback, compressors and value codings; and the downlink."""

from heteroselect.core.state import PartState
from heteroselect.core.update import Update
from heteroselect.parts.compress.context import CompressContext, Guided, Measured
from heteroselect.parts.compress.curvature import Curvature
from heteroselect.parts.compress.down import CodedSteps, WholeModel
from heteroselect.parts.compress.drive import Drive
from heteroselect.parts.compress.everything import Everything
from heteroselect.parts.compress.luar import Luar
from heteroselect.parts.compress.memory import EF21, ErrorMemory, MomentumMemory, NoMemory
from heteroselect.parts.compress.privacy import PRIVACY, Gaussian, NoPrivacy
from heteroselect.parts.compress.qsgd import QSGD
from heteroselect.parts.compress.random_k import RandomK
from heteroselect.parts.compress.sign import Sign
from heteroselect.parts.compress.stc import STC
from heteroselect.parts.compress.ternary import Ternary
from heteroselect.parts.compress.terngrad import TernGrad
from heteroselect.parts.compress.threshold import Threshold
from heteroselect.parts.compress.topk import TopK
from heteroselect.parts.compress.values import BFloat16, Float16, Float32, UniformValues
from heteroselect.parts.compress.wangni import Wangni

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
    "CompressContext",
    "Curvature",
    "Drive",
    "ErrorMemory",
    "Everything",
    "Float16",
    "Float32",
    "Gaussian",
    "Guided",
    "Luar",
    "Measured",
    "MomentumMemory",
    "NoMemory",
    "NoPrivacy",
    "PartState",
    "RandomK",
    "Sign",
    "TernGrad",
    "Ternary",
    "Threshold",
    "TopK",
    "UniformValues",
    "Update",
    "Wangni",
    "WholeModel",
]
