"""What features that are not selected are worth: what each explains, and which selected one it could stand in for."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from riata.preprocess.expansion import Expansion

__all__ = ["alternatives", "contributions", "stride"]

Floats = NDArray[np.float64]
_SAMPLES = 20_000  # that are enough for a regression
_NONLINEAR = 0.03  # weight of the share of variance that bins of a feature explain
_MOST = 5  # alternatives of one feature
_ROUNDING = 1e-6  # share of the largest singular value under which a direction is none
_LEAST = 0.25  # r² under which two columns are not similar: that of a correlation of a half


def stride(n_samples: int) -> int:
    """Return every how many samples there are enough for a regression."""
    return max(1, n_samples // _SAMPLES)


def alternatives(
    inputs: Floats, embedding: Expansion, scale: Floats, selected: NDArray[np.bool_], names: NDArray[np.object_]
) -> pd.DataFrame:
    """Return, for each selected feature, the others that predict it best, with an adjusted r² of at least 0.25.

    The share of variance that a regression on the other feature explains grows with its number of inputs, k, whatever they
    hold: 30 random levels explain a tenth of 300 samples. Therefore r² = 1 − (1 − R²) (n − 1) / (n − 1 − k), 0 by chance.

    Parameters
    ----------
    inputs : array of shape (n_samples, n_columns)
        The inputs of the network, of samples at a ``stride``.
    embedding, scale
        How features became inputs. Those of a number add up to it; those of categories are predicted one by one.
    selected : bool array of shape (n_features,)
        The features in the model.
    names : array of shape (n_features,)
        What to call them.
    """
    Z = inputs.astype(np.float64)
    Z = Z - Z.mean(axis=0)
    columns = _columns(embedding)
    chosen = np.flatnonzero(selected)
    marks, run = embedding.marks, scale * embedding.width
    targets = [_value(Z[:, at], marks[at], run[at]) for at in (columns[i] for i in chosen)]
    of = np.repeat(np.arange(len(chosen)), [target.shape[1] for target in targets])
    wanted = np.hstack([np.empty((len(Z), 0)), *targets])
    total = np.bincount(of, np.square(wanted).sum(axis=0), len(chosen))
    explained = np.zeros((len(chosen), len(selected)))
    for j in np.flatnonzero(~selected):
        basis, spectrum, _ = np.linalg.svd(Z[:, columns[j]], full_matrices=False)
        basis = basis[:, spectrum > _ROUNDING * spectrum.max(initial=0)]
        share = np.bincount(of, np.square(basis.T @ wanted).sum(axis=0), len(chosen)) / np.where(
            total > 0, total, np.inf
        )
        explained[:, j] = _adjusted(share, len(Z), basis.shape[1])
    rows = []
    for i, found in zip(chosen, explained, strict=True):
        best = [j for j in np.argsort(-found, kind="stable")[:_MOST] if found[j] >= _LEAST]
        rows += [(names[i], names[j], float(found[j])) for j in best]
    return pd.DataFrame(rows, columns=["feature", "alternative", "r2"])


def _adjusted(share: Floats, n: int, n_inputs: int) -> Floats:
    """Return shares of variance less what inputs of noise would explain; 0 where there are as many inputs as samples."""
    rest = n - 1 - n_inputs
    return 1 - (1 - share) * (n - 1) / rest if rest > 0 else np.zeros_like(share)


def contributions(
    inputs: Floats, target: Floats, weights: Floats, embedding: Expansion, scale: Floats, nonlinear: Floats
) -> Floats:
    """Return what each feature explains of the target, by itself and beside the others, (n_features,).

    |r_j| |β_j| + 0.03 b_j: r_j is the correlation of feature j with the target, β_j its coefficient in a ridge regression on
    all standardised features, and b_j (``nonlinear``) the share of the target's variance that its bins explain. A copy of
    another feature has a correlation but no coefficient; noise has neither. Norms are taken over outputs and levels, and
    ``weights`` sum to the number of samples they stand for. ``inputs`` are those of samples at a ``stride``, target and
    weights of all.
    """
    every = stride(len(target))
    n = weights[::every].sum()
    share = weights[::every] / n
    values, source = _all_values(inputs.astype(np.float64), embedding, scale)
    extent = np.ptp(target, axis=0)  # outputs in one unit; 1 for classes
    Z, Y = (_centred(table, share) for table in (values, target[::every] / np.where(extent > 0, extent, 1)))
    total = np.square(Y).sum()
    if not total:
        return _NONLINEAR * nonlinear
    spread = np.sqrt(np.square(Z).sum(axis=0))
    Z, Y = Z / np.where(spread > 0, spread, 1), Y / np.sqrt(total)
    doubt = min(Z.shape[1] / n, 0.9)  # of a covariance of many columns and few samples
    coefficients = Ridge(doubt / (1 - doubt), fit_intercept=False).fit(Z, Y).coef_.reshape(Y.shape[1], -1)
    explained = np.square(Z.T @ Y).sum(axis=1), np.square(coefficients).sum(axis=0)
    marginal, joint = (np.bincount(source, each, embedding.n_features) for each in explained)
    marginal -= (np.bincount(source) - 1) / n  # what noise explains of each further level
    return np.sqrt(np.maximum(marginal, 0) * joint) + _NONLINEAR * nonlinear


def _centred(table: Floats, share: Floats) -> Floats:
    """Centre by weighted samples, and weigh samples so that sums of products are covariances."""
    return (table - share @ table) * np.sqrt(share)[:, None]


def _columns(embedding: Expansion) -> list[NDArray[np.int64]]:
    """Return the positions of each feature's inputs."""
    return np.split(np.arange(embedding.n_columns), np.cumsum(embedding.n_pieces)[:-1])


def _all_values(Z: Floats, embedding: Expansion, scale: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the values of all features side by side, and which feature each column is of."""
    if embedding.n_columns == embedding.n_features:
        return Z, np.arange(embedding.n_features)
    marks, run = embedding.marks, scale * embedding.width
    values = [_value(Z[:, at], marks[at], run[at]) for at in _columns(embedding)]
    return np.hstack(values), np.repeat(np.arange(len(values)), [each.shape[1] for each in values])


def _value(Z: Floats, marks: NDArray[np.bool_], run: Floats) -> Floats:
    """Return a feature's value, to which its pieces add up, or all of its levels."""
    if marks.all() or Z.shape[1] == 1:
        return Z
    value: Floats = (Z * np.where(marks, 0, run / max(run.max(), np.finfo(float).tiny))).sum(axis=1, keepdims=True)
    return value
