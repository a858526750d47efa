from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, select

ENTRY = Entry(
    Method("delta", select=select.Delta(), weigh=aggregate.ByShare()),
    family="selection",
    summary="draws by how far an update is from the mean",
    paper='Wang, Xu, Xu, Xiang, Chen, Ding, Wang, "DELTA: Diverse client sampling for fasting federated learning", NeurIPS 2023',
    leaves_out="the variance of mini-batches, which counts as 0 unless method.select.variance is true; and a gradient of "
    "every client per round, in whose place its last update stands (the paper's practical version)",
)
