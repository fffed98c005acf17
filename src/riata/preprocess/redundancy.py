"""What features that are not selected are worth: what each explains, and which selected one it could stand in for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, issparse
from sklearn.linear_model import Ridge

from riata.preprocess.correlations import Standardised, standardise
from riata.preprocess.expansion import Expansion

__all__ = ["alternatives", "contributions", "stride"]

Floats = NDArray[np.float64]
_SAMPLES = 20_000  # that are enough for a regression
_NONLINEAR = 0.03  # weight of the share of variance that bins of a feature explain
_ENTRIES = 2**21  # of a block of columns
_MOST = 5  # alternatives of one feature
_AT_ONCE = 64  # features whose correlations are held at a time
_ROUNDING = 1e-6  # share of the largest singular value under which a direction is none
_LEAST = 0.25  # r² under which two columns are not similar: that of a correlation of a half


def stride(n_samples: int) -> int:
    """Return every how many samples there are enough for a regression."""
    return max(1, n_samples // _SAMPLES)


def alternatives(
    inputs: Floats | csr_array,
    embedding: Expansion,
    scale: Floats,
    selected: NDArray[np.bool_],
    names: NDArray[np.object_],
) -> pd.DataFrame:
    """Return, for each selected feature, the others that predict it best, with an adjusted r² of at least 0.25.

    The share of variance that a regression on the other feature explains grows with its number of inputs, k, whatever they
    hold: 30 random levels explain a tenth of 300 samples. Therefore r² = 1 − (1 − R²) (n − 1) / (n − 1 − k), 0 by chance.

    Parameters
    ----------
    inputs : array or sparse table of shape (n_samples, n_columns)
        The inputs of the network, of samples at a ``stride``; what is stored of them, where each column of a sparse table is
        one of them.
    embedding, scale
        How features became inputs. Those of a number add up to it; those of categories are predicted one by one.
    selected : bool array of shape (n_features,)
        The features in the model.
    names : array of shape (n_features,)
        What to call them.
    """
    Z = inputs.astype(np.float64)
    chosen = np.flatnonzero(selected)
    explained = _by_correlation(Z, chosen) if issparse(Z) else _by_regression(Z, embedding, scale, selected)
    rows = []
    for i, found in zip(chosen, explained, strict=True):
        found[selected] = 0
        best = [j for j in np.argsort(-found, kind="stable")[:_MOST] if found[j] >= _LEAST]
        rows += [(names[i], names[j], float(found[j])) for j in best]
    return pd.DataFrame(rows, columns=["feature", "alternative", "r2"])


def _by_correlation(Z: csr_array, chosen: NDArray[np.int64]) -> Iterator[Floats]:
    """Yield, for each feature that is chosen, the share of its variance that each feature explains; all have one column."""
    n = Z.shape[0]
    standardised = standardise(Z, np.full(n, 1 / n))
    for start in range(0, len(chosen), _AT_ONCE):
        wanted = standardised.columns(chosen[start : start + _AT_ONCE])
        yield from _adjusted(np.square(standardised.correlations(wanted)), n, 1).T


def _by_regression(Z: Floats, embedding: Expansion, scale: Floats, selected: NDArray[np.bool_]) -> Floats:
    """Return, for each feature that is selected, the share of its variance that each of the others explains."""
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
    return explained


def _adjusted(share: Floats, n: int, n_inputs: int) -> Floats:
    """Return shares of variance less what inputs of noise would explain; 0 where there are as many inputs as samples."""
    rest = n - 1 - n_inputs
    return 1 - (1 - share) * (n - 1) / rest if rest > 0 else np.zeros_like(share)


def contributions(
    inputs: Floats | csr_array, target: Floats, weights: Floats, embedding: Expansion, scale: Floats, nonlinear: Floats
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
    extent = np.ptp(target, axis=0)  # outputs in one unit; 1 for classes
    Y = _centred(target[::every] / np.where(extent > 0, extent, 1), share)
    total = np.square(Y).sum()
    if not total:
        return _NONLINEAR * nonlinear
    Y /= np.sqrt(total)
    if issparse(inputs):
        explained = _of_columns(standardise(inputs.astype(np.float64), share), Y, n)
        return np.sqrt(np.maximum(explained[0], 0) * explained[1]) + _NONLINEAR * nonlinear
    blocks = _Blocks(inputs, share, embedding, scale)
    coefficients = _ridge(blocks, Y, _strength(len(blocks.source), n))
    explained = np.square(blocks.products(Y)).sum(axis=1), np.square(coefficients).sum(axis=1)
    source, n_features = blocks.source, embedding.n_features
    marginal, joint = (np.bincount(source, each, n_features) for each in explained)
    marginal -= (np.bincount(source) - 1) / n  # what noise explains of each further level
    return np.sqrt(np.maximum(marginal, 0) * joint) + _NONLINEAR * nonlinear


def _of_columns(Z: Standardised, Y: Floats, n: float) -> tuple[Floats, Floats]:
    """Return what each column of a sparse table explains of the target by itself, and beside all others."""
    coefficients = Z.ridge(Y, _strength(len(Z.mean), n))
    return np.square(Z.correlations(Y)).sum(axis=1), np.square(coefficients).sum(axis=1)


def _strength(n_columns: int, n: float) -> float:
    """Return the strength of a ridge regression: a covariance of many columns and few samples is in doubt."""
    doubt = min(n_columns / n, 0.9)
    return doubt / (1 - doubt)


class _Blocks:
    """The standardised values of all features, some features at a time, so that a wide table is not copied.

    Parameters
    ----------
    inputs, share, embedding, scale
        As for :func:`contributions`; the shares sum to 1.
    """

    def __init__(self, inputs: Floats, share: Floats, embedding: Expansion, scale: Floats):
        self._inputs, self._share = inputs, share
        self._marks, self._run = embedding.marks, scale * embedding.width
        self._columns = _columns(embedding)
        marked = np.array([self._marks[at].all() for at in self._columns])
        widths = np.where(marked, embedding.n_pieces, 1)
        self.source = np.repeat(np.arange(len(widths)), widths)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self._share)

    def __iter__(self) -> Iterator[Floats]:
        size = max(1, _ENTRIES // max(1, self.n_samples))
        for start in range(0, len(self._columns), size):
            here = self._columns[start : start + size]
            Z = self._inputs[:, here[0][0] : here[-1][-1] + 1].astype(np.float64)
            if Z.shape[1] > len(here):
                first = here[0][0]
                Z = np.hstack([_value(Z[:, at - first], self._marks[at], self._run[at]) for at in here])
            Z = _centred(Z, self._share)
            spread = np.sqrt(np.square(Z).sum(axis=0))
            Z /= np.where(spread > 0, spread, 1)
            yield Z

    def products(self, Y: Floats) -> Floats:
        """Return the products of all values with some columns, (n_values, ·)."""
        return np.vstack([Z.T @ Y for Z in self])


def _ridge(blocks: _Blocks, Y: Floats, alpha: float) -> Floats:
    """Return the coefficients of a ridge regression, (n_values, o)."""
    n = blocks.n_samples
    if len(blocks.source) <= n:
        found: Floats = Ridge(alpha, fit_intercept=False).fit(np.hstack(list(blocks)), Y).coef_
        return found.reshape(Y.shape[1], -1).T
    kernel = alpha * np.eye(n)
    for Z in blocks:
        kernel += Z @ Z.T
    return blocks.products(cho_solve(cho_factor(kernel), Y))


def _centred(table: Floats, share: Floats) -> Floats:
    """Centre by weighted samples, and weigh samples so that sums of products are covariances."""
    return (table - share @ table) * np.sqrt(share)[:, None]


def _columns(embedding: Expansion) -> list[NDArray[np.int64]]:
    """Return the positions of each feature's inputs."""
    return np.split(np.arange(embedding.n_columns), np.cumsum(embedding.n_pieces)[:-1])


def _value(Z: Floats, marks: NDArray[np.bool_], run: Floats) -> Floats:
    """Return a feature's value, to which its pieces add up, or all of its levels."""
    if marks.all() or Z.shape[1] == 1:
        return Z
    value: Floats = (Z * np.where(marks, 0, run / max(run.max(), np.finfo(float).tiny))).sum(axis=1, keepdims=True)
    return value
