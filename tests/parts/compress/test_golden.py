"""Payloads are to the bit those of the first version of the format: whoever changes one changes every run's bytes.

SHA-256 of nine payloads each, three for none, and of the masks that curvature keeps. They were written by the code
before codecs had files of their own, with zstandard as in constraints.txt; another zstd may find other bytes for the
same positions. Those of DRIVE are of the code that first sent a tail of fewer than 16 coordinates as it is,
those of ternary of the first that had it.
"""

import dataclasses
import hashlib
from typing import Any

import numpy as np
import pytest

from compressing import bowls
from heteroselect.parts.compress import (
    QSGD,
    STC,
    BFloat16,
    Curvature,
    Drive,
    Everything,
    Float16,
    Float32,
    RandomK,
    Sign,
    Ternary,
    TernGrad,
    Threshold,
    TopK,
    UniformValues,
    Wangni,
)
from heteroselect.parts.compress.wire import decode, encode

SIZES, ENDS = (1000, 1800, 200), [1000, 2800, 3000]
DENSITIES = (0.0123, 0.2, 1.0)


def vectors() -> list[np.ndarray]:
    """One with large coordinates, one that is mostly zero, and zero."""
    v = np.random.default_rng(7).normal(size=3000).astype(np.float32)
    v[:40] *= 100
    sparse = v.copy()
    sparse[300:2900] = 0
    return [v, sparse, np.zeros(3000, np.float32)]


COMPRESSORS: list[tuple[Any, str]] = [
    (Everything(), "3ce9b62073ac0bde09e018a6fea8cfac1b2d76f472adf238f239a1271f6bf220"),
    (TopK(), "838279f107351f410f32866e6654b6e55fdc8717fa9d4793a18728aebf22d04e"),
    (TopK("floor"), "ad875bfdb9d0d8e13675c946c8e46d920a9837c17f406f928344150fdea1d6fd"),
    (Curvature(1), "c37bcec4e1cefeda74b6f9bb88d7ce6cef5de8a65e4b20d035b447fc3b8db0a3"),
    (RandomK(), "8921c6862fcabc62e5c35687313db27dbbd34ac69b4ea86e37a870fb550711b5"),
    (Threshold(), "f31bc76c6bdebf58f173eeaea6eb363cb087f2b04d80eb7529cd479ac6c7009d"),
    (Wangni(), "80f52d13730a0211b06cd8f4e9dc2ea887a546e4b8294212900869dbba7f14db"),
    (QSGD(), "a0a4c95b0611c1b68c225860c87c061b44930260517e81c9ad60f8b0dee96493"),
    (QSGD(1, 64), "d519fdc7b23c520aa3f82ccbf8a663b8228302f2c71a7b124ab9bd6022b15feb"),
    (QSGD(127), "cf1d1504185f412ae6dfff3206edd8b29653c02a6c8cca60e62cf3980daea0a3"),
    (TernGrad(), "25fafba99552ee2e0843aac45344da2afecd2f40b3ae57510a07b13e91d7ccb9"),
    (TernGrad(0), "dd2d3c7e153a552f2caeb4f8030a63153c82b9a2d8f732de2bb2d736b6274286"),
    (Sign(), "cca85dd7d2968f752246aec88301ad69a7814499cfc4b0e94b97fc235cb93f0e"),
    (Sign("step", 0.01), "01421fd3f65a24f35dde05f9e0d82ea7d960e9655031038e2ff4b7aae56adeba"),
    (STC(), "94d34a522d38b7cb9c7a55bd6f95996521da8a9045ab39713303ea23df25ac2c"),
    (STC("ceil"), "75a3034afffc00a661d309331806db48afbfc0f668f0b52684ad02b86b65d57c"),
    (Drive(), "40ade51842336acd2b51b2daec2f81cd4bc24a63805505de0512a446cca7923d"),
    (Drive(4), "920366a7146400599b8314c108e227e3e8a063f70c13450d5f92bcf7adddd16f"),
    (Ternary(), "7840a590db75b4a8ca17da947196a6372b0687e02d7b066a7bd86d2d0613fc9d"),
    (Ternary(8, "energy"), "feb1482a74af9612f4c357e0f9816bd6a55279a3eca4d0242eaea489866810d5"),
]
VALUES: list[tuple[Any, str]] = [
    (Float32(), "838279f107351f410f32866e6654b6e55fdc8717fa9d4793a18728aebf22d04e"),
    (Float16(), "bcc6744d8cadc7ce8898dc257186e55c40916b73a6ea420db8664742f1e2b13b"),
    (BFloat16(), "199e9a47b68f25d6c04097efa2edc109e3b740e042ea5b2d25d3515e790c8d1c"),
    (UniformValues(2, "random"), "43c5c3c090db805e874838cae9e539a4b0d89881f7660a55cf1f3adc28d6cf9e"),
    (UniformValues(2, "nearest"), "787e822f9e0b773947523477672caa0824997f45094f8d2668ecbdeb569f01e7"),
    (UniformValues(3, "random"), "e9badb9344e9eb67319b70b81c6f6cd4f30a0f7eff8c269457a4460819848df0"),
    (UniformValues(3, "nearest"), "d59cecc12b4005e2a02a0ac4609870938dc290eec2f1b2b93a170d140bff8c38"),
    (UniformValues(4, "random"), "aca948ea8c6981784aa34cf34916203d4832042338cc19f44c8e00b6def9e9a9"),
    (UniformValues(4, "nearest"), "e6d20cc3c64924b14f7e01efdea4f835f2136c56debb560a64505c2bd0d932bc"),
    (UniformValues(8, "random"), "ae30fa72d16b018afd28adecb5d8ab95c5ee8836e22cd5065219b4b449365225"),
    (UniformValues(8, "nearest"), "649fb826acbedd8f4ca8aba0ca299770d8cb2ae64de2adf9f20a5794a06a5426"),
]


@pytest.mark.parametrize(("part", "digest"), COMPRESSORS, ids=lambda one: str(one)[:40])
def test_what_a_compressor_sends(part: Any, digest: str) -> None:
    found, context = hashlib.sha256(), dataclasses.replace(bowls(*SIZES, seed=5), rng=np.random.default_rng(3))
    for v in vectors():
        for density in DENSITIES if part.kind != "none" else (1.0,):
            update, state = part.compress(v, density, context)
            payload = encode(update, ENDS)
            assert encode(decode(payload, 3000), ENDS) == payload
            for data in (payload, *(array.tobytes() for array in state.values())):
                found.update(data)
            context = dataclasses.replace(context, state=state)
    assert found.hexdigest() == digest


@pytest.mark.parametrize(("part", "digest"), VALUES, ids=lambda one: str(one)[:40])
def test_what_values_are_sent_as(part: Any, digest: str) -> None:
    found, context, rng = hashlib.sha256(), bowls(*SIZES), np.random.default_rng(11)
    for v in vectors():
        for density in DENSITIES:
            update = part.apply(TopK().compress(v, density, context)[0], ENDS, rng)
            found.update(encode(update, ENDS))
    assert found.hexdigest() == digest
