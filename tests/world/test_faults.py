"""Faults: how often they strike, what they do to the bytes, and how long the server waits."""

import numpy as np
import pytest

from heteroselect.core.messages import Upload
from heteroselect.core.streams import Streams
from heteroselect.core.update import Update
from heteroselect.parts.compress.wire import TABLE, WireError, decode, encode
from heteroselect.world.faults import KINDS, Faults

STREAMS = Streams(5)
VECTOR = np.array([0, 2, 0, -3, 1], np.float32)
UPLOAD = Upload(3, encode(Update.keep(VECTOR, np.flatnonzero(VECTOR))), 10, {})


def uploads(count: int) -> list[Upload]:
    return [Upload(k, b"", 1, {}) for k in range(count)]


def test_without_faults_nobody_is_struck() -> None:
    assert Faults().strike(uploads(100), 1, STREAMS) == {}


def test_each_kind_strikes_as_often_as_it_should_and_nobody_twice() -> None:
    faults = Faults(missing=0.3, late=0.1, corrupt=0.05, nan=0.05, inf=0.1, scaled=0.2)
    struck = faults.strike(uploads(5000), 2, STREAMS)
    for kind in KINDS:
        share = sum(found == kind for found in struck.values()) / 5000
        chance = getattr(faults, kind)
        assert share == pytest.approx(chance, abs=4 * (chance * (1 - chance) / 5000) ** 0.5), kind


def test_a_round_has_faults_of_its_own_and_the_others_do_not_matter() -> None:
    faults = Faults(missing=0.5)
    all_of_them, some = (faults.strike(uploads(count), 3, STREAMS) for count in (50, 20))
    assert {k: v for k, v in all_of_them.items() if k < 20} == some
    assert faults.strike(uploads(50), 4, STREAMS) != all_of_them
    assert faults.strike(uploads(50)[::-1], 3, STREAMS) == all_of_them


@pytest.mark.parametrize("round", range(1, 30))
def test_a_flipped_byte_is_always_found(round: int) -> None:
    damaged = Faults().damage(UPLOAD, "corrupt", 5, round, STREAMS)
    assert sum(a != b for a, b in zip(damaged.payload, UPLOAD.payload, strict=True)) == 1
    with pytest.raises(WireError):
        decode(damaged.payload, 5)


@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_a_value_that_is_none_is_found_though_its_checksum_fits(kind: str) -> None:
    with pytest.raises(WireError, match="not finite"):
        decode(Faults().damage(UPLOAD, kind, 5, 1, STREAMS).payload, 5)


def test_a_scaled_update_is_whole_and_a_million_times_too_long() -> None:
    damaged = decode(Faults().damage(UPLOAD, "scaled", 5, 1, STREAMS).payload, 5)
    assert damaged.dense().tolist() == (VECTOR * np.float32(1e6)).tolist()


def test_what_is_late_is_still_what_was_sent() -> None:
    assert Faults().damage(UPLOAD, "late", 5, 1, STREAMS) is UPLOAD


EXPECTED = np.array([4.0, 10.0, 6.0])


@pytest.mark.parametrize(
    ("faults", "struck", "in_time", "until"),
    [
        (Faults(), [None, None, None], [True, True, True], 10),
        (Faults(), [None, "missing", None], [True, False, True], 10),  # expected at 10, so waited for until then
        (Faults(deadline=7), [None, "missing", None], [True, False, True], 7),
        (Faults(deadline=7), [None, None, None], [True, False, True], 7),
        (Faults(deadline=20), [None, None, None], [True, True, True], 10),  # all are in, no need to wait on
        (Faults(late_factor=2), ["late", None, None], [True, True, True], 10),  # 8 s is still in time
        (Faults(late_factor=3), ["late", None, None], [False, True, True], 10),
        (Faults(late_factor=3, late_rule="wait"), ["late", None, None], [True, True, True], 12),
        (Faults(late_factor=3, late_rule="wait"), ["late", "missing", None], [True, False, True], 12),
        (Faults(), ["missing"] * 3, [False] * 3, 10),
    ],
)
def test_how_long_the_server_waits(faults: Faults, struck: list, in_time: list, until: float) -> None:
    assert faults.wait(EXPECTED, struck)[:2] == (in_time, until)


@pytest.mark.parametrize(
    ("enough", "struck", "in_time", "until"),
    [
        (2, [None, None, None], [True, False, True], 6),  # the first two are in after six seconds
        (1, [None, None, None], [True, False, False], 4),
        (3, [None, None, None], [True, True, True], 10),
        (2, ["missing", None, None], [False, True, True], 10),
        (2, ["missing", None, "missing"], [False, True, False], 10),  # too few: waited for as ever
    ],
)
def test_once_there_are_enough_answers_nobody_is_waited_for(enough, struck, in_time, until) -> None:
    assert Faults().wait(EXPECTED, struck, enough)[:2] == (in_time, until)


def test_a_late_answer_takes_as_long_as_it_takes() -> None:
    assert Faults(late_factor=3).wait(EXPECTED, ["late", None, None])[2].tolist() == [12, 10, 6]


def test_damage_decodes_by_the_codecs_it_is_given() -> None:
    assert Faults().damage(UPLOAD, "nan", 5, 1, STREAMS, codecs={}) is UPLOAD  # none of them can decode it
    assert Faults().damage(UPLOAD, "nan", 5, 1, STREAMS, codecs=TABLE).payload != UPLOAD.payload
