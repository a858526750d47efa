"""DELTA: clients drawn by how far their updates are from the mean, and weighed by one over that chance."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import ByShare
from heteroselect.parts.select import Delta
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("delta", select=Delta(), weigh=ByShare()),
    summary="clients drawn by how far their updates are from the mean",
    paper='Wang, Xu, Xu, Xiang, Chen, Ding, Wang, "DELTA: Diverse client sampling for fasting federated learning", NeurIPS 2023',
    leaves_out="the variance of mini-batches, which counts as 0 unless method.select.variance is true; and a gradient of "
    "every client per round, in whose place its last update stands (the paper's practical version)",
)
