"""What does a client send?"""

from heteroselect.compress.curvature import Scene, TopK
from heteroselect.compress.memory import EF21, ErrorMemory, Kept, MomentumMemory, NoMemory
from heteroselect.compress.update import Update
from heteroselect.compress.values import ValueCoding

__all__ = ["EF21", "ErrorMemory", "Kept", "MomentumMemory", "NoMemory", "Scene", "TopK", "Update", "ValueCoding"]
