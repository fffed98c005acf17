"""Two tests of one interaction: of the product of basis functions, and of the cells of a grid.

The product b of basis functions, less what fewer of the features explain of it, b̃, is tested by

    T = Σ r b̃ / √(Σ v b̃²)

with the residual r of the target and its variance v. The grid tests any interaction of two features: with the sums S_c of
residuals and V_c of variances over the cells c, in row i and column j of the grid,

    X² = min over a, b of Σ_c (S_c − V_c (a_i + b_j))² / V_c        ~ χ²(cells − rows − columns + 1)

It is the stronger one for patterns that no single product shows, such as a ring.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from riata.preprocess.interactions.basis import Basis
from riata.preprocess.interactions.residuals import Target

__all__ = ["grid_p_value", "product_test", "redundant"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
_REDUNDANT = (
    0.9  # correlation of the ranks of two features over which they are one, which does not interact with itself
)
_LEFT = 0.1  # share of the variance of a product that main effects must leave for a test
_NEWTON = 60  # steps of the saddlepoint equation, halved where Newton's leave the bracket


def redundant(basis: Basis, columns: list[int], weights: Floats) -> bool:
    """Say whether two of the basis columns are nearly the same."""
    share = weights / weights.sum()
    parts = basis.columns[:, columns].astype(np.float64)
    centred = parts - share @ parts
    covariance = (centred * share[:, None]).T @ centred
    spread = np.sqrt(np.diag(covariance))
    return bool(np.abs(np.triu(covariance / np.outer(spread, spread), 1)).max() > _REDUNDANT)


def product_test(
    basis: Basis, columns: list[int], target: Target, weights: Floats, level: float
) -> tuple[float, float]:
    """Return the statistic T of a product and its two-sided p-value; above ``level`` it is a lower bound."""
    r, variance = target.residual, target.variance
    x = _adjusted(basis, columns, weights, variance)
    if x is None:
        return 0.0, 1.0
    total = float(weights @ (x * r))
    statistic = total / float(np.sqrt(weights @ (np.square(x) * variance)))
    robust = total / float(np.sqrt(weights @ np.square(x * r)))  # smaller where the residual varies more where x does
    p_value = float(2 * ndtr(-min(abs(statistic), abs(robust))))
    if target.mean is not None and p_value <= level:
        p_value = max(p_value, 2 * tail(x * np.sign(total), target.mean, weights, abs(total)))
    return statistic, min(p_value, 1.0)


def _adjusted(basis: Basis, columns: list[int], weights: Floats, variance: Floats) -> Floats | None:
    """Return the product of basis columns less what fewer of the features explain; None where little is left.

    Fewer are main effects, with polynomials up to the third degree, and for triples the products of two.
    """
    parts = [basis.columns[:, c].astype(np.float64) for c in columns]
    product = np.prod(parts, axis=0)
    lower = [np.ones((len(product), 1))]
    for c in columns:
        own = basis.of(basis.source[c])
        lower += [own, own[:, :1] * own[:, 1:2]]
    if len(columns) == 3:
        lower += [(parts[a] * parts[b])[:, None] for a, b in ((0, 1), (0, 2), (1, 2))]
    design = np.hstack(lower)
    root = np.sqrt(weights * variance)
    scaled = design * root[:, None]
    coefficients = np.linalg.lstsq(scaled.T @ scaled, scaled.T @ (product * root), rcond=1e-10)[0]
    left = product - design @ coefficients
    return left if weights @ np.square(left) > _LEFT * (weights @ np.square(product)) else None


def grid_p_value(first: Ids, second: Ids, target: Target, weights: Floats) -> float:
    """Return the p-value of the cells of two features' bins.

    A cell in which residuals vary more than they should has the larger variance, so that what varies is not taken for an
    interaction.
    """
    n_rows, n_columns = first.max() + 1, second.max() + 1
    cell, size = first * n_columns + second, n_rows * n_columns
    sums = np.bincount(cell, weights * target.residual, size)
    expected = np.bincount(cell, weights * target.variance, size)
    spread = np.maximum(expected, np.bincount(cell, weights * np.square(target.residual), size))
    used = np.flatnonzero(spread > 0)
    row, column = np.divmod(used, n_columns)
    design = np.hstack([row[:, None] == np.arange(n_rows), column[:, None] == np.arange(n_columns)])
    root = np.sqrt(spread[used])
    scaled, standardised = design * (expected[used] / root)[:, None], sums[used] / root
    main_effects, _, rank, _ = np.linalg.lstsq(scaled, standardised, rcond=1e-8)
    freedom = len(used) - rank
    left = standardised - scaled @ main_effects
    return float(chdtrc(freedom, left @ left)) if freedom else 1.0


def tail(x: Floats, mean: Floats, weights: Floats, total: float) -> float:
    """Return P(Σ x (y − mean) ≥ total) for y ~ Bernoulli(mean), by Lugannani and Rice's formula."""
    logit = np.log(mean / (1 - mean))

    def slope(t: float) -> tuple[float, float]:
        tilted = 1 / (1 + np.exp(-np.clip(logit + t * x, -700, 700)))
        return float(weights @ (x * (tilted - mean))), float(weights @ (np.square(x) * tilted * (1 - tilted)))

    low, high, t = 0.0, np.inf, 0.0
    for _ in range(_NEWTON):
        value, curvature = slope(t)
        low, high = (t, high) if value < total else (low, t)
        step = t + (total - value) / max(curvature, 1e-300)
        inside = low < step < high and step < 10 * (low + 1)
        following = step if inside else (2 * low + 1 if np.isinf(high) else (low + high) / 2)
        if abs(following - t) <= 1e-9 * (1 + t):
            break
        t = following
    curvature = slope(t)[1]
    cumulant = weights @ (np.logaddexp(np.log1p(-mean), np.log(mean) + t * x) - t * mean * x)
    signed = float(np.sqrt(max(2 * (t * total - float(cumulant)), 0)))
    scaled = t * np.sqrt(curvature)
    if signed < 1e-3 or scaled <= 0:
        return 0.5
    return float(ndtr(-signed - np.log(scaled / signed) / signed))
