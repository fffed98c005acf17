"""A table of thirty columns, of which twelve are true, for the tests of knockoffs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import toeplitz
from sklearn.linear_model import LassoCV

from riata.evidence import KnockoffSelector
from tests.conftest import with_training

QUICK = with_training(hidden_dims=(4,), M=1.0, preprocessing="standard", path_multiplier=1.3, n_iters=(60, 10))
NOTHING = pytest.mark.filterwarnings("ignore:nothing is selected")
FEW_VALUES = pytest.mark.filterwarnings("ignore:.* different values")

# Thirty columns, of which every other one of the first 24 matters.
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 30)) @ np.linalg.cholesky(toeplitz(0.3 ** np.arange(30))).T
TRUE = (np.arange(30) % 2 == 0) & (np.arange(30) < 24)
PAIRS = np.arange(30) // 2  # groups of neighbours
y = X[:, TRUE] @ rng.choice([-1.0, 1.0], 12) + rng.normal(size=300)


def lasso(**params) -> KnockoffSelector:
    return KnockoffSelector(LassoCV(), **({"random_state": 0} | params))


def shares(selected, true=TRUE):
    """Share of false ones among the selected, and of the true ones that are selected."""
    return (selected & ~true).sum() / max(1, selected.sum()), selected[true].mean()
