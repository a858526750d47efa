"""HeteRo-Select: one informativeness score decides who speaks, how much, and how loudly.

Masud, Jahin, Hasan, "HeteRo-Select: Informativeness as the Participation Driver in Heterogeneous Federated
Learning". `heteroselect` is the paper's text with its recommended shared learning rate. `heteroselect-as-run`
is what produced the authors' logs and Table I: the same parts with the settings below.
"""

from typing import Any

from heteroselect.aggregate import Calibration, Screen
from heteroselect.allocate import Allocator, Budget
from heteroselect.compress import ValueCoding
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.score import Informativeness
from heteroselect.select import Softmax
from heteroselect.settings import MethodSettings
from heteroselect.train import FedProx, Rate

AS_RUN: dict[str, Any] = {
    "data.variant": "authors",
    "method.score.augmented": True,
    "method.score.constant": 1.0,
    "method.score.fairness_start": 1.0,
    "method.score.raw_staleness": True,
    "method.allocate.warmup": "allocated",
    "method.train.rate_rule": "score",
    "method.compress.rounding": "floor",
    "method.aggregate.calibration_split": "in-turn",
}


def build(settings: MethodSettings) -> Method:
    score, allocate = settings.score.model_dump(), settings.allocate.model_dump()
    cells, warmup = score.pop("sketch_cells"), allocate.pop("warmup")
    train, compress, aggregate = settings.train, settings.compress, settings.aggregate
    return Method(
        name=settings.name,
        consensus_keep=score.pop("consensus_keep"),
        sketch=cells if score.pop("diversity_input") == "sketch" else 0,
        keep_unweighted=compress.keep_unweighted,
        score=Informativeness(**score),
        select=Softmax(**settings.select.model_dump()),
        allocate=Allocator(
            rule=allocate.pop("rule"),
            ceiling=allocate.pop("ceiling"),
            warmup="full" if warmup == "full" else "allocated",
            minimum=allocate.pop("minimum"),
            budget=Budget(**allocate, ramp=warmup == "ramp"),
        ),
        rate=Rate(train.rate, train.rate_decay, train.rate_rule, train.rate_cap),
        train=FedProx(train.steps, train.batch, train.momentum, train.proximal, train.clip),
        memory=parts.memory(compress),
        compress=parts.compressor(compress),
        values=ValueCoding(compress.values, compress.values_bucket, compress.values_rounding),
        weigh=parts.weigher(settings),
        server=parts.server(settings),
        screen=Screen(aggregate.norm_bound),
        calibrate=Calibration(
            aggregate.calibration_batches, aggregate.calibration_clients, aggregate.calibration_split
        ),
    )
