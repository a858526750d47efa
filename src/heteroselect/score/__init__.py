"""How informative is each client?"""

from heteroselect.score.informativeness import Informativeness
from heteroselect.score.scores import NoScore, Scores

__all__ = ["Informativeness", "NoScore", "Scores"]
