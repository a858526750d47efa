"""What does a client send?"""

from heteroselect.compress.curvature import Scene, TopK
from heteroselect.compress.memory import ErrorMemory, NoMemory
from heteroselect.compress.update import Update
from heteroselect.compress.values import ValueCoding

__all__ = ["ErrorMemory", "NoMemory", "Scene", "TopK", "Update", "ValueCoding"]
