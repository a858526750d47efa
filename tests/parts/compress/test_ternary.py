"""Ternary: right on average for any vector, the error that the theory gives at the bytes that are sent, and less of it
where bits go to the blocks that moved."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from compressing import HEADER, assert_same, compress_context, fields_of, forged, normal, spikes
from heteroselect.core.update import Update
from heteroselect.parts.compress import Drive
from heteroselect.parts.compress.codecs.ternary import Order
from heteroselect.parts.compress.rotation import Rotation, _signs
from heteroselect.parts.compress.ternary import FEWEST, Ternary, by_energy, cost, equally, quotas
from heteroselect.parts.compress.wire import WireError, decode, encode

pytestmark = pytest.mark.slow  # they draw and code vectors of a million


def sent(v: np.ndarray, density: float, part: Ternary | None = None, seed: int = 0) -> Update:
    return (part or Ternary()).compress(v, density, compress_context(4, seed=seed))[0]


def error(update: Update, v: np.ndarray) -> float:
    """Squared, over that of the vector."""
    gap = update.values.astype(np.float64) - v
    return float(np.sum(gap * gap) / np.sum(v.astype(np.float64) ** 2))


@pytest.mark.parametrize(("bits", "expected"), [(1.0, 0.534), (0.5, 1.61), (0.25, 3.75), (0.1, 9.93)])
def test_the_error_is_that_of_the_theory_at_the_bytes_that_are_sent(bits: float, expected: float) -> None:
    v = normal(2**20)
    update = sent(v, bits)
    assert 8 * len(encode(update)) / v.size == pytest.approx(bits, rel=0.015)
    assert error(update, v) == pytest.approx(expected, rel=0.03)


def test_the_cost_of_a_block_by_hand() -> None:
    """The quarter of 1024 beyond 1.1503: 256 signs, 1024·h(1/4) = 830.74 bits of places, a scale; φ(1.1503) = 0.20586
    and 0.25/(2·0.20586)² = 1.4749."""
    bits, gap = cost(1024, 256)
    assert bits == pytest.approx(256 + 1024 * (2 - 0.75 * math.log2(3)) + 32, abs=1e-3)
    assert gap == pytest.approx(0.4749, abs=1e-4)


def test_by_hand() -> None:
    """R = (HD₂/16)(HD₁/16) as matrices, the largest of Rx as signs times ‖x‖²/Σ_kept|Rx|, and Rᵀ."""
    x = np.arange(1.0, 257)
    update = sent(x.astype(np.float32), 0.5)
    transform = hadamard(256) / 16
    first, second = _signs(update.coded.rotation.seed, 256)
    y = transform @ (second * (transform @ (first * x)))
    kept = update.coded.positions.size
    assert cost(256, kept)[0] <= 128 < cost(256, kept + 1)[0]
    largest = np.argsort(-np.abs(y))[:kept]
    assert update.coded.positions.tolist() == np.sort(largest).tolist()
    coded = np.zeros(256)
    coded[largest] = np.sign(y[largest]) * 5625216 / np.abs(y[largest]).sum()  # 1² + … + 256²
    expected = first * (transform @ (second * (transform @ coded)))
    np.testing.assert_allclose(update.values, expected, rtol=1e-4, atol=1e-2)


def unequal(size: int) -> np.ndarray:
    return normal(size) * np.repeat(np.array([3, 0.1], np.float32), size // 2)


@pytest.mark.parametrize("spread", ["equal", "energy"])
@pytest.mark.parametrize("make", [normal, spikes, unequal])
def test_it_is_without_bias(make, spread: str) -> None:
    """The mean of many is as far from the vector as chance explains, in every half: a scale over several blocks, or
    over what is kept alone, fails here."""
    v, context, part = make(1024), compress_context(4), Ternary(9, spread)
    copies = np.tile(v, 64)  # each with a rotation of its own
    got = np.concatenate([part.compress(copies, 0.3, context)[0].values.reshape(64, -1) for _ in range(24)])
    got, count = got.astype(np.float64), len(got)
    for half in (slice(0, 512), slice(512, 1024)):
        off, chance = got[:, half].mean(0) - v[half], np.sqrt(np.sum(got[:, half].var(0)) / count)
        assert np.linalg.norm(off) < 1.25 * chance
    assert (np.abs(got.mean(0) - v) / (got.std(0) / np.sqrt(count))).max() < 5


@pytest.mark.parametrize("spread", ["equal", "energy"])
def test_what_arrives_of_a_block_is_as_long_along_it_as_it_should_be(spread: str) -> None:
    v = unequal(3000)
    update = sent(v, 0.2, Ternary(9, spread))
    ends = np.cumsum(update.coded.rotation.blocks)
    for a, b in zip(ends - update.coded.rotation.blocks, ends, strict=True):
        assert np.dot(update.values[a:b], v[a:b]) == pytest.approx(np.dot(v[a:b], v[a:b]), rel=1e-3)


@pytest.mark.parametrize("size", [2, 18, 284, 511])
def test_the_tail_is_sent_as_it_is_and_small_blocks_with_all_signs(size: int) -> None:
    v = normal(size)
    update = sent(v, 0.05)
    assert (update.values[size // 16 * 16 :] == v[size // 16 * 16 :]).all()
    left = size % 256 // 16 * 16
    assert update.coded.signs.size - update.coded.positions.size == left


# Bits where the energy is


@st.composite
def layers(draw: st.DrawFn) -> np.ndarray:
    """Eight blocks of lengths that differ by four times at least, one of which may not have moved at all."""
    lengths = draw(st.lists(st.floats(0.01, 1.0), min_size=7, max_size=7))
    lengths += [4 * max(lengths)]
    lengths[draw(st.integers(0, 6))] *= draw(st.sampled_from([0.0, 1.0]))
    return normal(8 * 4096, draw(st.integers(0, 99))) * np.repeat(np.array(lengths, np.float32), 4096)


@given(layers(), st.sampled_from([0.1, 0.3, 0.6]))
@settings(deadline=None, max_examples=12)
def test_bits_by_energy_leave_less_error_at_the_same_bytes(v: np.ndarray, density: float) -> None:
    energy = sent(v, density, Ternary(12, "energy"))
    moved = float(np.mean(v.reshape(8, -1).any(axis=1)))
    equal = sent(v, density / moved, Ternary(12))  # which gives a block that does not move nothing either
    assert len(encode(energy)) <= 1.02 * len(encode(equal)) + 100  # a table of the classes
    assert error(energy, v) < 0.97 * error(equal, v)


def test_the_price_is_the_same_everywhere() -> None:
    """No pair of blocks could exchange bits and gain: more for one at no more than the other saves."""
    blocks, energies = np.full(40, 4096), np.geomspace(1e-4, 1.0, 40)
    bits = 0.3 * blocks.sum()
    shares = by_energy(blocks, energies, bits)
    assert (np.diff(shares) >= 0).all()
    spent = sum(cost(4096, max(FEWEST, 4096 * int(s) >> 16))[0] for s in shares)
    assert 0.98 * bits <= spent <= bits
    total = sum(e * cost(4096, max(FEWEST, 4096 * int(s) >> 16))[1] for s, e in zip(shares, energies, strict=True))
    equal = cost(4096, 4096 * int(equally(blocks, bits)[0]) >> 16)[1] * energies.sum()
    assert total < 0.6 * equal
    up, down = (np.array([cost(4096, max(FEWEST, 4096 * int(s * f) >> 16)) for s in shares]) for f in (1.4, 1 / 1.4))
    context = np.array([cost(4096, max(FEWEST, 4096 * int(s) >> 16)) for s in shares])
    gain = (energies * (context - up)[:, 1] / (up - context)[:, 0])[shares < 1 << 15]
    movable = context[:, 0] > down[:, 0]
    loss = (energies * (down - context)[:, 1])[movable] / (context - down)[movable, 0]
    assert gain.max() < 1.1 * loss.min()


@pytest.mark.parametrize("blocks", [[4096], [4096, 2048, 1024, 512], [16384] * 6])
def test_of_blocks_that_moved_alike_none_loses_by_the_price(blocks: list[int]) -> None:
    """The price knows a few shares only: all equal blocks take the next lower one, and leave bits unused."""
    sizes, energies = np.array(blocks), np.array(blocks, float)

    def lost(spread: str) -> float:
        kept, _ = quotas(sizes, energies, 0.25 * sizes.sum(), spread)
        return sum(energy * cost(int(b), int(k))[1] for b, energy, k in zip(sizes, energies, kept, strict=True))

    assert lost("energy") <= lost("equal")


def test_layers_that_hardly_move_cost_hardly_anything() -> None:
    v = normal(2**16)
    v[2**15 :] *= 1e-4
    whole, half = (len(encode(sent(one, 0.2, Ternary(12, "energy")))) for one in (v, v[: 2**15]))
    assert whole <= 1.02 * 2 * half
    classes = sent(v, 0.2, Ternary(12, "energy")).coded
    kept = np.bincount(Order(classes.rotation, classes.classes).places(classes.positions) // 4096)
    assert (kept[8:] == FEWEST).all()
    v[2**15 :] = 0
    assert (sent(v, 0.2, Ternary(12, "energy")).coded.classes[8:] == 0).all()


# The wire


@pytest.mark.parametrize("size", [1, 16, 300, 700, 5000])
@pytest.mark.parametrize("part", [Ternary(), Ternary(8, "energy")], ids=str)
def test_every_bit_comes_back(size: int, part: Ternary) -> None:
    v = normal(size)
    v[: size // 3] = 0
    for density in (1.0, 0.1, 0.005):
        update = sent(v, density, part)
        assert_same(decode(encode(update), size), update)
        assert encode(decode(encode(update), size)) == encode(update)


def test_the_bytes_are_those_of_the_format() -> None:
    """Two blocks of 256, the first of them zero, one of 32, and a tail of one: classes 0, 1 and 1."""
    v = np.concatenate([np.zeros(256), normal(289)]).astype(np.float32)
    update = sent(v, 0.3, Ternary(8))
    coded, payload = update.coded, encode(update)
    positions = fields_of(payload)["buckets"]
    assert payload[HEADER : HEADER + 9] == struct.pack("<QB", coded.rotation.seed, 8)
    assert payload[HEADER + 10] == 0b01100000
    assert payload[HEADER + 11 : HEADER + 19] == coded.scales.astype("<f4").tobytes()
    assert payload[-4:] == v[-1:].tobytes()
    signs = coded.positions.size + 32
    assert len(payload) == HEADER + 10 + 1 + 8 + positions + -(-signs // 8) + 4


def test_what_cannot_be_is_refused() -> None:
    update = sent(unequal(3000), 0.45, Ternary(8, "energy"))
    payload = encode(update)
    steps = fields_of(payload)["steps"]
    start = HEADER + 10 + -(-len(update.coded.classes) * steps.bit_length() // 8)
    assert_same(decode(forged(payload, b"\x08", HEADER + 8), 3000), update)
    for exponent in (0, 7, 9, 16, 17, 255):
        with pytest.raises(WireError, match=r"rotation is not|does not hold|cut short"):
            decode(forged(payload, bytes([exponent]), HEADER + 8), 3000)
    for scale in (math.nan, math.inf, -1.0):
        with pytest.raises(WireError, match="scales cannot be"):
            decode(forged(payload, struct.pack("<f", scale), start), 3000)
    with pytest.raises(WireError, match="not finite"):
        decode(forged(payload, struct.pack("<f", math.nan), len(payload) - 4), 3000)
    lies = [{"kept": 3000}, {"kept": 1}, {"steps": 0}, {"steps": 255}, {"buckets": 0}, {"buckets": 2**32 - 1}]
    for lie in lies:
        with pytest.raises(WireError):
            decode(forged(payload, **lie), 3000)
    # of two bits each, so that all lengths fit where the header says a class too many, or one class is another
    assert update.coded.classes[0] == update.coded.classes.max() == steps == 2
    another = forged(payload, bytes([payload[HEADER + 10] | 0b01000000]), HEADER + 10)
    for other in (forged(payload, steps=3), another):
        with pytest.raises(WireError, match="does not hold"):
            decode(other, 3000)


def test_positions_sorted_by_class_find_their_way_back() -> None:
    """Blocks of 256, 256 and 256 with classes 2, 1 and 2, then 32 with all signs: 1 comes first."""
    order = Order(Rotation(800, 0, 8), np.array([2, 1, 2, 1], np.uint8))
    assert order.segments() == [256, 768]
    assert order.places(np.array([0, 255, 256, 512, 767])).tolist() == [256, 511, 0, 512, 767]
    assert order.full.tolist() == list(range(768, 800))


def test_it_knows_how_far_off_it_is() -> None:
    """The figures of the table in the module's first lines, worked out for an endless normal vector."""
    part = Ternary(exponent=16)
    for bits, expected in ((1.0, 0.534), (0.5, 1.61), (0.25, 3.75), (0.1, 9.93)):
        assert part.variance(bits) == pytest.approx(expected, rel=0.01)
        assert part.variance(bits) < Drive().variance(bits)
    with_scales = [Ternary().variance(bits) for bits in (0.5, 0.25, 0.1)]  # of blocks of 2¹⁴, as docs/beyond.md says
    assert with_scales == pytest.approx([1.62, 3.78, 10.1], rel=0.005)
    falling = np.array([part.variance(bits) for bits in np.linspace(0.05, 1, 100)])
    assert (np.diff(falling) < 0).all()
    assert (np.diff(falling, 2) > -1e-6).all(), "it is convex"


def bound(bits: float) -> float:
    """No code of R bits per coordinate leaves a normal vector less than D = 2^(−2R) of its energy as error (Shannon).
    What an unbiased one of error V decodes could be shrunk by c, to the error (1 − c)² + c²V; its least, V/(1 + V),
    is no less than D, so that V is no less than D/(1 − D)."""
    least = 2.0 ** (-2 * bits)
    return least / (1 - least)


def test_no_unbiased_coder_has_less_than_the_bound_and_this_one_has_less_than_1_7_times_as_much() -> None:
    """The figures of the module's first lines and of docs/beyond.md."""
    assert [bound(bits) for bits in (1.0, 0.5, 0.25, 0.1)] == pytest.approx([0.333, 1.00, 2.41, 6.73], abs=0.005)
    shrunk = np.linspace(0, 1, 10**4 + 1)
    for bits in np.geomspace(0.01, 1.0, 60).tolist():
        best = bound(bits)
        assert np.min((1 - shrunk) ** 2 + shrunk**2 * best) == pytest.approx(2.0 ** (-2 * bits), rel=1e-6)
        for exponent in (14, 16):
            assert 1.4 * best < Ternary(exponent).variance(bits) < 1.7 * best


@pytest.mark.parametrize(("exponent", "least"), [(14, 0.0085), (8, 0.357)])
def test_below_eight_of_a_block_a_lower_density_saves_nothing(exponent: int, least: float) -> None:
    """As the docstring says; above it the error falls at once."""
    part, v = Ternary(exponent), normal(2**16)
    assert cost(2**exponent, FEWEST)[0] / 2**exponent == pytest.approx(least, rel=0.01)
    assert len(encode(sent(v, 0.2 * least, part))) == len(encode(sent(v, least, part)))
    assert len(encode(sent(v, 1.3 * least, part))) > 1.1 * len(encode(sent(v, least, part)))
    assert part.variance(0.2 * least) == part.variance(0.99 * least) > part.variance(1.1 * least)


@pytest.mark.parametrize(("size", "density", "times"), [(7850, 1.0, 1.1), (7850, 0.1, 2.0), (1_000_000, 0.1, 1.0)])
def test_what_comes_on_top_of_the_density_is_about_a_hundred_bytes(size: int, density: float, times: float) -> None:
    """As docs/wire.md and the list of settings say."""
    taken = len(encode(sent(normal(size), density)))
    assert taken / (density * size / 8) == pytest.approx(times, abs=0.05)
    assert taken - density * size / 8 < 120
