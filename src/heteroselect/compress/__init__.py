"""What does a client send?"""

from heteroselect.compress.curvature import Scene, TopK
from heteroselect.compress.memory import ErrorMemory
from heteroselect.compress.update import Update
from heteroselect.compress.values import ValueCoding

__all__ = ["ErrorMemory", "Scene", "TopK", "Update", "ValueCoding"]
