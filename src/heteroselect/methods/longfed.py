"""LongFed: cohorts that stand for everybody, while similar clients take part similarly often.

Reconstructed from the abstract (arXiv 2405.13584).
"""

from heteroselect.methods.entry import Entry
from heteroselect.parts.select import LongFed
from heteroselect.round.method import Method

ENTRY = Entry(
    Method("longfed", select=LongFed()),
    summary="cohorts that stand for everybody, while similar clients take part similarly often",
    paper='Li, Miao, Zhao, Zhou, Zhao, Ji, Zhou, Liu, "Emulating full participation: An effective and fair client selection strategy for federated learning", 2024',
    leaves_out="what of the authors' rule is not in the abstract",
    reconstruction=True,
)
