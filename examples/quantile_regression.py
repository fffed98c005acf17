"""
Intervals from few features
===========================

Quantile regression: of 15 columns the first four move the target and the fifth its spread. One model of the 10 %, 50 % and
90 % quantiles finds them all.
"""

import matplotlib.pyplot as plt
import numpy as np

from riata import LassoNetRegressor
from riata.losses import Quantile

LEVELS = (0.1, 0.5, 0.9)
N_COLUMNS, MOVES_SPREAD = 15, 4


def mean(X: np.ndarray) -> np.ndarray:
    """Return the mean of the target."""
    return 2 * np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 - X[:, 2] + X[:, 3]


def spread(X: np.ndarray) -> np.ndarray:
    """Return the standard deviation of the target."""
    return 0.7 * np.exp(0.4 * X[:, MOVES_SPREAD])


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and a target with a nonlinear mean and a spread that grows with the fifth column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    noise = rng.normal(size=n)
    return X, mean(X) + spread(X) * noise


# %%
# Fit
# ---
model = LassoNetRegressor(loss=Quantile(LEVELS), random_state=0).fit(*simulate(4000, seed=0))
X_new, y_new = simulate(10_000, seed=1)
low, middle, high = model.predict(X_new).T
print(f"selected columns: {', '.join(map(str, np.flatnonzero(model.selected_)))} (0 to 4 matter)")
print(f"new rows between the 10 % and the 90 % quantile: {np.mean((low <= y_new) & (y_new <= high)):.1%}")
print(f"share of the pinball loss explained: {model.score(X_new, y_new):.2f}")

# %%
# Quantiles along two columns
# ---------------------------
# With all other columns at zero. The first column moves the target, the fifth its spread.
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, column in zip(axes, (0, MOVES_SPREAD), strict=True):
    X = np.zeros((200, N_COLUMNS))
    X[:, column] = np.linspace(-2.5, 2.5, 200)
    low, middle, high = model.predict(X).T
    ax.fill_between(X[:, column], low, high, alpha=0.25, label="10 % to 90 %")
    ax.plot(X[:, column], middle, label="median")
    for side in (-1, 0, 1):
        truth = mean(X) + side * 1.2816 * spread(X)
        label = "truth" if side == 0 else None
        ax.plot(X[:, column], truth, color="black", linewidth=0.8, linestyle="--", label=label)
    ax.set_xlabel(f"column {column}")
axes[0].set_ylabel("target, all other columns at 0")
axes[0].legend(frameon=False)
plt.show()
