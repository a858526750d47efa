"""How informative is each client?"""

from heteroselect.parts.score.informativeness import Informativeness
from heteroselect.parts.score.scores import NoScore, Scores

__all__ = ["Informativeness", "NoScore", "Scores"]
