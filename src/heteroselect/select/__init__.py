"""Who takes part?"""

from heteroselect.select.cohort import Cohort, Situation
from heteroselect.select.softmax import Softmax, gumbel_top

__all__ = ["Cohort", "Situation", "Softmax", "gumbel_top"]
