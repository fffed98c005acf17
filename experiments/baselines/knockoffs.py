"""Methods that promise a false discovery rate, each behind ``select(name, X, y, fdr, seed) -> a mask``.

All are knockoff filters with Gaussian knockoffs, whose covariance is estimated from the rows and shrunk as Ledoit and Wolf do.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LassoCV

from experiments.baselines.packages import quiet
from riata import KnockoffSelector, LassoNetRegressor

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
N_DRAWS = 10
PEERS = "knockpy"  # the package of some of them; install ``riata[peers]``


def riata(X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    """Compare when columns and knockoffs leave the path of a LassoNet; all by default."""
    return _selected(LassoNetRegressor(), X, y, fdr, seed)


def riata_draws(X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    """Do so with ten draws of knockoffs, and average e-values."""
    return _selected(LassoNetRegressor(), X, y, fdr, seed, n_draws=N_DRAWS)


def lasso_riata(X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    """Compare the coefficients of a cross-validated lasso, with riata's knockoffs."""
    return _selected(LassoCV(), X, y, fdr, seed)


def _selected(estimator: Any, X: Floats, y: Floats, fdr: float, seed: int, n_draws: int = 1) -> Mask:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "nothing is selected", UserWarning)  # which is a result here
        return KnockoffSelector(estimator, fdr=fdr, n_draws=n_draws, random_state=seed).fit(X, y).selected_


def lasso(X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    """Compare the coefficients of a cross-validated lasso (knockpy, by default)."""
    return _peer("lasso", X, y, fdr, seed)


def deeppink(X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    """Compare weights of a network that couples columns and knockoffs (DeepPINK; Lu et al., 2018; knockpy, by default)."""
    return _peer("deeppink", X, y, fdr, seed)


def _peer(statistic: str, X: Floats, y: Floats, fdr: float, seed: int) -> Mask:
    if not installed(PEERS):
        raise ModuleNotFoundError(f"{statistic} needs the package {PEERS}: pip install 'riata[peers]'")
    from knockpy.knockoff_filter import KnockoffFilter

    for set_seed in (random.seed, np.random.seed, torch.manual_seed):  # the package draws from whatever is global
        set_seed(seed)
    with quiet():
        return KnockoffFilter(fstat=statistic, ksampler="gaussian").forward(X=X, y=y, fdr=fdr).astype(bool)


def installed(package: str | None) -> bool:
    """Say whether a package can be imported; none always can."""
    return package is None or find_spec(package) is not None


class Method(NamedTuple):
    """One way to select with a bound."""

    select: Callable[[Floats, Floats, float, int], Mask]
    slow: bool = False
    package: str | None = None  # what it cannot be run without


METHODS = {
    "riata": Method(riata),
    "riata_draws": Method(riata_draws, slow=True),
    "lasso": Method(lasso, package=PEERS),
    "lasso_riata": Method(lasso_riata),
    "deeppink": Method(deeppink, slow=True, package=PEERS),
}


def select(name: str, X: Floats, y: Floats, fdr: float, seed: int = 0) -> Mask:
    """Say which columns are selected."""
    return np.asarray(METHODS[name].select(X, y, fdr, seed), dtype=bool)
