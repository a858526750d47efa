"""Gradient sparsification: coordinates are sent with chances that keep the variance low, without bias."""

from heteroselect.aggregate import Equal
from heteroselect.allocate import UniformShare
from heteroselect.compress import Wangni
from heteroselect.method import Method
from heteroselect.methods.entry import Entry

ENTRY = Entry(
    Method("wangni", allocate=UniformShare(), compress=Wangni(), weigh=Equal()),
    summary="coordinates sent with chances that keep the variance low, without bias",
    paper='Wangni, Wang, Liu, Zhang, "Gradient sparsification for communication-efficient distributed optimization", NeurIPS 2018',
)
