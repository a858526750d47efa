"""Your own model, data, loss and metric: sunspots of a made-up star, forecast by fifty observatories.

Each observatory has seen another stretch of the record, so no two have the same data. The model is a small
network with dropout, the loss is Huber's, and the metric is the variance explained (R²).
"""

import argparse

import numpy as np
from torch import Tensor, nn

import heteroselect

WINDOW = 24


def forecaster() -> nn.Module:
    hidden = nn.Sequential(nn.Linear(WINDOW, 32), nn.Tanh(), nn.Dropout(0.1))
    return nn.Sequential(hidden, nn.Linear(32, 1), nn.Flatten(0))


def windows(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cut = np.lib.stride_tricks.sliding_window_view(series, WINDOW + 1)
    return cut[:, :-1].copy(), cut[:, -1].copy()


def variance_explained(outputs: Tensor, targets: Tensor) -> float:
    return 1 - float(((outputs - targets) ** 2).mean() / targets.var(correction=0))


def main(rounds: int) -> heteroselect.Result:
    rng = np.random.default_rng(7)
    time = np.arange(6_000)
    series = np.sin(time / 9) + 0.5 * np.sin(time / 31) + 0.1 * rng.normal(size=len(time))
    observatories = [windows(part) for part in np.array_split(series[:5_000], 50)]
    return heteroselect.run(
        {"selected": 5, "rounds": rounds, "target": 0.9, "method": {"lr": {"start": 0.1}}},
        model=forecaster,
        data=observatories,
        test=windows(series[5_000:]),
        loss=nn.functional.huber_loss,
        metric=variance_explained,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    result = main(parser.parse_args().rounds)
    print(f"variance explained: {result.final_accuracy:.3f}, sent: {result.total_wire_megabytes:.2f} MB")
