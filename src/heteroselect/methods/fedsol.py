"""FedSOL: local gradients are taken where the proximal loss is higher, so that steps hurt it less."""

from heteroselect.method import Method
from heteroselect.methods.entry import Entry
from heteroselect.train import FedSOL

ENTRY = Entry(
    Method("fedsol", train=FedSOL()),
    summary="local gradients are taken where the proximal loss is higher, so that steps hurt it less",
    paper='Lee, Jeong, Kim, Oh, Yun, "FedSOL: Stabilized orthogonal learning with proximal restrictions in federated learning", CVPR 2024',
    leaves_out="its weight decay, and perturbing only the head or only the body",
)
