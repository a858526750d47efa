"""Shakespeare's plays by speaking role: each role of each play is an owner, and its next character is to be told.

The partition is that of LEAF (Caldas et al., "LEAF: a benchmark for federated settings", 2018). Unlike LEAF, which asks
for the one character after 80, an example asks for the next one after each of its 80 characters: as much is learnt from
one pass as from 80 there. Roles keep their order, and their ends are the test part.
"""

import csv
import io
from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Examples, Source
from heteroselect.data.files import AGAIN, missing, reading, unpacked
from heteroselect.errors import DataError

LENGTH = 80
"""Characters of an example."""
ALPHABET = "\n !$&',-.0123456789:;?ABCDEFGHIJKLMNOPQRSTUVWXYZ[]abcdefghijklmnopqrstuvwxyz"
TEXT, ROLES = "shakespeare.txt", "shakespeare-roles.csv"

Range = tuple[int, int]


def read_shakespeare(name: str, folder: Path, test_fraction: float) -> Source:
    """All roles with a whole example to train on; the last `test_fraction` of each role's text is its test part."""
    text = _numbered(_file(folder))
    names, train, test = [], [], []
    for role, offset, length in _roles(folder / ROLES, len(text)):
        cut = offset + round(length * (1 - test_fraction))
        if cut - offset > LENGTH:
            names.append(role)
            train.append((offset, cut))
            test.append((cut, offset + length))
    if not names:
        raise DataError(f"{folder / ROLES} names no role of more than {LENGTH} characters, {AGAIN}.")
    return Source(name, _examples(text, train), _examples(text, test), len(ALPHABET), None, owners=tuple(names))


def _file(folder: Path) -> Path:
    for suffix in ("", ".xz", ".gz"):
        if (file := folder / (TEXT + suffix)).is_file():
            return file
    raise missing(f"{folder / TEXT} (plain, .xz or .gz)")


def _numbered(file: Path) -> torch.Tensor:
    """The text as the places of its characters in the alphabet."""
    places = np.full(256, 255, np.uint8)
    places[np.frombuffer(ALPHABET.encode("ascii"), np.uint8)] = np.arange(len(ALPHABET))
    content = np.frombuffer(unpacked(file), np.uint8)
    text = places[content]
    if (text == 255).any():
        at = int((text == 255).argmax())
        raise DataError(f"{file} is damaged (byte {at:,} is {content[at]}, no character of the plays), {AGAIN}.")
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
            raise DataError(f"{file} is damaged ({role} lies outside of the {size:,} characters), {AGAIN}.")
    return roles


def _examples(text: torch.Tensor, ranges: list[Range]) -> Examples:
    """Stretches of LENGTH characters, and those one further on; what is left over at an end is not used."""
    counts = [max(0, stop - start - 1) // LENGTH for start, stop in ranges]
    starts = [start + LENGTH * i for (start, _), count in zip(ranges, counts, strict=True) for i in range(count)]
    index = torch.tensor(starts, dtype=torch.int64).view(-1, 1) + torch.arange(LENGTH)
    owner = torch.repeat_interleave(torch.arange(len(ranges)), torch.tensor(counts))
    return Examples(text[index], text[index + 1].long(), owner)
