"""The abstract is arXiv 2603.08911. Each client tells its loss each round, and the shares of its labels with each upload."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import score, select

ENTRY = Entry(
    Method(
        "fedlecc",
        score=score.Informativeness(diversity_weight=0.0, fairness_weight=0.0, staleness_weight=0.0),
        select=select.FedLECC(),
    ),
    family="selection",
    summary="high losses, from clusters of alike labels",
    paper='Jimenez-Gutierrez, Giunta, Hassanzadeh, Anagnostopoulos, Chatzigiannakis, Vitaletti, "FedLECC: Cluster- and loss-guided client selection for federated learning under non-IID data", 2026',
    leaves_out="OPTICS, in whose place clusters are what hangs together by short distances",
)
