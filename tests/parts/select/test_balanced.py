"""The balanced draw: exact chances, a fixed size, and clients that are alike seldom together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose

from heteroselect.core.conditions import Conditions
from heteroselect.core.moment import Moment
from heteroselect.core.population import Population
from heteroselect.core.update import Update
from heteroselect.parts.select import Balanced, SelectionContext
from heteroselect.parts.select.balanced import FLOOR, components, stood
from heteroselect.parts.select.pivotal import FEW, chances, nearest, play, spread, tree_order

RANDOM = settings(max_examples=60, deadline=None, derandomize=True)
CHANCE = st.floats(0.001, 0.999)


def situation(vectors=None, *, clients=20, size=5, seed=0, **more):
    """Clients of 10 examples, some of whom have sent a vector."""
    uploads = {k: Update.whole(np.array(v, np.float32)) for k, v in (vectors or {}).items()}
    population = replace(Population.new(np.full(clients, 10)), uploads=uploads, **more)
    return SelectionContext(Moment(6, 20), np.arange(clients), population, size, default_rng(seed))


# Chances


@given(
    weights=st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=1, max_size=30),
    part=st.floats(0, 1),
    floor=st.floats(0.01, 1),
)
@RANDOM
def test_chances_add_up_stay_between_their_bounds_and_are_in_proportion_there(weights, part, floor):
    weights = np.array(weights)
    size = max(1, round(part * len(weights)))
    found = chances(weights, size, floor)
    least = floor * size / len(weights)
    assert found.sum() == pytest.approx(size, rel=1e-9)
    assert ((found >= least * (1 - 1e-12)) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(weights, kind="stable")]) >= 0).all()
    free = (found > least * (1 + 1e-9)) & (found < 1 - 1e-9) & (weights > 1e-9 * weights.max())
    if free.any():
        ratios = found[free] / weights[free]
        assert_allclose(ratios, ratios[0], rtol=1e-9)


def test_chances_by_hand():
    # the last is in for sure, the first at the floor of 0.2·2/4: the others share 0.9
    assert_allclose(chances(np.array([0.0, 1.0, 1.0, 8.0]), 2, 0.2), [0.1, 0.45, 0.45, 1.0])
    assert chances(np.zeros(4), 2, 0.2).tolist() == [0.5] * 4
    assert chances(np.arange(4.0), 4, 0.2).tolist() == [1.0] * 4
    for bad in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="weight"):
            chances(np.array([1.0, bad]), 1, 0.2)
    with pytest.raises(ValueError, match="cannot be drawn"):
        chances(np.ones(2), 3, 0.2)


def test_only_speeds_need_links():
    assert Balanced().traits.needs == {"uploads"}
    assert Balanced(speed=1).traits.needs == {"uploads", "links"}


# The pivotal method


@given(one=CHANCE, other=CHANCE)
@RANDOM
def test_a_play_decides_one_of_two_and_keeps_both_chances_on_average(one, other):
    """Exactly: the first wins on a known part of all luck."""
    both = one + other
    part = (1 - other) / (2 - both) if both > 1 else one / both
    won = play(np.array([one]), np.array([other]), np.array([part * (1 - 1e-9)]))
    lost = play(np.array([one]), np.array([other]), np.array([min(part * (1 + 1e-9), 1.0)]))
    for place, before in enumerate((one, other)):
        assert part * won[place][0] + (1 - part) * lost[place][0] == pytest.approx(before)
    for after in (won, lost):
        assert after[0][0] + after[1][0] == pytest.approx(both)
        assert min(after[0][0], after[1][0]) == 0 or max(after[0][0], after[1][0]) == 1


def groups(count, rng, of=20, size=5):
    """So many groups of 20, far from each other; in each the same chances, which add up to 5."""
    chance = chances(default_rng(1).exponential(size=of), size, 0.2)
    centres = 1e4 * rng.standard_normal((count, 1, 2))
    return chance, (centres + default_rng(2).standard_normal((of, 2))).reshape(-1, 2)


@pytest.mark.slow  # a hundred thousand draws
def test_everybody_is_drawn_exactly_as_often_as_it_should_be():
    """A group whose chances add up to a whole number decides among itself: one draw of 5,000 groups is 5,000 draws."""
    rng, draws, counts = default_rng(3), 0, np.zeros(20)
    while draws < 10**5:
        chance, places = groups(5000, rng)
        drawn = spread(np.tile(chance, 5000), places, rng)
        assert len(drawn) == 5 * 5000
        counts += np.bincount(drawn % 20, minlength=20)
        draws += 5000
    error = np.sqrt(chance * (1 - chance) / draws)
    assert 0.04 < chance.min() < 0.1 < 0.5 < chance.max()  # from the floor to far above it
    assert (abs(counts / draws - chance) <= 4 * error + 1e-12).all()


@pytest.mark.slow  # twenty thousand draws
def test_one_cohort_after_another_has_everybody_exactly_as_often_as_it_should_be():
    """Of so few clients all distances are looked at, unlike of 5,000 groups. Half of the cohorts are drawn where places
    stay, and half by the selector, where a quarter of the clients have sent nothing yet."""
    rng, part, half = default_rng(12), Balanced(speed=1.0), 10**4
    speeds = rng.permutation(np.append(np.linspace(0.1, 1.9, 19), 9.0))
    context = situation(dict(enumerate(rng.standard_normal((15, 6)))), size=10)
    links = Conditions(*[np.ones(20)] * 2, 1 / speeds, np.ones(20, bool))
    context, places = replace(context, rng=rng, conditions=links), rng.standard_normal((20, 2))
    chance = chances(speeds, 10, FLOOR)
    assert chance.min() == pytest.approx(0.1)
    assert chance.max() == 1 > np.sort(chance)[-2] > 0.85  # from the floor to always
    drawn = [spread(chance, places, rng) for _ in range(half)]
    drawn += [part.select(speeds, context).ids for _ in range(half)]
    assert {len(ids) for ids in drawn} == {10}
    often = np.stack([np.bincount(np.concatenate(some), minlength=20) for some in (drawn[:half], drawn[half:])]) / half
    error = np.sqrt(chance * (1 - chance) / half)
    assert (abs(often - chance) <= 4 * error + 1e-12).all()
    assert (abs(often.mean(0) - chance) <= 4 * error / np.sqrt(2) + 1e-12).all()


def test_each_pair_has_luck_of_its_own():
    """With one luck for all of them every client would keep its chance, too, but the first of all pairs win or none."""
    rng, places = default_rng(13), np.repeat(100.0 * np.arange(8), 2)[:, None] + np.tile([0.0, 1.0], 8)[:, None]
    won = np.array([spread(np.full(16, 0.5), places, rng) % 2 for _ in range(1000)])
    together = np.corrcoef(won.T)[np.triu_indices(8, 1)]
    assert np.abs(together).max() < 4.5 / np.sqrt(1000)


@given(weights=st.lists(st.floats(0.001, 10), min_size=1, max_size=25), seed=st.integers(0, 10**6), apart=st.booleans())
@RANDOM
def test_the_size_is_always_the_same_and_a_seed_gives_one_draw(weights, seed, apart):
    rng = default_rng(seed)
    size = int(rng.integers(1, len(weights) + 1))
    chance, places = chances(np.array(weights), size, 0.1), rng.standard_normal((len(weights), 3)) * apart
    first, again = (spread(chance, places, default_rng(seed)) for _ in range(2))
    assert len(first) == size
    assert first.tolist() == again.tolist()
    assert np.isin(np.flatnonzero(chance >= 1), first).all()  # whoever is sure of it is in


def test_of_two_who_are_alike_never_both_are_drawn():
    places = np.repeat(10.0 * np.arange(8)[:, None], 2, axis=0) + default_rng(0).normal(0, 0.1, (16, 1))
    for seed in range(50):
        drawn = spread(np.full(16, 0.5), places, default_rng(seed))
        assert (drawn // 2).tolist() == list(range(8))


def test_the_nearest_by_hand_and_in_a_crowd():
    assert nearest(np.array([[0.0], [1.0], [1.5], [9.0]])).tolist() == [1, 2, 1, 2]
    places = default_rng(4).standard_normal((2 * FEW, 2))
    order = tree_order(places)
    assert np.sort(order).tolist() == list(range(2 * FEW))
    found = nearest(places[order])
    lengths = np.linalg.norm(places[order][found] - places[order], axis=1)
    squares = np.square(places[order][:, None] - places[order]).sum(2)
    np.fill_diagonal(squares, np.inf)
    assert (found != np.arange(2 * FEW)).all()
    assert (lengths <= np.sqrt(squares.min(1)) * (1 + 1e-9)).mean() > 0.85  # most have found the very nearest


# The selector


def clustered(rng, clients=40, kinds=5, length=30):
    """Clients of five kinds, whose vectors differ little within one."""
    centres = rng.standard_normal((kinds, length))
    return centres[np.arange(clients) % kinds] + 0.2 * rng.standard_normal((clients, length))


@pytest.mark.parametrize("part", [Balanced(), Balanced(speed=1.0)], ids=repr)
def test_the_mean_of_alike_clients_is_right_and_varies_less_than_of_independent_draws(part):
    vectors = clustered(default_rng(5))
    speeds = np.linalg.norm(vectors, axis=1) * np.where(np.arange(40) < 20, 1, 3)
    links = Conditions(*[np.ones(40)] * 2, 1 / speeds, np.ones(40, bool))
    context = replace(situation(dict(enumerate(vectors)), clients=40, size=5), conditions=links)
    chance, mean = chances(speeds**part.speed, 5, FLOOR), vectors.mean(0)
    cohort = part.select(np.zeros(40), context)
    assert_allclose(cohort.inclusion, chance[cohort.ids])
    assert_allclose(cohort.share, 1 / 40 / chance[cohort.ids])
    places, rng = stood(context.population.uploads, 40, default_rng(0)), default_rng(6)
    cohorts = [spread(chance, places, rng) for _ in range(400)]
    alone = [np.flatnonzero(rng.random(40) < chance) for _ in range(400)]
    ours, free = (np.array([vectors[ids].T @ (1 / 40 / chance[ids]) for ids in drawn]) for drawn in (cohorts, alone))
    assert np.square(ours - mean).sum() < np.square(free - mean).sum() / 2
    off = np.abs(ours.mean(0) - mean) / (ours.std(0) / 20)
    assert off.max() < 4.5


def test_the_kinds_of_clients_come_in_equal_numbers():
    vectors = clustered(default_rng(7))
    context = situation(dict(enumerate(vectors)), clients=40, size=5)
    for seed in range(20):
        ids = Balanced().select(np.zeros(40), replace(context, rng=default_rng(seed))).ids
        assert sorted(ids % 5) == [0, 1, 2, 3, 4]


def test_clients_without_an_upload_are_a_group_of_their_own():
    vectors, rng = clustered(default_rng(8), clients=20), default_rng(11)
    context = situation(dict(enumerate(vectors)), clients=40, size=10)
    drawn = [
        spread(np.full(40, 0.25), stood(context.population.uploads, 40, rng), rng) if t % 10 else
        Balanced().select(np.zeros(40), replace(context, rng=rng)).ids
        for t in range(200)
    ]  # fmt: skip
    assert {int((ids < 20).sum()) for ids in drawn} == {5}  # half of them are known
    often = np.bincount(np.concatenate(drawn), minlength=40) / 200
    assert (abs(often - 0.25) <= 4 * np.sqrt(0.25 * 0.75 / 200)).all()
    together = np.mean([np.isin([38, 39], ids).all() for ids in drawn])
    assert together > 0  # at random among themselves: no two of them are kept apart for good


def test_clients_without_an_upload_are_further_from_all_others_than_these_are_from_each_other():
    uploads = {k: Update.whole(v.astype(np.float32)) for k, v in enumerate(clustered(default_rng(8), clients=20))}
    places = stood(uploads, 40, default_rng(0))
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    assert apart[:20, 20:].min() > max(apart[:20, :20].max(), apart[20:, 20:].max())
    assert len(np.unique(places[20:], axis=0)) == 20, "at random among themselves"


def test_who_has_more_data_stands_for_more():
    """Parts of 10/80 and 30/80 over chances of ½, and of ¼ and ¾ where devices are three times as fast."""
    sizes, seconds = np.array([10, 30, 10, 30]), np.array([0.3, 0.3, 0.1, 0.1])
    context = replace(situation(clients=4, size=2), population=Population.new(sizes))
    context = replace(context, conditions=Conditions(*[np.ones(4)] * 2, seconds, np.ones(4, bool)))
    for part, chance in ((Balanced(), np.full(4, 0.5)), (Balanced(speed=1.0), np.array([0.25, 0.25, 0.75, 0.75]))):
        for seed in range(5):
            cohort = part.select(np.zeros(4), replace(context, rng=default_rng(seed)))
            assert_allclose(cohort.inclusion, chance[cohort.ids])
            assert_allclose(cohort.share, (sizes / 80 / chance)[cohort.ids])


@pytest.mark.parametrize("length", [8, 200])
def test_components_keep_distances_where_there_are_enough_of_them(length):
    """By the table of inner products and by that of coordinates."""
    rows = default_rng(9).standard_normal((12, 3)) @ default_rng(10).standard_normal((3, length))
    found = components([Update.whole(row.astype(np.float32)) for row in rows], 3)
    apart = [np.linalg.norm(one[:, None] - one, axis=2) for one in (rows, found)]
    assert_allclose(*apart, rtol=1e-4, atol=1e-3)
