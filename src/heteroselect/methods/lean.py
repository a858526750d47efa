"""Lean: devices work for equal times, start where the momentum leads and send an unbiased bit (our own).

DRIVE (Vargaftik et al., "DRIVE: One-bit distributed mean estimation", NeurIPS 2021) with FedACG's look-ahead. The rest
is plain SGD, a uniform draw and a plain mean: nothing is scored, nobody has to be asked, and clients remember nothing.
The idea: the mean of the cohort's updates matters, not each one. An unbiased bit a coordinate has an error that falls
with the number of clients; the largest coordinates alone leave out what all clients have a little of.
"""

from dataclasses import replace
from typing import Any

from heteroselect.method import Method
from heteroselect.methods import drive, parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = {
    **drive.SETTINGS,
    "method.train.steps": 17,  # of a device of median speed: about five seconds in the paper's world
    "method.train.steps_rule": "device",
    "method.train.momentum": 0.0,
    "method.train.rate": 0.2,
    "method.train.rate_decay": 1.0,
    "method.aggregate.lookahead": True,
    "method.aggregate.momentum": 0.8,
}


def build(settings: MethodSettings) -> Method:
    return replace(parts.assemble(settings), select=Uniform())
