"""Simulations for selections that make promises: Gaussian columns, of which some act on the target and all others do not.

A column that merely goes along with a true one is false. In the gated settings a pair (a, b) adds x_a where x_b is positive and
nothing elsewhere: x_b opens and closes, and by itself, among independent columns, says nothing of the mean of the target.
In the settings of pairs a pair (a, b) adds x_a x_b: no column says anything by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Result

Draw = np.random.Generator
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_STRENGTH = 4.5  # of a linear effect, in 1 / √n
_AR = 0.5  # correlation of neighbours


class Sample(NamedTuple):
    """Rows, and which columns act on the target."""

    X: Floats
    y: Floats
    truth: Mask


class Design(NamedTuple):
    """How rows are drawn."""

    correlation: float  # of neighbouring columns; 0 draws independent ones
    signal: Callable[[Draw, Floats], Floats]  # what the true columns, (n, k), do to the target
    n: int = 500
    p: int = 100
    k: int = 20


def linear(rng: Draw, x: Floats) -> Floats:
    """Add all columns up, with signs at random."""
    n, k = x.shape
    return _STRENGTH / np.sqrt(n) * (x @ rng.choice([-1.0, 1.0], k))


def gated(rng: Draw, x: Floats) -> Floats:
    """Of each two columns, add the first where the second is positive."""
    return (x[:, ::2] * (x[:, 1::2] > 0)).sum(axis=1)


def paired(rng: Draw, x: Floats) -> Floats:
    """Multiply each two columns, with signs at random, and add the products up."""
    products = x[:, ::2] * x[:, 1::2]
    return products @ rng.choice([-1.0, 1.0], products.shape[1])


DESIGNS = {
    "independent_linear": Design(0.0, linear),
    "independent_gated": Design(0.0, gated),
    "ar_linear": Design(_AR, linear),
    "ar_gated": Design(_AR, gated),
    "independent_pairs": Design(0.0, paired, n=1000),
    "ar_pairs": Design(_AR, paired, n=1000),
    "small": Design(_AR, linear, n=400, p=24, k=12),
}
PAIRS = ("independent_pairs", "ar_pairs")
FULL = tuple(name for name in DESIGNS if name not in ("small", *PAIRS))
QUICK = ("small",)
TITLES = {
    "independent_linear": "independent, linear",
    "independent_gated": "independent, gated",
    "ar_linear": "AR(0.5), linear",
    "ar_gated": "AR(0.5), gated",
    "independent_pairs": "independent, pairs",
    "ar_pairs": "AR(0.5), pairs",
    "small": "AR(0.5), linear, small",
}


def found(results: Sequence[Result]) -> list[str]:
    """Return the designs that there are results for, in order."""
    return [name for name in DESIGNS if any(result["config"]["data"] == name for result in results)]


def text(results: Sequence[Result]) -> str:
    """Describe the designs that there are results for, all of one size."""
    design = DESIGNS[found(results)[0]]
    return (
        f"There are {design.n} rows of {design.p} Gaussian columns, independent or a chain in which neighbours correlate by "
        f"{_AR:g}; {design.k} of them, drawn anew for every sample, act on the target, and noise of variance 1 is added. "
        f"Linear: their sum, each times ±{_STRENGTH:g}/√n. Gated: the sum, over pairs (a, b), of x_a where x_b > 0; among "
        "independent columns x_b shows no effect by itself. Pairs: the sum, over pairs, of ± x_a x_b, with 1,000 rows; no "
        "column shows an effect by itself."
    )


def wanted(asked: tuple[str, ...] | None, quick: bool, full: tuple[str, ...] = FULL) -> tuple[str, ...]:
    """Return the designs to run: those asked for, or those of a full run; a small one in a quick run."""
    if asked is not None:
        return tuple(name for name in DESIGNS if name in asked)
    return QUICK if quick else full


def draw(name: str, seed: int) -> Sample:
    """Draw rows, and the places of the true columns among them."""
    design = DESIGNS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    X = chain(rng.standard_normal((design.n, design.p)), design.correlation)
    places = rng.permutation(design.p)[: design.k]
    y = design.signal(rng, X[:, places]) + rng.standard_normal(design.n)
    return Sample(X, y, np.isin(np.arange(design.p), places))


def chain(noise: Floats, correlation: float) -> Floats:
    """Turn independent columns of variance 1 into such in which each follows from the one before and something of its own."""
    X = noise.copy()
    for j in range(1, X.shape[1]):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * noise[:, j]
    return X


# How good a selection is.


def false_share(selected: Mask, truth: Mask) -> float:
    """Return the false discovery proportion: the share of false columns among the selected, 0 if none is."""
    return float((selected & ~truth).sum() / max(selected.sum(), 1))


def power(selected: Mask, truth: Mask) -> float:
    """Return the share of the true columns that is selected."""
    return float((selected & truth).sum() / truth.sum())


def jaccard(one: set[int], other: set[int]) -> float:
    """Return the share of what either holds that both hold; two empty sets are the same."""
    return len(one & other) / len(one | other) if one | other else 1.0
