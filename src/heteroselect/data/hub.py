"""Data sets of the Hugging Face Hub, or folders that one was saved to, through `datasets` (the extra heteroselect[hf]).

`hf:flwrlabs/femnist` is downloaded into the cache of `datasets` itself; `hf:FOLDER` is what `save_to_disk` wrote.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heteroselect.core.streams import Streams
from heteroselect.data import HUB
from heteroselect.data.examples import Columns, Examples, Source
from heteroselect.data.files import Array
from heteroselect.data.own import source_of
from heteroselect.data.own_files import column_of, inputs_of, owned, targets_of
from heteroselect.errors import DataError, SettingError


def read_hub(name: str, columns: Columns, test_fraction: float, seed: int) -> Source:
    """The splits train and test; the only split where there is one, of which some examples are held out for testing."""
    splits = _splits(name)
    train = splits["train"] if "train" in splits else next(iter(splits.values()))
    test = splits.get("test") if len(splits) > 1 else None
    first, second = _examples(name, train, columns), None if test is None else _examples(name, test, columns)
    whose: tuple[str, ...] = ()
    if columns.natural:
        column_of(columns.owner, train.column_names, "data.owner_column", name)
        mine = np.asarray(list(train[columns.owner]))
        theirs = None if test is None else np.asarray(list(test[columns.owner]))
        first, second, whose = owned(first, mine, second, theirs, f"column {columns.owner!r} of {name}")
    return source_of(name, first, second, whose, name, test_fraction, Streams(seed))


def _splits(name: str) -> Mapping[str, Any]:
    try:
        import datasets
    except ImportError:
        raise SettingError(
            f"data.name: {name} needs Hugging Face's package; install it with pip install 'heteroselect[hf]'."
        ) from None
    place = name.removeprefix(HUB)
    try:
        folder = Path(place).expanduser()
        found = datasets.load_from_disk(str(folder)) if folder.is_dir() else datasets.load_dataset(place)
    except Exception as problem:  # of the network, the hub, the cache or the files
        reason = " ".join(str(problem).split()).rstrip(".") or type(problem).__name__
        raise SettingError(f"data.name: {name} cannot be loaded ({reason}).") from problem
    return found if isinstance(found, Mapping) else {"train": found}


def _examples(name: str, split: Any, columns: Columns) -> Examples:
    heads = list(split.column_names)
    column_of(columns.label, heads, "data.label_column", name)
    others = [head for head in heads if head not in (columns.label, columns.owner)]
    if not columns.input and len(others) != 1:
        raise SettingError(f"data.input_column: {name} has several columns; name one of {', '.join(others)}.")
    place = columns.input or others[0]
    column_of(place, heads, "data.input_column", name)
    x, y = (_array(split, head, f"column {head!r} of {name}") for head in (place, columns.label))
    if not len(y):
        raise SettingError(f"data.name: {name} has a split without an example.")
    return Examples(inputs_of(x, f"column {place!r} of {name}"), targets_of(y, f"column {columns.label!r} of {name}"))


def _array(split: Any, head: str, title: str) -> Array:
    """A column as one array; pictures as bytes, grey or in colours as the first of them is."""
    values = list(split[head])
    mode = getattr(values[0], "mode", None) if values else None
    if mode is not None:
        kind = "L" if mode in ("1", "L") else "RGB"
        values = [np.asarray(picture.convert(kind)) for picture in values]
    try:
        return np.asarray(values)
    except ValueError as error:
        raise DataError(f"{title} must hold examples of one shape ({error}).") from error
