"""FedLECC: from clusters of alike labels with a high loss, the clients with the highest loss.

Reconstructed from the abstract (arXiv 2603.08911). Everybody is asked for its loss each round, and tells the shares of
its labels with each upload.
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.score import Informativeness
from heteroselect.parts.select import FedLECC
from heteroselect.round.method import Method

ENTRY = Entry(
    Method(
        "fedlecc",
        score=Informativeness(diversity_weight=0.0, fairness_weight=0.0, staleness_weight=0.0),
        select=FedLECC(),
    ),
    summary="from clusters of alike labels with a high loss, the clients with the highest loss",
    paper='Jimenez-Gutierrez, Giunta, Hassanzadeh, Anagnostopoulos, Chatzigiannakis, Vitaletti, "FedLECC: Cluster- and loss-guided client selection for federated learning under non-IID data", 2026',
    leaves_out="OPTICS, in whose place clusters are what hangs together by short distances",
    reconstruction=True,
)
