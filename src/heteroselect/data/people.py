"""Data sets whose examples belong to people.

Shakespeare's plays by speaking role: each role of each play is an owner, and its next character is to be told. The
partition is that of LEAF (Caldas et al., "LEAF: a benchmark for federated settings", 2018). Unlike LEAF, which asks
for the one character after 80, an example asks for the next one after each of its 80 characters: as much is learnt from
one pass as from 80 there. Roles keep their order, and their ends are the test part.

AudioMNIST: spoken digits by 60 speakers, 50 times each digit, as log-mel images of 28 x 28 (Becker, Vielhaben,
Ackermann, Müller, Lapuschkin, Samek, "AudioMNIST: exploring explainable artificial intelligence for audio analysis on a
simple benchmark", Journal of the Franklin Institute 361(1), 2024).
"""

import csv
import io
from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Examples, Pixels, Source
from heteroselect.data.files import broken, check_labels, missing, packed_or_plain, reading, unpacked
from heteroselect.data.own_files import arrays_of
from heteroselect.errors import SettingError

LENGTH = 80
"""Characters of an example."""
ALPHABET = "\n !$&',-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz"
TEXT, ROLES = "shakespeare.txt", "shakespeare-roles.csv"

Range = tuple[int, int]


def read_shakespeare(name: str, folder: Path, test_fraction: float) -> Source:
    """All roles with a whole example to train on; the last `test_fraction` of each role's text is its test part."""
    text = _numbered(packed_or_plain(folder / TEXT))
    names, train, test = [], [], []
    for role, offset, length in _roles(folder / ROLES, len(text)):
        cut = offset + round(length * (1 - test_fraction))
        if cut - offset > LENGTH:
            names.append(role)
            train.append((offset, cut))
            test.append((cut, offset + length))
    if not names:
        raise broken(folder / ROLES, f"names no role of more than {LENGTH} characters")
    return Source(name, _examples(text, train), _examples(text, test), len(ALPHABET), None, owners=tuple(names))


def _numbered(file: Path) -> torch.Tensor:
    """The text as the places of its characters in the alphabet."""
    places = np.full(256, 255, np.uint8)
    places[np.frombuffer(ALPHABET.encode("ascii"), np.uint8)] = np.arange(len(ALPHABET))
    content = np.frombuffer(unpacked(file), np.uint8)
    text = places[content]
    if (text == 255).any():
        at = int((text == 255).argmax())
        raise broken(file, f"is damaged (byte {at:,} is {content[at]}, no character of the plays)")
    return torch.from_numpy(text)


def _roles(file: Path, size: int) -> list[tuple[str, int, int]]:
    """Name, offset and length of each role."""
    if not file.is_file():
        raise missing(file)
    with reading(file):
        rows = list(csv.DictReader(io.StringIO(unpacked(file).decode("utf-8"))))
        roles = [(f"{row['play']}: {row['role']}", int(row["offset"]), int(row["length"])) for row in rows]
    for role, offset, length in roles:
        if offset < 0 or length < 0 or offset + length > size:
            raise broken(file, f"is damaged ({role} lies outside of the {size:,} characters)")
    return roles


def _examples(text: torch.Tensor, ranges: list[Range]) -> Examples:
    """Stretches of LENGTH characters, and those one further on; what is left over at an end is not used."""
    counts = [max(0, stop - start - 1) // LENGTH for start, stop in ranges]
    starts = [start + LENGTH * i for (start, _), count in zip(ranges, counts, strict=True) for i in range(count)]
    index = torch.tensor(starts, dtype=torch.int64).view(-1, 1) + torch.arange(LENGTH)
    owner = torch.repeat_interleave(torch.arange(len(ranges)), torch.tensor(counts))
    return Examples(text[index], text[index + 1].long(), owner)


FILE = "audiomnist.npz"
PIXELS = Pixels((0.0572,), (0.0639,), augment=False)


def read_audiomnist(name: str, folder: Path, test_fraction: float) -> Source:
    """Every speaker's images; the last `test_fraction` of the repetitions of each digit are the test part."""
    file = folder / FILE
    if not file.is_file():
        raise missing(file)
    keys = ("x", "y", "user", "rep")
    arrays = arrays_of(file, keys)
    if absent := [key for key in keys if key not in arrays]:
        raise missing(f"{absent[0]} in {file}")
    x, y, user, rep = (arrays[key] for key in keys)
    count = len(y) if y.ndim else 0
    if x.dtype != np.uint8 or x.shape != (count, 28, 28) or not count or {user.shape, rep.shape} != {(count,)}:
        raise broken(file, "is damaged (its arrays are not of images of 28×28 bytes)")
    check_labels(y, 10, file)
    names, owner = np.unique(user, return_inverse=True)
    whole = Examples(*(torch.from_numpy(array) for array in (x[:, None], y.astype(np.int64), owner)))
    last = torch.from_numpy(rep >= round((1 - test_fraction) * (1 + int(rep.max()))))
    train, test = (whole.take(part.nonzero().flatten()) for part in (~last, last))
    if not len(train) or not len(test):
        raise SettingError(f"data.test_fraction: {test_fraction} leaves nothing to train or to test on in {file}.")
    return Source(name, train, test, 10, PIXELS, owners=tuple(map(str, names)))
