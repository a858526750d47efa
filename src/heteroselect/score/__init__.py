"""How informative is each client?"""

from heteroselect.score.informativeness import Informativeness
from heteroselect.score.none import NoScore
from heteroselect.score.scores import Scores

__all__ = ["Informativeness", "NoScore", "Scores"]
