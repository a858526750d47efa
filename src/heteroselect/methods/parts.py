"""From settings to parts, for all methods that share them."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from heteroselect.aggregate import Calibration, ClientWeights, LookAhead, Running, Screen, ServerMomentum
from heteroselect.allocate import Allocator, Budget
from heteroselect.compress import EF21, ErrorMemory, MomentumMemory, NoMemory, TopK, ValueCoding
from heteroselect.compress.drive import Drive
from heteroselect.compress.qsgd import QSGD
from heteroselect.compress.random_k import RandomK
from heteroselect.compress.sign import Sign
from heteroselect.compress.stc import STC
from heteroselect.compress.terngrad import TernGrad
from heteroselect.compress.threshold import Threshold
from heteroselect.compress.wangni import Wangni
from heteroselect.errors import HeteroSelectError
from heteroselect.method import Compressor, Memory, Method, ServerStep, Weigher
from heteroselect.score import Informativeness
from heteroselect.select import Softmax
from heteroselect.settings import CompressSettings, MethodSettings
from heteroselect.train import FedProx, Rate, Steps

PLAIN: dict[str, Any] = {
    "method.score.loss_weight": 0.0,
    "method.score.diversity_weight": 0.0,
    "method.score.fairness_weight": 0.0,
    "method.score.staleness_weight": 0.0,
    "method.allocate.rule": "uniform",
    "method.allocate.ceiling": "none",
    "method.allocate.average": 1.0,
    "method.allocate.amplitude": 0.0,
    "method.allocate.warmup_rounds": 0,
    "method.train.proximal": 0.0,
    "method.compress.memory": "none",
    "method.compress.curvature_layers": 0,
    "method.aggregate.weights": "data",
    "method.aggregate.momentum": 0.0,
}
"""What the rivals start from: FedAvg. Nobody is asked for a loss, everything is sent, data sizes weigh, and the local
SGD is the same for all methods."""

SPARSE: dict[str, Any] = {
    **PLAIN,
    "method.allocate.average": 0.2,
    "method.allocate.floor": 0.005,
}
"""The same with a fifth of every update on average, as HeteRo-Select sends."""

P = TypeVar("P")


def tuned(part: P, settings: MethodSettings, fixed: Sequence[str] = ()) -> P:
    """The part that makes a method what it is, with the user's `method.options` laid over its defaults; `fixed` are
    the fields that other settings decide."""
    assert is_dataclass(part)
    assert not isinstance(part, type)
    hints = get_type_hints(type(part))
    known = {field.name: hints[field.name] for field in fields(part) if field.name not in fixed}
    for name, value in settings.options.items():
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise HeteroSelectError(
                f"method.options.{name}: {settings.name} has no such option; allowed are {allowed}."
            )
        try:
            checked = TypeAdapter(known[name]).validate_python(value)
            if isinstance(checked, float | int) and not 0 <= checked < float("inf"):
                raise ValueError
        except ValueError:
            kind = known[name]
            words = ", ".join(map(str, get_args(kind))) if get_origin(kind) is Literal else "a number ≥ 0"
            raise HeteroSelectError(f"method.options.{name}: allowed is {words}, not {value!r}.") from None
        part = replace(part, **{name: checked})
    return part


def assemble(settings: MethodSettings) -> Method:
    """Each part as the settings say."""
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
        steps=Steps(train.steps_rule),
        memory=memory(compress),
        compress=compressor(compress),
        values=ValueCoding(compress.values, compress.values_bucket, compress.values_rounding),
        weigh=weigher(settings),
        server=server(settings),
        screen=Screen(aggregate.norm_bound),
        calibrate=Calibration(
            aggregate.calibration_batches, aggregate.calibration_clients, aggregate.calibration_split
        ),
    )


def compressor(settings: CompressSettings) -> Compressor:
    others: dict[str, Compressor] = {
        "randomk": RandomK(settings.rounding, settings.randomk_scaled),
        "wangni": Wangni(),
        "qsgd": QSGD(settings.qsgd_levels, settings.qsgd_bucket),
        "terngrad": TernGrad(settings.terngrad_clip),
        "sign": Sign(settings.sign_scale, settings.sign_step),
        "stc": STC(settings.rounding),
        "threshold": Threshold(settings.threshold_sample),
        "drive": Drive(settings.drive_exponent),
    }
    if settings.kind != "topk":
        return others[settings.kind]
    return TopK(
        layers=settings.curvature_layers,
        exploration=settings.curvature_exploration,
        probes=settings.curvature_probes,
        floor=settings.curvature_floor,
        ranking=settings.curvature_ranking,
        probe_scope=settings.curvature_scope,
        damping=settings.curvature_damping,
        rounding=settings.rounding,
    )


def memory(settings: CompressSettings) -> Memory:
    if settings.memory == "none":
        return NoMemory()
    if settings.memory == "ef21":
        return EF21()
    if settings.memory == "momentum":
        return MomentumMemory(settings.memory_momentum)
    return ErrorMemory(settings.decay, settings.decay_min, settings.decay_max, settings.decay_static)


def weigher(settings: MethodSettings) -> Weigher:
    """EF21 sums over all clients, the absent ones included: each of them is one of K."""
    if settings.compress.memory == "ef21":
        return ClientWeights("everybody")
    return ClientWeights(settings.aggregate.weights, settings.aggregate.weight_floor)


def server(settings: MethodSettings) -> ServerStep:
    if settings.compress.memory == "ef21":
        return Running(settings.aggregate.rate)
    kind = LookAhead if settings.aggregate.lookahead else ServerMomentum
    return kind(settings.aggregate.momentum, settings.aggregate.rate)


def refuse_uneven(settings: MethodSettings) -> None:
    """The corrections of SCAFFOLD and FedDyn add up only where all clients do the same and count the same."""
    for key, value, allowed in (
        ("train.steps_rule", settings.train.steps_rule, "equal"),
        ("train.rate_rule", settings.train.rate_rule, "shared"),
        ("aggregate.weights", settings.aggregate.weights, "uniform"),
    ):
        if value != allowed:
            raise HeteroSelectError(f"method.{key}: allowed with {settings.name} is {allowed}, not {value}.")
