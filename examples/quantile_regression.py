"""Intervals from few features: quantile regression on simulated data, with a picture.

    python examples/quantile_regression.py [picture.png]

Of 15 columns the first four move the target and the fifth its spread. The model looks for the 10 %, 50 % and 90 % quantiles.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from riata import LassoNetRegressor
from riata.losses import Quantile

LEVELS = (0.1, 0.5, 0.9)
N_COLUMNS, MOVES_SPREAD = 15, 4


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and a target with a nonlinear mean and a spread that grows with the fifth column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    noise = rng.normal(size=n)
    return X, mean(X) + spread(X) * noise


def mean(X: np.ndarray) -> np.ndarray:
    """Return the mean of the target."""
    return 2 * np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 - X[:, 2] + X[:, 3]


def spread(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the target."""
    return 0.7 * np.exp(0.4 * X[:, MOVES_SPREAD])


def draw(model: LassoNetRegressor, path: str) -> None:
    """Draw quantiles along the first and the fifth column, with all others at zero."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2, sharey=True)
    for ax, column in zip(axes, (0, MOVES_SPREAD), strict=True):
        X = np.zeros((200, N_COLUMNS))
        X[:, column] = np.linspace(-2.5, 2.5, 200)
        low, middle, high = model.predict(X).T
        ax.fill_between(X[:, column], low, high, alpha=0.25, label="10 % to 90 %")
        ax.plot(X[:, column], middle, label="median")
        for side in (-1, 0, 1):
            truth = mean(X) + side * 1.2816 * spread(X)
            ax.plot(
                X[:, column], truth, color="black", linewidth=0.8, linestyle="--", label="truth" if not side else None
            )
        ax.set_xlabel(f"column {column}")
    axes[0].set_ylabel("target, all other columns at 0")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)


def main(path: str) -> None:
    """Fit, print what was found, and draw it."""
    model = LassoNetRegressor(loss=Quantile(LEVELS), random_state=0).fit(*simulate(4000, seed=0))
    X, y = simulate(10_000, seed=1)
    low, _, high = model.predict(X).T
    print(f"selected columns: {', '.join(map(str, np.flatnonzero(model.selected_)))} (0 to 4 matter)")
    print(f"new rows between the 10 % and the 90 % quantile: {np.mean((low <= y) & (y <= high)):.1%}")
    print(f"share of the pinball loss explained: {model.score(X, y):.2f}")
    draw(model, path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "quantile_regression.png")
