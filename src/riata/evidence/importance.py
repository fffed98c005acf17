"""What the features of a fitted model are worth on rows it has not seen: how much, and whether that can be chance."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check
from riata.evidence.gaussian import COVARIANCES, FEW_VALUES, Gaussian, has_few_values, learn
from riata.jobs import Job, run
from riata.preprocess import categories

__all__ = ["holdout_p_values", "permutation_importance"]

Floats = NDArray[np.float64]
_LEAST = 1e-7  # of a probability: a row that was held impossible costs 16, and does not outweigh all others
_ENTRIES = 2**21  # of a table that goes to the model at once, 16 MiB
_ROUNDING = 1e-7  # two losses that are so close, relative to their size, are the same


def permutation_importance(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_repeats: int = 20,
    confidence: float = 0.95,
    feature_groups: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Measure how much larger the loss of a fitted model is where a feature comes from other rows.

    The loss of a row is the log loss of ``predict_proba`` for a classifier and the squared error of ``predict``, summed
    over outputs, for a regressor. The importance of a feature is E[loss(x with the feature of another row, y) − loss(x, y)],
    estimated with permutations in which no row keeps its own entry. The interval says how far other held-out rows could have
    led; it takes the model as it is. Repeats only take out the noise of shuffling. A row counts twice in the standard error,
    with the entry it receives and with the entry it gives away.

    Of features that say the same, each is worth little as long as the model has the others: permute them as a group.

    Parameters
    ----------
    model : classifier or regressor
        A fitted model with the interface of scikit-learn, or a pipeline. Features outside its ``selected_``, where it has
        that, and columns that are constant in X get exactly 0.
    X : array-like of shape (n_samples, n_features)
        Numbers, dates and, in a data frame, categories, with gaps where the model takes them. Rows that the model has not seen:
        rows it was fitted on make it look better than it is.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target.
    n_repeats : int, default=20
        Permutations of each feature.
    confidence : float, default=0.95
        How often such intervals cover the importance, about, given enough rows: below some fifty they are too narrow where
        losses are skewed. From two rows there are none (NaN).
    feature_groups : sequence or mapping, optional
        Columns to permute together: one label per feature, lists of columns, or a mapping of names to such lists.
    sample_weight : array-like of shape (n_samples,), optional
        Weights in the mean over rows. They do not count when entries are shuffled; a row of weight 0 is left out.
    n_jobs : int, optional
        How many features to work on at once. Results do not depend on it.
    random_state : int or RandomState, optional
        Seed of the permutations.

    Returns
    -------
    pandas.DataFrame
        One row per feature or group, most important first: ``feature``, ``importance``, ``low`` and ``high`` (the
        interval), ``se`` (the standard error).

    Examples
    --------
    >>> from riata.evidence import permutation_importance
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> permutation_importance(model, X[300:], y[300:], random_state=0)["feature"].tolist()[:2]
    ['s5', 'bmi']
    """
    n_repeats = check.whole("n_repeats", n_repeats, 1)
    if not 0 < check.number("confidence", confidence) < 1:
        raise ValueError(f"confidence must lie between 0 and 1, such as 0.95; got {confidence!r}")
    held = _held_out(model, X, y, "permutation_importance", sample_weight, gaps=True)
    features = _features(held, feature_groups, random_state)
    varies = _varies(held.X)
    jobs = {i: Job(f.name, (held, f, n_repeats)) for i, f in enumerate(features) if f.used and varies[f.columns].any()}
    found = np.zeros((len(features), 2))  # importance, standard error
    if jobs:
        found[list(jobs)] = run(_permuted, list(jobs.values()), n_jobs=n_jobs)
    importance, se = found.T
    margin = t.ppf((1 + confidence) / 2, held.n_effective - 1) * se
    table = {"importance": importance, "low": importance - margin, "high": importance + margin, "se": se}
    return _sorted(features, table, "importance", ascending=False)


def holdout_p_values(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_fit: ArrayLike | None = None,
    n_draws: int = 999,
    covariance: str = "ledoit-wolf",
    feature_groups: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> pd.DataFrame:
    """Test, on rows that a fitted model has not seen, whether each feature says anything beyond all others.

    The holdout randomisation test (Tansey, Veitch, Zhang, Rabadan and Blei 2018), which is the conditional randomisation test
    of Candès, Fan, Janson and Lv (2018) with the mean loss on held-out rows as its statistic T. The entries of a feature are
    drawn anew, n_draws times, from their distribution given all other columns, and p = (1 + #{T_b ≤ T}) / (1 + n_draws).

    A p-value is for the hypothesis "given all other columns of X, this one says nothing more about y". It is no size of an
    effect, and of two columns that say the same neither is needed. It is valid, whatever the model, under two conditions:

    - The rows were used neither to fit the model nor to choose it, its settings or its features. Features chosen on the same
      rows have p-values that mean nothing.
    - The columns of X are jointly Gaussian with the covariance that was learnt, and the levels of a category follow from the
      other columns by a logistic regression. That is an approximation; where it is poor, so are the p-values. A covariance that
      was shrunk makes columns less alike than they are, which favours copies: of two columns with a correlation of 0.95, the
      one that said nothing had p ≤ 0.1 on 15 % of tables of 100 rows.

    Parameters
    ----------
    model : classifier or regressor
        A fitted model with the interface of scikit-learn, or a pipeline. Features outside its ``selected_``, where it has
        that, have p = 1.
    X : array-like of shape (n_samples, n_features)
        Numbers without gaps and, in a data frame, categories: rows that the model has not seen.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target.
    X_fit : array-like of shape (n_fit, n_features), optional
        More rows to learn the Gaussian from, such as those that the model was fitted on; no target is needed, so that any rows
        of the same kind will do. Without them it is learnt from X alone, which costs power: with few rows per column, a column
        looks as if it followed from the others, and its draws resemble it. Rows of X always count, because errors of a
        Gaussian that was learnt elsewhere pass for evidence: with 60 other rows, 200 held-out ones, 15 columns and a ridge
        regression, every fifth column that said nothing had p ≤ 0.1 (with both, every fifteenth). A column that is constant
        in all of these rows has no distribution: it is left out of the Gaussian and has p = 1.
    n_draws : int, default=999
        Draws of each feature. No p-value is below 1 / (1 + n_draws), nor p_holm below that times the number of features
        in the model.
    covariance : {"ledoit-wolf", "graphical-lasso", "empirical"}, default="ledoit-wolf"
        How to estimate the covariance of the columns.
    feature_groups : sequence or mapping, optional
        Columns to test together: one label per feature, lists of columns, or a mapping of names to such lists.
    n_jobs : int, optional
        How many features to work on at once. Results do not depend on it.
    random_state : int or RandomState, optional
        Seed of the draws.

    Returns
    -------
    pandas.DataFrame
        One row per feature or group, smallest p first: ``feature``, ``p_value``, and ``p_holm``, adjusted by Holm's method for
        having tested all features in the model, so that p_holm ≤ α for any true hypothesis has a probability of at most α.

    Examples
    --------
    >>> from riata.evidence import holdout_p_values
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X = X.drop(columns="sex")  # two values, nothing like a Gaussian
    >>> model = LinearRegression().fit(X[:300], y[:300])
    >>> holdout_p_values(model, X[300:], y[300:], X_fit=X[:300], random_state=0)["feature"][0]
    'bmi'
    """
    n_draws = check.whole("n_draws", n_draws, 1)
    check.one_of("covariance", covariance, tuple(COVARIANCES))
    held = _held_out(model, X, y, "holdout_p_values", more=X_fit)
    features = _features(held, feature_groups, random_state)
    kept = np.flatnonzero(np.ptp(held.known, axis=0) > 0)
    tested = {
        i: f._replace(columns=columns)
        for i, f in enumerate(features)
        if f.used and len(columns := np.intersect1d(f.columns, kept))
    }
    p = np.ones(len(features))
    if tested:
        _warn_of_few_values(held, np.concatenate([f.columns for f in tested.values()]))
        conditional = _Conditional(held, kept, covariance)
        jobs = [Job(f.name, (held, f, conditional.of(f), n_draws)) for f in tested.values()]
        p[list(tested)] = (1 + np.array(run(_as_good, jobs, n_jobs=n_jobs))) / (1 + n_draws)
    holm = np.ones(len(features))
    holm[list(tested)] = _holm(p[list(tested)])  # which features the model uses was settled on other rows
    return _sorted(features, {"p_value": p, "p_holm": holm}, "p_value", ascending=True)


class _Feature(NamedTuple):
    """One column, or several that belong together."""

    name: str
    columns: NDArray[np.int64]
    used: bool  # by the model
    seed: int


@dataclass(frozen=True)
class _HeldOut:
    """A fitted model and rows it has not seen."""

    model: Any
    X: Floats  # (n, d), with codes in the place of levels
    target: NDArray[Any]  # positions of the classes, (n,), or numbers, (n, o)
    weights: Floats  # (n,), 1 on average
    labels: NDArray[np.object_] | None  # names of the columns, where the model knows any
    classifies: bool
    known: Floats  # (n and more, d): rows to learn how columns go together from
    levels: dict[int, pd.Series]  # of the columns of categories, in the order of their codes

    @property
    def names(self) -> list[str]:
        return [f"x{j}" for j in range(self.X.shape[1])] if self.labels is None else list(self.labels)

    @property
    def n_effective(self) -> float:
        """Number of rows of equal weight that are worth as much."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @cached_property
    def own(self) -> Floats:
        """Loss of every row as it is, (n,)."""
        return self.losses(self.X[None])[0]

    def losses(self, tables: Floats) -> Floats:
        """Loss of every row of every table, (b, n, d) → (b, n)."""
        b, n, d = tables.shape
        flat: Any = tables.reshape(b * n, d)
        if self.labels is not None:
            flat = pd.DataFrame(flat, columns=self.labels)
            for j, levels in self.levels.items():
                flat.isetitem(j, levels.take(flat.iloc[:, j].to_numpy(dtype=np.int64)).reset_index(drop=True))
        if self.classifies:
            proba = np.asarray(self.model.predict_proba(flat)).reshape(b, n, -1)
            return -np.log(np.clip(proba[:, np.arange(n), self.target], _LEAST, 1).astype(np.float64))
        predicted = np.asarray(self.model.predict(flat), dtype=np.float64).reshape(b, n, -1)
        if predicted.shape[2] != self.target.shape[1]:
            raise ValueError(f"y has {self.target.shape[1]} columns; the model predicts {predicted.shape[2]}")
        return ((predicted - self.target) ** 2).sum(axis=2)

    def losses_with(self, columns: NDArray[np.int64], entries: Floats) -> Floats:
        """Losses where these columns hold other entries, (b, n, k) → (b, n)."""
        tables = np.repeat(self.X[None], len(entries), axis=0)
        tables[:, :, columns] = entries
        return self.losses(tables)

    def batches(self, total: int) -> Iterator[int]:
        """Cut a number of tables into as many as the model sees at once."""
        size = max(1, _ENTRIES // self.X.size)
        for done in range(0, total, size):
            yield min(size, total - done)


# The work on one feature. It is done in other processes, and depends on its arguments only.


def _permuted(held: _HeldOut, feature: _Feature, n_repeats: int) -> tuple[float, float]:
    """Importance of a feature and its standard error.

    The mean over rows i and donors k of the change h(i, k) is a U-statistic: its uncertainty comes from both parts of a row,
    E[h(i, k) | i] + E[h(i, k) | k]. The first alone can be half of the standard error.
    """
    draw = np.random.default_rng(feature.seed)
    n, w = len(held.X), held.weights
    received, given, partners = np.zeros(n), np.zeros(n), np.zeros(n)
    for b in held.batches(n_repeats):
        donors = np.stack([_circle(draw, n) for _ in range(b)])  # (b, n)
        change = held.losses_with(feature.columns, held.X[:, feature.columns][donors]) - held.own
        received += w * change.sum(axis=0) / n_repeats
        given += np.bincount(donors.ravel(), (w * change).ravel(), n) / n_repeats
        partners += np.bincount(donors.ravel(), np.tile(w, b), n) / n_repeats
    mean = received.mean()
    influence = received + given - (w + partners) * mean  # (n,), sums to 0
    m = held.n_effective
    if m <= 2:  # every row gives to the other: nothing is left to tell how far they differ
        return mean, np.nan
    return mean, np.sqrt((influence**2).sum() * m / (m - 1)) * (m - 1) / (m - 2) / n


def _circle(draw: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Seat rows around a table and let each take from its neighbour: all pairs are alike, and none takes from itself."""
    order = draw.permutation(n)
    donors = np.empty(n, dtype=np.int64)
    donors[order] = np.roll(order, 1)
    return donors


class _Normal(NamedTuple):
    """Gaussian entries of k columns, with a mean per row and one covariance."""

    mean: Floats  # (n, k)
    root: Floats  # (k, k), of the covariance

    def draw(self, random: np.random.Generator, b: int) -> Floats:
        """Draw entries, (b, n, k)."""
        return self.mean + random.standard_normal((b, *self.mean.shape)) @ self.root.T


class _Levels(NamedTuple):
    """Codes of one column of categories, with probabilities per row."""

    cumulative: Floats  # (n, levels)
    codes: Floats  # (levels,)

    def draw(self, random: np.random.Generator, b: int) -> Floats:
        """Draw codes, (b, n, 1)."""
        u = random.random((b, len(self.cumulative), 1))
        return self.codes[(self.cumulative[:, :-1] < u).sum(axis=-1)][..., None]


def _as_good(held: _HeldOut, feature: _Feature, entries: _Normal | _Levels, n_draws: int) -> int:
    """Number of draws with which the model is as good as with the feature itself, or better.

    Losses that differ by rounding are equal. Otherwise a feature that a model does not use could have a small p-value: sums
    depend, in their last bits, on where in a table a row stands.
    """
    draw = np.random.default_rng(feature.seed)
    slack = _ROUNDING * held.own.mean() + (0.0 if held.classifies else _ROUNDING**2 * held.target.var(axis=0).sum())
    count = 0
    for b in held.batches(n_draws):
        change = (held.losses_with(feature.columns, entries.draw(draw, b)) - held.own).mean(axis=1)
        count += int(np.count_nonzero(change <= slack))
    return count


class _Conditional:
    """The distribution of a feature given all other columns, of which those that vary are ``kept``."""

    def __init__(self, held: _HeldOut, kept: NDArray[np.int64], covariance: str):
        self._held = held
        parts = [_indicators(held.known[:, j]) if j in held.levels else held.known[:, [j]] for j in kept]
        self._source = np.repeat(kept, [part.shape[1] for part in parts])
        self._known = np.hstack(parts)
        self._covariance = covariance

    @cached_property
    def _gaussian(self) -> Gaussian:
        return learn(self._known, self._covariance)

    def of(self, feature: _Feature) -> _Normal | _Levels:
        n, own = len(self._held.X), np.isin(self._source, feature.columns)
        coded = [int(j) for j in feature.columns if j in self._held.levels]
        if not coded:
            mean, covariance = self._gaussian.conditional(self._known[:n], np.flatnonzero(own))
            return _Normal(mean, np.linalg.cholesky(covariance).astype(np.float64))
        if len(feature.columns) > 1:
            raise ValueError(
                f"the group of {feature.name!r} holds categories, which are drawn one by one: test them so"
            )
        codes, where = np.unique(self._held.known[:, coded[0]], return_inverse=True)
        others = self._known[:, ~own]
        if not others.shape[1]:
            shares = np.tile(np.bincount(where) / len(where), (n, 1))
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(others, where)
            shares = model.predict_proba(others[:n])
        return _Levels(shares.cumsum(axis=1), codes)


def _indicators(codes: Floats) -> Floats:
    """Return a 0/1 column for each level but the commonest."""
    levels, counts = np.unique(codes, return_counts=True)
    return (codes[:, None] == np.delete(levels, counts.argmax())).astype(np.float64)


# What comes in, and what goes out.


def _held_out(
    model: Any, X: Any, y: Any, who: str, sample_weight: Any = None, more: Any = None, *, gaps: bool = False
) -> _HeldOut:
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)):
        raise ValueError(f"{who} needs a classifier or a regressor; got {type(model).__name__}")
    if is_classifier(model) and not hasattr(model, "predict_proba"):
        raise ValueError(f"{who} needs predict_proba; wrap {type(model).__name__} in a CalibratedClassifierCV")
    tables, levels = _coded(model, [X] if more is None else [X, more])
    checked = [_rows(model, table, name, who, gaps=gaps) for table, name in zip(tables, ("X", "X_fit"), strict=False)]
    X = checked[0]
    target = _labels(model, y) if is_classifier(model) else _numbers(y, who)
    check_consistent_length(X, target)
    weights = check.sample_weight(sample_weight, len(X))
    used = weights > 0
    labels = getattr(model, "feature_names_in_", None)
    X, relative = X[used], weights[used] / weights[used].mean()
    known = X if more is None else np.vstack([X, *checked[1:]])
    held = _HeldOut(model, X, target[used], relative, labels, is_classifier(model), known, levels)
    held.own  # noqa: B018 — found once, before the work is shared out
    return held


def _coded(model: Any, tables: list[Any]) -> tuple[list[Any], dict[int, pd.Series]]:
    """Put codes in the place of the levels of categories, the same in all tables; also return the levels."""
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


def _varies(X: Floats) -> NDArray[np.bool_]:
    """Say which columns are not constant; a gap differs from all else."""
    return ~(np.isclose(X, X[0], rtol=0, atol=0, equal_nan=True)).all(axis=0)


def _rows(model: Any, X: Any, name: str, who: str, *, gaps: bool) -> Floats:
    X = check.numeric_frame(X, who)
    finite = "allow-nan" if gaps and get_tags(model).input_tags.allow_nan else True
    checked = check_array(
        X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=finite, input_name=name, estimator=who
    )
    validate_data(model, X, reset=False, skip_check_array=True)  # names and number of columns
    return checked


def _labels(model: Any, y: Any) -> NDArray[np.int64]:
    """Positions of the labels among the classes of the model."""
    if isinstance(model.classes_, list):
        raise ValueError("the classifier predicts several targets; take one model for each")
    y = check.labels(column_or_1d(y, warn=True))
    codes = pd.Index(model.classes_).get_indexer(pd.Index(y))
    if (codes < 0).any():
        unknown = pd.unique(y[codes < 0])[:10].tolist()
        raise ValueError(f"y holds classes that the model does not know: {', '.join(map(repr, unknown))}")
    return codes


def _numbers(y: Any, who: str) -> Floats:
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=who)
    return y.reshape(len(y), -1)


def _features(held: _HeldOut, groups: Any, random_state: Any) -> list[_Feature]:
    """Columns by group, with a seed for each that does not depend on the others."""
    d = held.X.shape[1]
    ids = check.groups(groups, held.labels, d)
    ids = np.arange(d) if ids is None else ids
    members = [np.flatnonzero(ids == g) for g in np.unique(ids)]
    names = _names(groups, members, held.names)
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=len(members))
    selected = np.asarray(getattr(held.model, "selected_", np.ones(d, dtype=bool)))
    used = selected if selected.shape == (d,) and selected.dtype == bool else np.ones(d, dtype=bool)
    return [_Feature(n, m, bool(used[m].any()), int(s)) for n, m, s in zip(names, members, seeds, strict=True)]


def _names(groups: Any, members: list[NDArray[np.int64]], columns: list[str]) -> list[str]:
    """Names of the groups where they have some, else those of their first columns."""
    if isinstance(groups, Mapping):
        return [str(name) for name, columns in groups.items() if len(columns)]
    if groups is not None and all(isinstance(label, str) for label in groups):
        return [str(label) for label in np.unique(np.asarray(groups))]  # the order of ``check.groups``
    return [columns[m[0]] for m in members]


def _warn_of_few_values(held: _HeldOut, columns: NDArray[np.int64]) -> None:
    few = [held.names[j] for j in columns if j not in held.levels and has_few_values(held.known[:, j])]
    if few:
        shown = ", ".join(few[:10]) + (" …" if len(few) > 10 else "")
        warnings.warn(
            f"columns with {FEW_VALUES} distinct values or fewer are redrawn as Gaussian, which matches their mean and "
            f"covariance only; take their p-values as rough: {shown}",
            UserWarning,
            stacklevel=3,
        )


def _holm(p: Floats) -> Floats:
    """Holm's step-down adjustment."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1)
    return adjusted


def _sorted(features: list[_Feature], columns: dict[str, Floats], by: str, *, ascending: bool) -> pd.DataFrame:
    table = pd.DataFrame({"feature": [f.name for f in features], **columns})
    return table.sort_values(by, ascending=ascending, kind="stable", ignore_index=True)
