"""The kinds of parts that can be chosen by name, role by role: `method.select.kind = "oort"`."""

from typing import Any

from heteroselect.core.part import kind_of
from heteroselect.parts import aggregate, allocate, compress, score, select, train

_SHIPPED: dict[str, tuple[type, ...]] = {
    "score": (score.NoScore, score.Informativeness),
    "select": (
        select.Uniform,
        select.Everybody,
        select.Pool,
        select.Softmax,
        select.PowerOfChoice,
        select.Oort,
        select.DivFL,
        select.FedCG,
        select.FedCS,
        select.AdaSample,
        select.Clustered,
        select.Delta,
        select.Balanced,
        select.FedCor,
        select.RBCSF,
        select.FairFedCS,
        select.FedSTaS,
        select.FedLECC,
        select.LongFed,
        select.Reinforced,
    ),
    "second_selection": (select.SendAll, select.OptimalSampling),
    "allocate": (
        allocate.All,
        allocate.UniformShare,
        allocate.ScoreShare,
        allocate.Waterfill,
        allocate.FlexCom,
        allocate.OptRate,
        allocate.FedCG,
        allocate.Deadline,
        allocate.Price,
        allocate.FedBand,
    ),
    "lr": (train.SharedRate, train.ScoreRate, train.CosineRate),
    "local_steps": (train.EqualSteps, train.DeviceSteps),
    "solver": (train.SGD, train.Scaffold, train.FedDyn, train.FedSOL, train.Calibrated),
    "privacy": compress.PRIVACY,
    "error_feedback": compress.MEMORIES,
    "compress": compress.COMPRESSORS,
    "quantize": compress.VALUES,
    "async_mode": (aggregate.WaitForAll, aggregate.Buffer),
    "weigh": (
        aggregate.ByData,
        aggregate.Equal,
        aggregate.ByScore,
        aggregate.Inverse,
        aggregate.OneOfAll,
        aggregate.ByShare,
        aggregate.FedNova,
        aggregate.ByVariance,
    ),
    "aggregate": (
        aggregate.Mean,
        aggregate.Median,
        aggregate.TrimmedMean,
        aggregate.GeometricMedian,
        aggregate.MultiKrum,
        aggregate.Overlap,
    ),
    "server_optimizer": (
        aggregate.ServerSGD,
        aggregate.ServerMomentum,
        aggregate.LookAhead,
        aggregate.Adaptive,
        aggregate.Running,
        aggregate.Majority,
    ),
    "downlink": compress.DOWN,
    "outlier_filter": (aggregate.Screen,),
    "calibrate": (aggregate.Calibration,),
    "model_average": (aggregate.NoAverage, aggregate.ExponentialAverage, aggregate.TailAverage),
}

KINDS: dict[str, dict[str, Any]] = {
    role: {str(vars(kind)["kind"]): kind for kind in kinds} for role, kinds in _SHIPPED.items()
}
"""role → name → class"""


def is_shipped(role: str, part: object) -> bool:
    """Whether a part is one of this package, so that its role, its kind and its settings say all of it."""
    return KINDS[role].get(kind_of(part)) is type(part)
