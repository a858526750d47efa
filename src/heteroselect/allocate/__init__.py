"""How much may each send?"""

from heteroselect.allocate.budget import Budget
from heteroselect.allocate.density import Allocation, Allocator, Means
from heteroselect.allocate.waterfill import waterfill

__all__ = ["Allocation", "Allocator", "Budget", "Means", "waterfill"]
