"""AudioMNIST: spoken digits by 60 speakers, 50 times each digit, as log-mel images of 28 x 28.

Becker, Vielhaben, Ackermann, Müller, Lapuschkin, Samek, "AudioMNIST: exploring explainable artificial intelligence for
audio analysis on a simple benchmark", Journal of the Franklin Institute 361(1), 2024.
"""

from pathlib import Path

import numpy as np
import torch

from heteroselect.data.examples import Examples, Pixels, Source
from heteroselect.data.files import AGAIN, check_labels, missing
from heteroselect.data.npz import arrays_of
from heteroselect.errors import DataError, SettingError

FILE = "audiomnist.npz"
PIXELS = Pixels((0.0572,), (0.0639,), augment=False)


def read_audiomnist(name: str, folder: Path, test_fraction: float) -> Source:
    """Every speaker's images; the last `test_fraction` of the repetitions of each digit are the test part."""
    file = folder / FILE
    if not file.is_file():
        raise missing(file)
    arrays = arrays_of(file, ("x", "y", "user", "rep"))
    if absent := [key for key in ("x", "y", "user", "rep") if key not in arrays]:
        raise missing(f"{absent[0]} in {file}")
    x, y, user, rep = (arrays[key] for key in ("x", "y", "user", "rep"))
    count = len(y) if y.ndim else 0
    if x.dtype != np.uint8 or x.shape != (count, 28, 28) or not count or {user.shape, rep.shape} != {(count,)}:
        raise DataError(f"{file} is damaged (its arrays are not of images of 28×28 bytes), {AGAIN}.")
    check_labels(y, 10, file)
    names, owner = np.unique(user, return_inverse=True)
    whole = Examples(*(torch.from_numpy(array) for array in (x[:, None], y.astype(np.int64), owner)))
    last = torch.from_numpy(rep >= round((1 - test_fraction) * (1 + int(rep.max()))))
    train, test = (whole.take(part.nonzero().flatten()) for part in (~last, last))
    if not len(train) or not len(test):
        raise SettingError(f"data.test_fraction: {test_fraction} leaves nothing to train or to test on in {file}.")
    return Source(name, train, test, 10, PIXELS, owners=tuple(map(str, names)))
