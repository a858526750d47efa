"""Power-of-choice: of d random clients the m with the highest loss.

d is `method.score.candidates`; each of them fetches the model and runs it forwards.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import PowerOfChoice
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "power-of-choice",
        score=Informativeness(
            mode="candidates",
            candidates=20,
            candidates_by_size=True,
            diversity_weight=0.0,
            fairness_weight=0.0,
            staleness_weight=0.0,
        ),
        select=PowerOfChoice(),
        weigh=Equal(),
    ),
    summary="of d random clients the m with the highest loss",
    paper='Cho, Wang, Joshi, "Client selection in federated learning: Convergence analysis and power-of-choice selection strategies", 2020',
    leaves_out="its cheaper versions, by the loss of one batch or of the last participation",
)
