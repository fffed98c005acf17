"""The importance of columns and that of their knockoffs, in one fit of an estimator on both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riata.evidence import inner
from riata.evidence.knockoffs import Floats, Ids, Knockoffs
from riata.preprocess import marginal
from riata.storage import Part

__all__ = ["IMPORTANCES", "Columns", "Comparison", "compare", "draw_and_compare"]

IMPORTANCES = ("auto", "prediction_change", "estimator")


class Columns(NamedTuple):
    """The columns that have knockoffs, with their features and groups."""

    varying: NDArray[np.bool_]  # of all columns: a constant equals its knockoff, so that it has none
    source: Ids  # (varying columns,), the feature of each
    groups: Ids  # (d,), the group of each feature
    varying_groups: Ids  # (G,), the groups with varying columns
    ids: Ids  # (varying columns,), the group of each, from 0 to G − 1
    grouped: bool
    costs: Floats | None  # (varying columns,), where the estimator has costs

    def scatter(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values, (..., G), of the varying groups at their places among all groups, and zero elsewhere."""
        scattered = np.zeros((*values.shape[:-1], self.groups.max() + 1), dtype=values.dtype)
        scattered[..., self.varying_groups] = values
        return scattered


class Comparison(NamedTuple):
    """An estimator, and the data that it is fitted on together with knockoffs."""

    estimator: Any
    importance: str  # one of IMPORTANCES
    columns: Columns
    X: Floats  # (n, varying columns)
    y: Any
    weights: Floats | None
    part: Part | None = None  # of a checkpoint, for what the estimator keeps


def draw_and_compare(comparison: Comparison, knockoffs: Knockoffs, seed: int, fit: int) -> Floats:
    """Draw knockoffs, the same for every fit of one seed, and compare the groups with them."""
    X_knockoff = knockoffs.draw(comparison.X, np.random.default_rng(seed))
    return compare(comparison, X_knockoff, np.random.default_rng([seed, fit]))


def compare(comparison: Comparison, X_knockoff: Floats, rng: np.random.Generator) -> Floats:
    """Fit on columns and knockoffs; return the importance of the groups and of their knockoffs as shares of the sum, (2, G).

    Which of the two comes first is random for every group, so that the order has no influence on the sign of the difference.
    """
    estimator, importance, columns, X, y, weights, part = comparison
    n_groups = len(columns.varying_groups)
    swapped = rng.random(n_groups) < 0.5
    swap = swapped[columns.ids]
    both = np.hstack([np.where(swap, X_knockoff, X), np.where(swap, X, X_knockoff)])
    ids = np.append(columns.ids, columns.ids + n_groups)
    model, weighted = _adapted(estimator, columns, ids, rng), {} if weights is None else {"sample_weight": weights}
    inner.kept_in(model, part).fit(both, y, **weighted)
    if importance == "prediction_change" or (importance == "auto" and inner.validated(model)):
        linear = inner.linear(model)
        models = [model]
        if linear is not None:
            beside = None if part is None else part.beside("linear")
            models.append(inner.kept_in(linear, beside).fit(both, y, **weighted))
        found = np.sum([_share(inner.reliance(each, both, ids)) for each in models], axis=0)
    else:
        found = np.zeros(2 * n_groups)
        np.maximum.at(found, ids, inner.importances(model, both.shape[1]))
    found = np.where(_unassociated_categories(comparison, both, ids), 0, found)
    pair = _share(found).reshape(2, -1)
    return np.where(swapped, pair[::-1], pair)


def _share(found: Floats) -> Floats:
    share: Floats = found / max(found.sum(), np.finfo(float).tiny)
    return share


def _unassociated_categories(comparison: Comparison, both: Floats, ids: Ids) -> NDArray[np.bool_]:
    """Return which groups and which knockoffs hold a category without a clear marginal association with the target, (2G,).

    An association is clear if its p-value is at most 1 / 2G: among as many groups of noise, one would reach that on average.
    A network fits noise in many levels more easily than noise in numbers, and the sign of one large statistic would decide
    the selection. A group and its knockoff are treated alike, so that swapping them still changes the sign of W only.
    """
    columns, y, weights = comparison.columns, comparison.y, comparison.weights
    first = np.unique(columns.source, return_index=True)[1]  # column of each feature
    n_features = np.bincount(columns.ids[first], minlength=len(columns.varying_groups))
    categorical = np.tile(np.bincount(columns.ids) > n_features, 2)  # more columns than features: one for each level
    if not categorical.any():
        return categorical
    share = marginal.effective(np.ones(len(both)) if weights is None else weights)
    target = inner.screened(comparison.estimator, y, share)
    p = marginal.of_groups(marginal.measure(both, target, share), both, target, share, ids).p_values
    return categorical & (p * len(p) > 1)


def _adapted(estimator: Any, columns: Columns, ids: Ids, rng: np.random.Generator) -> Any:
    """Return an unfitted copy with new seeds, and with the groups and costs of columns and knockoffs."""
    model = inner.seeded(estimator, rng)
    settings: dict[str, Any] = {}
    for key in model.get_params():
        name = key.rpartition("__")[-1]
        if name == "feature_groups" and columns.grouped:
            settings[key] = ids
        elif name == "feature_costs" and columns.costs is not None:
            settings[key] = np.tile(columns.costs, 2)
        elif name == "categorical_features":
            settings[key] = None
    return model.set_params(**settings)
