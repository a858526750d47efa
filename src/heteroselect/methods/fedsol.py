from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import train

ENTRY = Entry(
    Method("fedsol", solver=train.FedSOL()),
    family="optimisation",
    summary="gradients where the proximal loss is higher",
    paper='Lee, Jeong, Kim, Oh, Yun, "FedSOL: Stabilized orthogonal learning with proximal restrictions in federated learning", CVPR 2024',
    leaves_out="its weight decay, and perturbing only the head or only the body",
)
