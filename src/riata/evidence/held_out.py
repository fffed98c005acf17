"""A fitted model and held-out samples: what permutation importances and p-values have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check
from riata.check.naming import some
from riata.estimators.selector import named
from riata.estimators.supervised import Supervised
from riata.evidence import inner
from riata.preprocess import categories
from riata.sources import in_memory

__all__ = ["Feature", "HeldOut", "check_held_out", "list_features", "sorted_table"]

Floats = NDArray[np.float64]
_MAX_ENTRIES = 2**21  # of the tables that are predicted at once: 16 MiB of float64


class Feature(NamedTuple):
    """One column, or several that form a group."""

    name: str
    columns: NDArray[np.int64]
    used: bool  # by the model
    seed: int


@dataclass(frozen=True)
class HeldOut:
    """A fitted model, and samples that it was not fitted on."""

    model: Any
    X: Any  # (n, d), an array with codes in the place of levels, or sparse
    target: NDArray[Any]  # positions of the classes, (n,), or numbers, (n, o)
    weights: Floats  # (n,), 1 on average
    feature_names: NDArray[np.object_] | None  # where the model knows them
    kind: str  # "classes", "numbers", or "own" for a model that knows the losses of samples itself
    X_all: Any  # (n and more, d): samples to estimate the distribution of the columns from
    levels: dict[int, pd.Series]  # of the categorical columns, in the order of their codes

    @property
    def names(self) -> list[str]:
        """Names of the columns; x0, x1, … where the model knows none."""
        return [f"x{j}" for j in range(self.X.shape[1])] if self.feature_names is None else list(self.feature_names)

    @property
    def n_effective(self) -> float:
        """Effective sample size, (Σw)² / Σw²."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @cached_property
    def baseline(self) -> Floats:
        """Loss of every sample, (n,)."""
        return self._losses(self.X).reshape(-1)

    def losses(self, tables: Floats) -> Floats:
        """Loss of every sample of every table, (b, n, d) → (b, n)."""
        return self._losses(tables.reshape(-1, tables.shape[2]))

    def _losses(self, flat: Any) -> Floats:
        """Loss of every sample of b tables, stacked to (b · n, d): (b, n)."""
        n = self.X.shape[0]
        b = flat.shape[0] // n
        if self.feature_names is not None:
            flat = named(flat, self.feature_names)
            for j, levels in self.levels.items():
                flat.isetitem(j, levels.take(flat.iloc[:, j].to_numpy(dtype=np.int64)).reset_index(drop=True))
        if self.kind == "own":
            found: Floats = _own_losses(self.model, flat, self.target, self.weights)
            return found
        if self.kind == "classes":
            proba = np.asarray(self.model.predict_proba(flat)).reshape(b, n, -1)
            # The loss of a probability of 0 is 16 instead of infinite, so that one sample does not decide the mean.
            likelihood: Floats = np.clip(proba[:, np.arange(n), self.target], 1e-7, 1).astype(np.float64)
            return -np.log(likelihood)
        predicted = np.asarray(self.model.predict(flat), dtype=np.float64).reshape(b, n, -1)
        if predicted.shape[2] != self.target.shape[1]:
            raise ValueError(f"y has {self.target.shape[1]} columns; the model predicts {predicted.shape[2]}")
        errors: Floats = ((predicted - self.target) ** 2).sum(axis=2)
        return errors

    def losses_with(self, columns: NDArray[np.int64], entries: Floats) -> Floats:
        """Losses where these columns hold other entries, (b, n, k) → (b, n)."""
        if issparse(self.X):
            return self._losses(_with(self.X, columns, entries))
        tables = np.repeat(self.X[None], len(entries), axis=0)
        tables[:, :, columns] = entries
        return self.losses(tables)

    def batches(self, total: int) -> Iterator[int]:
        """Split a number of tables into batches that are predicted at once."""
        size = max(1, _MAX_ENTRIES // self.X.size)
        for done in range(0, total, size):
            yield min(size, total - done)


def check_held_out(
    model: Any,
    X: Any,
    y: Any,
    caller: str,
    *,
    sample_weight: Any = None,
    X_fit: Any = None,
    shuffled: bool = False,
) -> HeldOut:
    """Check a fitted model and held-out samples; those of weight zero are left out.

    If values are only to be ``shuffled``, some may be missing, and X may be sparse: no distribution is estimated.
    """
    check_is_fitted(model)
    kind = _kind(model)
    if kind is None:
        raise ValueError(
            f"{caller} needs the loss of each sample: of a classifier, a regressor or a survival model of riata; got "
            f"{type(model).__name__}"
        )
    if is_classifier(model) and not hasattr(model, "predict_proba"):
        raise ValueError(f"{caller} needs predict_proba; wrap {type(model).__name__} in a CalibratedClassifierCV")
    X = in_memory(X, caller)
    given = {"X": X} if X_fit is None else {"X": X, "X_fit": X_fit}
    tables, levels = _encoded(model, list(given.values()))
    tags = get_tags(model).input_tags
    finite = "allow-nan" if shuffled and tags.allow_nan else True
    sparse = "csr" if shuffled and tags.sparse else False
    if not shuffled:
        for name, table in zip(given, tables, strict=True):
            _refuse_gaps(table, name, caller)
    checked = [_checked(model, table, name, caller, finite, sparse) for name, table in zip(given, tables, strict=True)]
    X = checked[0]
    y = inner.plain_target(model, y)
    target = _class_positions(model, y) if kind == "classes" else _numbers(y, caller)
    check_consistent_length(X, target)
    weights = check.sample_weight(sample_weight, X.shape[0])
    kept = weights > 0
    X, relative = X[kept], weights[kept] / weights[kept].mean()
    X_all = X if X_fit is None else np.vstack([X, *checked[1:]])
    names = getattr(model, "feature_names_in_", None)
    held_out = HeldOut(model, X, target[kept], relative, names, kind, X_all, levels)
    held_out.baseline  # noqa: B018 — computed once, before the work is distributed
    return held_out


def list_features(held_out: HeldOut, groups: Any, random_state: Any) -> list[Feature]:
    """Return the features, or groups of columns, each with a seed that does not depend on which others are used."""
    d = held_out.X.shape[1]
    ids = check.groups(groups, held_out.feature_names, d)
    ids = np.arange(d) if ids is None else ids
    members = [np.flatnonzero(ids == g) for g in np.unique(ids)]
    names = _group_names(groups, members, held_out.names)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(members))
    selected = np.asarray(getattr(held_out.model, "selected_", np.ones(d, dtype=bool)))
    used = selected if selected.shape == (d,) and selected.dtype == bool else np.ones(d, dtype=bool)
    return [Feature(n, m, bool(used[m].any()), int(s)) for n, m, s in zip(names, members, seeds, strict=True)]


def sorted_table(features: list[Feature], columns: dict[str, Floats], by: str, *, ascending: bool) -> pd.DataFrame:
    """Return a data frame with one row per feature, sorted by a column; ties keep their order."""
    table = pd.DataFrame({"feature": [f.name for f in features], **columns})
    return table.sort_values(by, ascending=ascending, kind="stable", ignore_index=True)


def _kind(model: Any) -> str | None:
    """Return which losses a model has, or None if it has none."""
    last = inner.last_step(model)
    if isinstance(last, Supervised) and last._has_own_losses:
        return "own"
    if is_classifier(model) or is_regressor(model):
        return "classes" if is_classifier(model) else "numbers"
    return None


def _own_losses(model: Any, tables: Any, target: Floats, weights: Floats) -> Floats:
    """Return the losses of samples by the end of a pipeline, or by the model itself."""
    last = inner.last_step(model)
    found: Floats = last._sample_losses(tables if last is model else model[:-1].transform(tables), target, weights)
    return found


def _encoded(model: Any, tables: list[Any]) -> tuple[list[Any], dict[int, pd.Series]]:
    """Replace the levels of categorical columns by codes, the same in all tables; also return the levels."""
    if not hasattr(model, "feature_names_in_") or not all(isinstance(table, pd.DataFrame) for table in tables):
        return tables, {}
    first, levels = tables[0], {}
    tables = [table.copy(deep=False) for table in tables]
    for j in range(first.shape[1]) if all(table.shape[1] == first.shape[1] for table in tables) else []:
        if not categories.holds_text(first.iloc[:, j]):
            continue
        column = pd.concat([table.iloc[:, j] for table in tables], ignore_index=True)
        codes, _ = pd.factorize(column, use_na_sentinel=False)
        levels[j] = column.iloc[np.unique(codes, return_index=True)[1]]
        for table, part in zip(tables, np.split(codes, np.cumsum(list(map(len, tables)))[:-1]), strict=True):
            table.isetitem(j, part.astype(np.float64))
    return tables, levels


def _checked(model: Any, X: Any, name: str, caller: str, finite: bool | str, sparse: str | bool) -> Any:
    X = check.numeric_frame(X, caller)
    kinds: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": finite, "accept_sparse": sparse}
    checked = check_array(X, ensure_min_samples=2, input_name=name, estimator=caller, **kinds)
    validate_data(model, X, reset=False, skip_check_array=True)  # names and number of columns
    return check.in_rows(checked)


def _with(X: csr_array, columns: NDArray[np.int64], entries: Floats) -> csr_array:
    """Stack sparse tables in which these columns hold other entries, (b, n, k): (b · n, d)."""
    b, n, k = entries.shape
    others = X.copy()
    others.data[np.isin(others.indices, columns)] = 0
    where = np.repeat(np.arange(b * n), k), np.tile(columns, b * n)
    return csr_array(vstack([others] * b) + csr_array((entries.ravel(), where), shape=(b * n, X.shape[1])))


def _refuse_gaps(X: Any, name: str, caller: str) -> None:
    """Refuse missing values where the distribution of all columns is needed; the columns are named."""
    if not isinstance(X, pd.DataFrame):
        return
    columns = [str(name) for name, gaps in zip(X.columns, X.isna().any(), strict=True) if gaps]
    if columns:
        raise ValueError(
            f"{name} contains NaN, in {some(columns)}: {caller} needs the distribution of all columns. Fill the gaps "
            "first (LassoNetImputer, SimpleImputer), and fit the model on filled samples as well"
        )


def _class_positions(model: Any, y: Any) -> NDArray[np.int64]:
    """Positions of the labels among the classes of the model."""
    if isinstance(model.classes_, list):
        raise ValueError("the classifier predicts several targets; take one model for each")
    y = check.labels(column_or_1d(y, warn=True))
    codes: NDArray[np.int64] = pd.Index(model.classes_).get_indexer(pd.Index(y))
    if (codes < 0).any():
        unknown = pd.unique(y[codes < 0])[:10].tolist()
        raise ValueError(f"y holds classes that the model does not know: {', '.join(map(repr, unknown))}")
    return codes


def _numbers(y: Any, caller: str) -> Floats:
    numbers: Floats = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=caller)
    return numbers.reshape(len(numbers), -1)


def _group_names(groups: Any, members: list[NDArray[np.int64]], columns: list[str]) -> list[str]:
    """Names of the groups where they have some, else those of their first columns."""
    if isinstance(groups, Mapping):
        return [str(name) for name, columns in groups.items() if len(columns)]
    if groups is not None and all(isinstance(label, str) for label in groups):
        return [str(label) for label in np.unique(np.asarray(groups))]  # the order of ``check.groups``
    return [columns[m[0]] for m in members]
