"""Who takes part?"""

from heteroselect.select.cohort import Cohort, Situation, checked
from heteroselect.select.softmax import Softmax, gumbel_top

__all__ = ["Cohort", "Situation", "Softmax", "checked", "gumbel_top"]
