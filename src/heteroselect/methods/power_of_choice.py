"""d is `method.score.candidates`; each of them fetches the model and runs it forwards."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, score, select

ENTRY = Entry(
    Method(
        "power-of-choice",
        score=score.Informativeness(
            mode="candidates",
            candidates=20,
            candidates_by_size=True,
            diversity_weight=0.0,
            fairness_weight=0.0,
            staleness_weight=0.0,
        ),
        select=select.PowerOfChoice(),
        weigh=aggregate.Equal(),
    ),
    family="selection",
    summary="of d random clients the m with the highest loss",
    paper='Cho, Wang, Joshi, "Client selection in federated learning: Convergence analysis and power-of-choice selection strategies", 2020',
    leaves_out="its cheaper versions, by the loss of one batch or of the last participation",
)
