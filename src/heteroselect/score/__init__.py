"""How informative is each client?"""

from heteroselect.score.informativeness import Informativeness, Scores

__all__ = ["Informativeness", "Scores"]
