"""Shakespeare by role and AudioMNIST by speaker, from small files made by hand and from the whole ones."""

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from heteroselect.data.people import ALPHABET, LENGTH
from heteroselect.data.sources import load
from heteroselect.errors import HeteroSelectError

LONG, SHORT, TINY = "abcde" * 100, "To be, or not to be: " * 10, "Hey!"


def plays(folder: Path, *, text: str = LONG + SHORT + TINY, lengths: tuple[int, ...] = (), name: str = ".xz") -> Path:
    """Three roles of 500, 210 and 4 characters."""
    folder.mkdir(exist_ok=True)
    content = text.encode("ascii")
    (folder / f"shakespeare.txt{name}").write_bytes(lzma.compress(content) if name == ".xz" else content)
    lines, offset = ["role_id,play,role,offset,length,speeches"], 0
    for number, length in enumerate(lengths or (len(LONG), len(SHORT), len(TINY))):
        lines.append(f'{number},hamlet,"ROLE, {number}",{offset},{length},1')
        offset += length
    (folder / "shakespeare-roles.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def read(numbers: torch.Tensor) -> str:
    return "".join(ALPHABET[int(number)] for number in numbers)


def test_an_example_is_80_characters_and_those_one_further_on(tmp_path: Path):
    found = load("shakespeare", plays(tmp_path))
    # 400 and 168 characters to train on: 399 // 80 and 167 // 80 examples; 100 and 42 to test on; four are too few
    assert found.owners == ("hamlet: ROLE, 0", "hamlet: ROLE, 1")
    assert found.train.owner is not None
    assert found.test.owner is not None
    assert found.train.owner.tolist() == [0] * 4 + [1] * 2
    assert found.test.owner.tolist() == [0]
    assert (found.classes, found.pixels) == (76, None)
    assert (found.train.x.dtype, found.train.y.dtype, found.train.y.shape) == (torch.uint8, torch.int64, (6, LENGTH))
    assert read(found.train.x[0]) == LONG[:80]
    assert read(found.train.y[0]) == LONG[1:81]
    assert read(found.train.x[5]) == SHORT[80:160]
    assert read(found.train.y[5]) == SHORT[81:161]
    assert read(found.test.x[0]) == LONG[400:480]


def test_no_training_example_reaches_into_the_test_part(tmp_path: Path):
    marked = "a" * 400 + "b" * 100
    found = load("shakespeare", plays(tmp_path, text=marked, lengths=(500,)))
    assert "b" not in read(found.train.y.flatten())
    assert "a" not in read(found.test.x.flatten())
    whole = load("shakespeare", plays(tmp_path, text=marked, lengths=(500,)), test_fraction=0.6)
    assert (len(whole.train), len(whole.test)) == (2, 3)


@pytest.mark.parametrize("place", ["", "shakespeare"])
@pytest.mark.parametrize("name", ["", ".xz"])
def test_the_plays_are_found_where_data_sets_are(place: str, name: str, tmp_path: Path, monkeypatch: Any):
    plays(tmp_path / place, name=name)
    monkeypatch.setenv("HETEROSELECT_DATA", str(tmp_path))
    assert len(load("shakespeare", None).train) == 6


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"text": "a" * 100 + "~" + "b" * 613}, r"shakespeare\.txt\.xz is damaged \(byte 100 is 126"),
        ({"lengths": (500, 900)}, r"ROLE, 1 lies outside of the 714 characters"),
        ({"lengths": (80, 50)}, "names no role of more than 80 characters"),
    ],
)
def test_broken_plays_are_named(change: dict[str, Any], sentence: str, tmp_path: Path):
    with pytest.raises(HeteroSelectError, match=sentence):
        load("shakespeare", plays(tmp_path, **change))


def test_a_part_of_the_plays_is_not_enough(tmp_path: Path):
    plays(tmp_path)
    (tmp_path / "shakespeare-roles.csv").write_text("role_id,play\n1,hamlet\n")
    with pytest.raises(HeteroSelectError, match=r"shakespeare-roles\.csv is cut short or damaged"):
        load("shakespeare", tmp_path)
    (tmp_path / "shakespeare-roles.csv").unlink()
    with pytest.raises(HeteroSelectError, match=r"shakespeare-roles\.csv is missing"):
        load("shakespeare", tmp_path)
    plays(tmp_path)
    (tmp_path / "shakespeare.txt.xz").unlink()
    with pytest.raises(HeteroSelectError, match=r"shakespeare\.txt \(plain, \.gz or \.xz\) is missing"):
        load("shakespeare", tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shakespeare", r"put shakespeare\.txt\.xz and shakespeare-roles\.csv .*TheMITTech/shakespeare.* into"),
        ("audiomnist", r"put audiomnist\.npz .*soerenab/AudioMNIST.* into"),
    ],
)
def test_where_a_missing_file_comes_from_is_said(name: str, words: str, tmp_path: Path):
    with pytest.raises(HeteroSelectError, match=rf"The data set {name} is not in .*: {words}.*docs/data\.md"):
        load(name, tmp_path)


def digits(folder: Path, **change: Any) -> Path:
    """Two speakers, three digits, five times each."""
    y, rep = np.tile(np.repeat([0, 1, 2], 5), 2), np.tile(np.arange(5), 6)
    arrays = {"x": np.arange(30 * 784).reshape(30, 28, 28) % 61, "y": y, "user": np.repeat([7, 3], 15), "rep": rep}
    np.savez(folder / "audiomnist.npz", **{key: value.astype(np.uint8) for key, value in (arrays | change).items()})
    return folder


def test_the_last_repetitions_of_each_speaker_and_digit_are_for_testing(tmp_path: Path):
    found = load("audiomnist", digits(tmp_path), test_fraction=0.4)
    assert (found.owners, found.classes) == (("3", "7"), 10)
    assert found.train.owner is not None
    assert found.test.owner is not None
    assert found.train.owner.tolist() == [1] * 9 + [0] * 9
    assert found.test.y.tolist() == [0, 0, 1, 1, 2, 2] * 2
    assert (found.train.x.shape, found.train.x.dtype) == ((18, 1, 28, 28), torch.uint8)
    assert torch.equal(found.test.x[0, 0].flatten(), (torch.arange(784) + 3 * 784).remainder(61).to(torch.uint8))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.full(30, 12)}, "label 0 is 12, the highest is 9"),
        ({"user": np.zeros(29)}, "is damaged"),
        ({"x": np.zeros((30, 28, 27))}, "is damaged"),
        ({"rep": np.zeros(30)}, r"data\.test_fraction: 0\.2 leaves nothing"),
    ],
)
def test_broken_recordings_are_named(change: dict[str, Any], sentence: str, tmp_path: Path):
    with pytest.raises(HeteroSelectError, match=sentence):
        load("audiomnist", digits(tmp_path, **change))


def test_recordings_without_speakers_are_refused(tmp_path: Path):
    np.savez(tmp_path / "audiomnist.npz", x=np.zeros((2, 28, 28), np.uint8), y=np.zeros(2, np.uint8))
    with pytest.raises(HeteroSelectError, match=r"user in .*audiomnist\.npz is missing"):
        load("audiomnist", tmp_path)


@pytest.mark.slow
def test_the_whole_data_sets(shared: Path):
    folder = shared / "data" / "natural"
    if not folder.is_dir():
        pytest.skip("the folder of natural data sets is absent")
    text, speech = load("shakespeare", folder), load("audiomnist", folder)
    assert (len(text.owners), len(text.train), len(text.test)) == (1126, 42_570, 10_196)
    assert (len(speech.owners), len(speech.train), len(speech.test)) == (60, 24_000, 6_000)
    assert speech.train.x.float().mean() / 255 == pytest.approx(0.0572, abs=1e-4)
