"""FairFedCS: clients of good reputation, and those who have waited long."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.select import FairFedCS
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fairfedcs", select=FairFedCS()),
    summary="clients of good reputation, and those who have waited long",
    paper='Shi, Liu, Shi, Yu, "Fairness-aware client selection for federated learning", ICME 2023',
    leaves_out="Shapley values on validation data, which the server does not have: a contribution is good where an update points the same way as the others",
)
