"""Features that could stand in for a selected one."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.embedding import Embedding

__all__ = ["alternatives"]

Floats = NDArray[np.float64]
_SAMPLES = 5_000  # that are enough for a correlation
_MOST = 5  # alternatives of one feature
_ROUNDING = 1e-6  # share of the largest singular value under which a direction is none
_LEAST = 0.1  # R² under which a feature stands in for nothing


def alternatives(
    inputs: Floats, embedding: Embedding, scale: Floats, selected: NDArray[np.bool_], names: NDArray[np.object_]
) -> pd.DataFrame:
    """Return, for each selected feature, the others that predict it best.

    Parameters
    ----------
    inputs : array of shape (n_samples, n_columns)
        What the network sees of the features.
    embedding, scale
        How features became inputs. Those of a number add up to it; those of categories are predicted one by one.
    selected : bool array of shape (n_features,)
        The features in the model.
    names : array of shape (n_features,)
        What to call them.
    """
    Z = inputs[:: max(1, len(inputs) // _SAMPLES)].astype(np.float64)
    Z = Z - Z.mean(axis=0)
    columns = np.split(np.arange(embedding.n_columns), np.cumsum(embedding.n_pieces)[:-1])  # of each feature
    chosen = np.flatnonzero(selected)
    targets = [
        _values(Z[:, columns[i]], (scale * embedding.width)[columns[i]], embedding.marks[columns[i]]) for i in chosen
    ]
    of = np.repeat(np.arange(len(chosen)), [target.shape[1] for target in targets])
    wanted = np.hstack([np.empty((len(Z), 0)), *targets])
    total = np.bincount(of, np.square(wanted).sum(axis=0), len(chosen))
    explained = np.zeros((len(chosen), len(selected)))
    for j in np.flatnonzero(~selected):
        basis, spectrum, _ = np.linalg.svd(Z[:, columns[j]], full_matrices=False)
        basis = basis[:, spectrum > _ROUNDING * spectrum.max(initial=0)]
        explained[:, j] = np.bincount(of, np.square(basis.T @ wanted).sum(axis=0), len(chosen))
    explained /= np.where(total > 0, total, np.inf)[:, None]
    rows = []
    for i, found in zip(chosen, explained, strict=True):
        best = [j for j in np.argsort(-found, kind="stable")[:_MOST] if found[j] >= _LEAST]
        rows += [(names[i], names[j], float(found[j])) for j in best]
    return pd.DataFrame(rows, columns=["feature", "alternative", "r2"])


def _values(Z: Floats, run: Floats, marks: NDArray[np.bool_]) -> Floats:
    """Return what is to be predicted of one feature: its value, or all of its levels."""
    return (
        Z
        if marks.all()
        else (Z * np.where(marks, 0, run / max(run.max(), np.finfo(float).tiny))).sum(axis=1, keepdims=True)
    )
