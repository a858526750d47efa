from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("fairfedcs", select=select.FairFedCS()),
    family="selection",
    summary="good reputation, and those who waited long",
    paper='Shi, Liu, Shi, Yu, "Fairness-aware client selection for federated learning", ICME 2023',
    leaves_out="Shapley values on validation data, which the server does not have: a contribution is good where an update points the same way as the others",
)
