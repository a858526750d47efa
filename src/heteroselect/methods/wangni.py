"""Gradient sparsification: coordinates are sent with chances that keep the variance low, without bias."""

from heteroselect.methods.entry import Entry
from heteroselect.parts.aggregate import Equal
from heteroselect.parts.allocate import UniformShare
from heteroselect.parts.compress import Wangni
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("wangni", allocate=UniformShare(), compress=Wangni(), weigh=Equal()),
    summary="coordinates sent with chances that keep the variance low, without bias",
    paper='Wangni, Wang, Liu, Zhang, "Gradient sparsification for communication-efficient distributed optimization", NeurIPS 2018',
)
