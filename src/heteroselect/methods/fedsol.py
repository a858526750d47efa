"""FedSOL: local gradients are taken where the proximal loss is higher, so that steps hurt it less."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.train import FedSOL
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("fedsol", solver=FedSOL()),
    summary="local gradients are taken where the proximal loss is higher, so that steps hurt it less",
    paper='Lee, Jeong, Kim, Oh, Yun, "FedSOL: Stabilized orthogonal learning with proximal restrictions in federated learning", CVPR 2024',
    leaves_out="its weight decay, and perturbing only the head or only the body",
)
