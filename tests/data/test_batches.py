"""Batches: every example once an epoch, bytes until the last moment, and crops that exist."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from heteroselect.data.batches import Batches, Ready, augment, to_inputs
from heteroselect.data.examples import Examples, Pixels

PLAIN = Pixels((0.5, 0.25), (0.25, 0.5), augment=False)
CROPPED = Pixels((0.5, 0.25), (0.25, 0.5), augment=True)


def images(count: int, channels: int = 2, height: int = 5, width: int = 7) -> Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randint(1, 256, (count, channels, height, width), generator=generator, dtype=torch.uint8)


def numbered(count: int) -> Examples:
    """Example i is (10 i, i)."""
    return Examples(10.0 * torch.arange(count).view(-1, 1), torch.arange(count))


def stream(count: int, size: int, seed: int = 0) -> Batches:
    return Batches(numbered(count), size, np.random.default_rng(seed), None)


# Bytes become numbers


def test_normalisation_by_hand() -> None:
    x = torch.tensor([0, 51, 255], dtype=torch.uint8).view(1, 1, 1, 3).repeat(1, 2, 1, 1)
    found = to_inputs(x, PLAIN)
    # (byte/255 − .5)/.25 in the first channel, (byte/255 − .25)/.5 in the second
    assert found[0, 0, 0].tolist() == pytest.approx([-2, -1.2, 2], abs=1e-6)
    assert found[0, 1, 0].tolist() == pytest.approx([-0.5, -0.1, 1.5], abs=1e-6)
    assert found.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_what_is_no_image_stays_as_it_is(dtype: torch.dtype) -> None:
    x = torch.arange(6).view(2, 3).to(dtype)
    assert to_inputs(x, None).dtype == dtype
    assert torch.equal(to_inputs(x, None), x)


def test_a_batch_of_images_is_normalised_and_the_examples_stay_bytes() -> None:
    examples = Examples(images(4), torch.arange(4))
    before = examples.x.clone()
    x, y = Batches(examples, 4, np.random.default_rng(0), PLAIN)()
    assert x.dtype == torch.float32
    assert torch.equal(x, to_inputs(before[y], PLAIN))
    assert torch.equal(examples.x, before)


# Crop and flip


def crops(image: Tensor) -> dict[bytes, tuple[int, int, bool]]:
    """All 81 crops of the padded image and their mirror images, each cut out by hand."""
    channels, height, width = image.shape
    padded = np.zeros((channels, height + 8, width + 8), np.uint8)
    padded[:, 4:-4, 4:-4] = image.numpy()
    found = {}
    for top, left, flip in itertools.product(range(9), range(9), (False, True)):
        crop = padded[:, top : top + height, left : left + width]
        found[np.ascontiguousarray(crop[:, :, ::-1] if flip else crop).tobytes()] = (top, left, flip)
    assert len(found) == 162
    return found


def test_every_output_is_a_crop_of_its_own_image() -> None:
    x = images(60)
    before = x.clone()
    found = augment(x, np.random.default_rng(1))
    assert found.shape == x.shape
    assert found.dtype == torch.uint8, "bytes stay bytes"
    assert torch.equal(x, before)
    assert torch.equal(found, augment(x, np.random.default_rng(1)))
    drawn = [crops(image)[out.numpy().tobytes()] for image, out in zip(x, found, strict=True)]
    assert len(set(drawn)) > 30, "each image has a crop of its own"


def test_all_crops_are_as_likely() -> None:
    image = images(1)
    table = crops(image[0])
    outputs = augment(image.expand(3000, -1, -1, -1), np.random.default_rng(2))
    top, left, flip = np.array([table[out.numpy().tobytes()] for out in outputs]).T
    for offsets in (top, left):
        shares = np.bincount(offsets, minlength=9) / 3000
        assert np.abs(shares - 1 / 9).max() < 4 * np.sqrt(8 / 81 / 3000)
    assert abs(flip.mean() - 0.5) < 4 * 0.5 / np.sqrt(3000)
    for a, b in itertools.combinations((top, left, flip), 2):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(3000)


def test_training_images_are_cropped_only_where_allowed() -> None:
    examples = Examples(images(6), torch.arange(6))
    x, y = Batches(examples, 6, np.random.default_rng(0), CROPPED)()
    assert not torch.equal(x, to_inputs(examples.x[y], CROPPED))
    # the channels are normalised after the padding, so black is (0 − mean)/std
    assert {-2.0} == set(x[:, 0][x[:, 0] < -1.99].tolist())
    bytes_ = (
        (x * torch.tensor([0.25, 0.5]).view(1, 2, 1, 1) + torch.tensor([0.5, 0.25]).view(1, 2, 1, 1)) * 255
    ).round()
    for image, label in zip(bytes_.to(torch.uint8), y.tolist(), strict=True):
        assert image.numpy().tobytes() in crops(examples.x[label])


# Epochs


@pytest.mark.parametrize(("count", "size"), [(10, 4), (10, 10), (7, 3), (3, 8), (1, 5), (10, 1)])
def test_every_epoch_visits_each_example_once(count: int, size: int) -> None:
    batches = stream(count, size)
    epochs = 4
    drawn = [batches() for _ in range(-(-epochs * count // size))]
    assert all(y.shape == (size,) for _, y in drawn), "a batch reaches over the end of an epoch"
    assert all(x.flatten().tolist() == [10.0 * i for i in y.tolist()] for x, y in drawn), "x and y stay together"
    visited = torch.cat([y for _, y in drawn]).tolist()
    for epoch in range(epochs):
        assert sorted(visited[epoch * count : (epoch + 1) * count]) == list(range(count))


def test_every_epoch_has_an_order_of_its_own_by_the_generator() -> None:
    def orders(seed: int) -> list[tuple[int, ...]]:
        batches = stream(20, 20, seed)
        return [tuple(batches()[1].tolist()) for _ in range(4)]

    assert len(set(orders(1))) == 4
    assert orders(1) == orders(1) != orders(2)


class InPlace(nn.Module):
    def forward(self, x):
        return x.mul_(2.0)


def test_ready_inputs_are_made_once_and_forgotten_where_a_model_writes_on_them():
    pixels = Pixels((0.5,), (0.25,), augment=False)
    x = torch.arange(16, dtype=torch.uint8).view(1, 1, 4, 4)
    ready, expected = Ready(pixels), to_inputs(x, pixels)
    kept = []
    for _ in range(3):
        kept.append(ready.through(nn.Identity(), 0, x, "cpu"))
        assert torch.equal(kept[-1], expected)
    assert kept[1] is kept[2]
    for _ in range(3):
        assert torch.equal(ready.through(InPlace(), 1, x, "cpu"), 2 * expected)
    assert torch.equal(ready.through(nn.Identity(), 0, x, "cpu"), expected)


def test_ready_inputs_keep_to_their_budget():
    pixels = Pixels((0.5,), (0.25,), augment=False)
    ready = Ready(pixels, budget=100)
    x = torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    first = [ready.through(nn.Identity(), key, x, "cpu") for key in (0, 1)]
    again = [ready.through(nn.Identity(), key, x, "cpu") for key in (0, 1)]
    assert first[0] is again[0]
    assert first[1] is not again[1]
