"""Who takes part?"""

from heteroselect.select.softmax import Cohort, Softmax, gumbel_top

__all__ = ["Cohort", "Softmax", "gumbel_top"]
