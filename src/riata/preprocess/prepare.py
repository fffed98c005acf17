"""From checked samples to inputs of a network: one function learns, one frozen object holds what was learnt and applies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse

from riata.preprocess import expansion, scaling, sparse
from riata.preprocess.categories import Categories
from riata.preprocess.expansion import Expansion
from riata.preprocess.penalty import penalty_weights
from riata.preprocess.samples import Samples
from riata.preprocess.scaling import Scaling
from riata.preprocess.screening import Screening, grouped, screen
from riata.preprocess.sparse import Implicit

__all__ = ["ColumnOptions", "Prepared", "Preprocessing", "prepare"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class ColumnOptions(NamedTuple):
    """How columns are to become inputs."""

    how: str | None  # "auto", "standard", "piecewise", or None: as they are
    missing: str = "error"  # "indicator", "mean", "error"
    screening: str | None = None  # "auto", "marginal", "pairs", None
    adaptive: bool = True  # whether features without an association have larger penalty weights
    linear: bool = False  # whether the model is, M = 0
    reconstruct: bool = False  # whether columns are targets too: the scale is bounded, not the values

    def for_sparse(self) -> ColumnOptions:
        """Return the options for a sparse table, whose zeros stay what they are: its columns are scaled, and no more."""
        return self._replace(how=self.how and "standard", missing="error")


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Everything that was learnt from the columns of the training samples, as it is applied to others."""

    categories: Categories | None
    expansion: Expansion
    scaling: Scaling
    screening: Screening

    @property
    def n_inputs(self) -> int:
        """Number of inputs that all features have become."""
        return self.expansion.n_columns

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Which inputs never vary, (n_inputs,)."""
        constant: NDArray[np.bool_] = self.scaling.scale == 0
        return constant

    def encode(self, X: Any) -> Any:
        """Put codes in the place of levels."""
        return X if self.categories is None else self.categories.encode(X)

    def inputs(self, X: NDArray[np.floating], dtype: Any, columns: Ids | None = None) -> NDArray[Any]:
        """Return some or all of the inputs that a network gets of encoded samples, (n, ·)."""
        return self.scaling.apply(X, dtype, columns, self.expansion)

    def implicit(self, X: Any) -> Implicit:
        """Return the inputs of a sparse table without writing out the entries that are zero in it."""
        return sparse.scaled(X, self.scaling.center, self.scaling.scale)

    def slopes(self, weights: NDArray[np.floating], columns: Ids, features: Ids) -> Floats:
        """Return linear weights of inputs, (k, o), as those of features in their own units, (n_features, o).

        A feature that was expanded into pieces has its average slope over them; a category has none, NaN.
        """
        learnt = self.expansion
        coefficients = np.zeros((weights.shape[1], learnt.n_features))
        run = (self.scaling.scale * learnt.run)[columns]
        slopes = weights.T.astype(np.float64) / np.where(run > 0, run, np.inf)
        n_pieces = np.bincount(learnt.source[~learnt.marks], minlength=learnt.n_features)
        slopes /= np.maximum(n_pieces, 1)[features]
        slopes[:, learnt.marks[columns]] = 0
        slopes[:, n_pieces[features] == 0] = np.nan
        np.add.at(coefficients.T, features, slopes.T)
        return coefficients.T


class Prepared(NamedTuple):
    """What is learnt of columns, and what follows for the penalty of each input."""

    preprocessing: Preprocessing
    penalty_weights: Floats  # (n_inputs,)
    ids: Ids | None  # (n_inputs,) of the groups that enter and leave together; None: each input by itself


def prepare(
    samples: Samples,
    options: ColumnOptions,
    *,
    screened: Floats | None = None,
    categories: Categories | None = None,
    costs: Floats,
    ids: Ids | None = None,
    n_informative: tuple[int, int] | None = None,
    device: torch.device | str = "cpu",
) -> Prepared:
    """Learn from the training samples how columns become inputs, and the penalty weight of each.

    Parameters
    ----------
    samples : Samples
        Encoded.
    options : ColumnOptions
        How to.
    screened : array of shape (n_fit, ·), optional
        The target of the training samples for screening; None: no screening.
    categories : Categories, optional
        How X was encoded.
    costs, ids : array of shape (n_features,)
        Penalty weights and groups that the user gave.
    n_informative : tuple of int, optional
        How many samples count where all columns are expanded, and where one with a clear effect is; None for all.
    device
        Where pairs are tested.
    """
    X, _, weights = samples.fit
    if issparse(X):
        X, options = X.tocsc(), options.for_sparse()
    n_levels = None if categories is None else categories.n_levels(X.shape[1])
    needed = options.adaptive or options.how == "auto" or options.screening == "pairs"
    found = Screening()
    if screened is not None and options.screening is not None and needed:
        found = screen(options.screening, X, screened, weights, n_levels, device)
    expanded = _expansion(X, weights, options, found, n_levels, n_informative or (len(weights), len(weights)))
    factors = found.associations if options.adaptive else None
    if factors is not None and ids is not None and screened is not None:
        factors = grouped(found, X, screened, weights, ids).associations
    weighted = costs * penalty_weights(expanded.size, factors, ids, linear=options.linear)
    learnt = Preprocessing(categories, expanded, _scaling(X, weights, options, expanded), found)
    if expanded.trivial:
        return Prepared(learnt, weighted, ids)
    source = expanded.source
    return Prepared(learnt, weighted[source], source if ids is None else ids[source])


def _expansion(
    X: NDArray[np.floating],
    weights: Floats,
    options: ColumnOptions,
    found: Screening,
    n_levels: Ids | None,
    n_informative: tuple[int, int],
) -> Expansion:
    """Expand columns into pieces: all where samples allow, else those that are nonlinear or interact."""
    (n, n_clear), d = n_informative, X.shape[1]
    if issparse(X):
        return expansion.identity(d)
    pieces = np.ones(d, dtype=np.int64)
    if options.how == "piecewise":
        pieces[:] = expansion.affordable_pieces(n_clear)
    elif options.how == "auto":
        pieces[:] = expansion.affordable_pieces(n, d)
        if found.associations is not None:
            pieces[found.associations.nonlinear] = expansion.affordable_pieces(n_clear)
        if found.interactions is not None:
            pieces[found.interactions.interacting] = expansion.affordable_pieces(n_clear)
    marked = options.missing == "indicator"
    return expansion.learn(X, weights, pieces, n_levels, tame=options.how == "auto", mark_missing=marked)


def _scaling(X: NDArray[np.floating], weights: Floats, options: ColumnOptions, expanded: Expansion) -> Scaling:
    if options.how is None:
        return scaling.identity(expanded.n_columns)
    if options.reconstruct:
        return scaling.learn(X, weights, floor=scaling.FLOOR)
    return scaling.learn(X, weights, expanded, limit=scaling.LIMIT if options.how == "auto" else np.inf)
