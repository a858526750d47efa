"""From settings to parts, for all methods that share them."""

from heteroselect.aggregate import ClientWeights, Running, ServerMomentum
from heteroselect.compress import EF21, ErrorMemory, MomentumMemory, NoMemory, TopK
from heteroselect.compress.qsgd import QSGD
from heteroselect.compress.random_k import RandomK
from heteroselect.compress.sign import Sign
from heteroselect.compress.stc import STC
from heteroselect.compress.terngrad import TernGrad
from heteroselect.compress.threshold import Threshold
from heteroselect.compress.wangni import Wangni
from heteroselect.method import Compressor, Memory, ServerStep, Weigher
from heteroselect.settings import CompressSettings, MethodSettings


def compressor(settings: CompressSettings) -> Compressor:
    others: dict[str, Compressor] = {
        "randomk": RandomK(settings.rounding, settings.randomk_scaled),
        "wangni": Wangni(),
        "qsgd": QSGD(settings.qsgd_levels, settings.qsgd_bucket),
        "terngrad": TernGrad(settings.terngrad_clip),
        "sign": Sign(settings.sign_scale, settings.sign_step),
        "stc": STC(settings.rounding),
        "threshold": Threshold(settings.threshold_sample),
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
    return ServerMomentum(settings.aggregate.momentum, settings.aggregate.rate)
