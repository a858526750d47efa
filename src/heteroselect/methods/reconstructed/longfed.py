"""The abstract is arXiv 2405.13584."""

from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("longfed", select=select.LongFed()),
    family="selection",
    summary="representative cohorts, equal turns among alike",
    paper='Li, Miao, Zhao, Zhou, Zhao, Ji, Zhou, Liu, "Emulating full participation: An effective and fair client selection strategy for federated learning", 2024',
    leaves_out="what of the authors' rule is not in the abstract",
)
