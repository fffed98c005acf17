"""Features that could stand in for a selected one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["alternatives"]

Floats = NDArray[np.float64]
_SAMPLES = 5_000  # that are enough for a correlation
_MOST = 5  # alternatives of one feature
_LEAST = 0.1  # R² under which a feature stands in for nothing


def alternatives(
    inputs: Floats, source: NDArray[np.int64], selected: NDArray[np.bool_], names: NDArray[np.object_]
) -> pd.DataFrame:
    """Return, for each selected feature, the others that predict it best.

    Parameters
    ----------
    inputs : array of shape (n_samples, n_columns)
        What the network sees of the features.
    source : int array of shape (n_columns,)
        The feature behind each column.
    selected : bool array of shape (n_features,)
        The features in the model.
    names : array of shape (n_features,)
        What to call them.
    """
    Z = inputs[:: max(1, len(inputs) // _SAMPLES)].astype(np.float64)
    Z = Z - Z.mean(axis=0)
    chosen = np.flatnonzero(selected[source])
    of = source[chosen]
    total = np.bincount(of, np.square(Z[:, chosen]).sum(axis=0), len(selected))
    shared = np.zeros((len(selected), len(selected)))  # [feature, the one that predicts it]
    order = np.argsort(source, kind="stable")
    starts = np.searchsorted(source[order], np.arange(len(selected) + 1))
    for j in np.flatnonzero(~selected):
        basis, spectrum, _ = np.linalg.svd(Z[:, order[starts[j] : starts[j + 1]]], full_matrices=False)
        basis = basis[:, spectrum > 1e-6 * spectrum.max(initial=0)]
        shared[:, j] = np.bincount(of, np.square(basis.T @ Z[:, chosen]).sum(axis=0), len(selected))
    rows = []
    for i in np.flatnonzero(selected & (total > 0)):
        found = shared[i] / total[i]
        best = [j for j in np.argsort(-found, kind="stable")[:_MOST] if found[j] >= _LEAST]
        rows += [(names[i], names[j], float(found[j])) for j in best]
    return pd.DataFrame(rows, columns=["feature", "alternative", "r2"])
