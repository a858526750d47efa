"""How informative is each client?"""

from heteroselect.parts.score.informativeness import Informativeness as Informativeness
from heteroselect.parts.score.scores import NoScore as NoScore
from heteroselect.parts.score.scores import Scores as Scores
