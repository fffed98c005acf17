"""Matrix completion: fill the gaps of a table, from as few of its columns as you like."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check, completion, threads
from riata.completion import Completer, FilledPoint, Gaps, Trained, Trainer
from riata.completion.table import given_validation, hold_out, prepare
from riata.completion.training import linear_precision
from riata.estimators import saving
from riata.estimators.documentation import documented
from riata.estimators.model import PathModel, PathSettings
from riata.estimators.training import Stages
from riata.network.stacked import Network
from riata.path import selection
from riata.path.points import Path, Point
from riata.path.solve import solve_path
from riata.progress import PathProgress
from riata.solver.stopping import Stopping, affordable
from riata.sources import in_memory
from riata.storage import Checkpoint

__all__ = ["LassoNetImputer"]

Floats = NDArray[np.float64]
Table = NDArray[np.floating]
Mask = NDArray[np.bool_]
_ITERS_FACTOR = 4  # times as many iterations at each λ as other estimators: many columns have to take over from each
_SEED = 848  # of scores; not one that gaps are likely to be drawn with, as then there would be nothing to hide
_SCORED = 0.1  # share of the known entries that a score hides


@documented
@dataclass(repr=False, eq=False)
class LassoNetImputer(OneToOneFeatureMixin, TransformerMixin, PathModel):
    """Fill the gaps of a table with a network, and find the few columns that are enough to know all others.

    A residual network f(x) = skip(x) + g(x) from the columns of X to the same columns is trained to predict entries that are
    hidden from it: every few iterations another random share of the known entries. What is hidden or missing is filled with the
    network's output, several times in turn. The linear part starts as Soft-Impute, with a penalty selected on validation
    entries (up to 2,000 columns; tables with more start at random, and need memory for the square of their number).

    Then the path is solved as in the other estimators, so that fewer and fewer columns are measured to fill in all of them.
    ``path_`` holds the error of the dense network where all but a point's columns are gaps. ``at(n_features=k)`` uses it;
    for few columns a network trained for them, with ``n_features_to_select=k`` or for given ``columns``, is clearly better.

    Gaps may lie anywhere, in new samples too. A known entry is never changed, and values filled in lie between the lowest and
    the highest known value of their column.

    Parameters
    ----------
    hidden_dims : tuple of int, default=(256, 256)
        Widths of the hidden layers.
    missing_values : float or NaN, default=NaN
        What stands for a gap; ``pd.NA`` and ``None`` are the same as NaN.
    add_indicator : bool, default=False
        Append columns of zeros and ones that say where gaps were, for the columns that had some when the model was fitted.
    keep_empty_features : bool, default=False
        Keep columns that held nothing but gaps when the model was fitted, filled with 0; they are left out otherwise.
    hide : float, default=0.2
        Share of the known entries that are hidden at a time. With 0 every entry is input and target at once: the network
        learns to repeat its input, and gaps keep their initial fill, the mean of the sample.
    columns : sequence, optional
        Columns that can be measured, by position or name: only these are inputs, and no path is solved.
    adaptive : float, default=0
        Exponent of an adaptive penalty, as for the other estimators; "auto" is 0.5 for M > 0.
    <parameters>
    val_size : float, default=0.1
        Share of the known entries held out to validate on; 0 for none.
    select : {"best", "1se"} or float, default="best"
        How a point is selected where ``n_features_to_select`` is not given: the one of lowest error on the validation entries,
        the sparsest within one paired standard error of it, or the last one whose λ does not exceed a number.
    refit : {"scratch", "warm", False}, default="scratch"
        Refit on the selected columns only, without a penalty, from new weights or from the selected point's weights.

    Attributes
    ----------
    <attributes>
    history_ : DataFrame
        The course of training: iterations, error on hidden entries and on validation entries, number of fills, relative
        change of the filled entries.
    n_fills_ : int
        How many times gaps are filled with the network's output, selected on the validation entries.
    indicator_ : MissingIndicator or None
        What ``add_indicator`` adds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from riata import LassoNetImputer
    >>> X, _ = load_iris(return_X_y=True)
    >>> X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    >>> model = LassoNetImputer(hidden_dims=(20, 20), random_state=0).fit(X)
    >>> bool(np.isnan(model.transform(X)).any())
    False
    >>> bool(model.score(X) > 0.5)
    True
    """

    hidden_dims: Any = (256, 256)
    _: KW_ONLY
    missing_values: Any = np.nan
    add_indicator: bool = False
    keep_empty_features: bool = False
    hide: float = 0.2
    columns: Any = None
    adaptive: float | str = 0.0
    val_size: float = 0.1
    select: str | float = "best"
    refit: str | bool = "scratch"

    _stages: ClassVar[Stages] = Stages(n_iters=(1500, None), patience=(150, 10), tol=1e-3)

    # Fitting.

    def fit(self, X: ArrayLike, y: Any = None, *, X_val: ArrayLike | None = None, resume: bool = False) -> Self:
        """Learn to fill gaps, solve the path to fewer and fewer columns, and select a point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, with gaps or without. Column names of a data frame are kept.
        y : None
            Not used; here for scikit-learn's pipelines.
        X_val : array-like of shape (n_samples, n_features), optional
            Entries to validate on instead of a random part of X: their values, and gaps elsewhere. Where X is known too, it
            is treated as a gap.
        resume : bool, default=False
            Continue the fit in the folder ``checkpoint``, if there is one, rather than begin one.

        """
        settings = self._settings()
        with self._all_or_nothing(), saving.opened(self, resume) as saved:
            table, known = self._check_table(X, fitting=True)
            held_out, seeds = self._held_out(table, known, X_val, saved)
            data = {"X": [table, known], "X_val": held_out, "the names of columns": self._names()}
            saved.begin(lambda: saving.fingerprint(self, data))
            self._network = Network(self.n_features_in_, check.hidden_dims(self.hidden_dims))
            with threads.worth(len(table), self.n_features_in_, self._network):
                gaps = self._prepare(table, known, held_out, settings)
                point = self._solve(gaps, settings, seeds, saved)
        return self.load(point)

    def _prepare(self, table: Table, known: Mask, held_out: Floats, settings: PathSettings) -> Gaps:
        """Scale the table by the entries to learn from."""
        training = settings.training
        self._known, gaps = prepare(
            table, known & np.isnan(held_out), held_out, training.dtype, training.torch_device()
        )
        self._empty = ~known.any(axis=0)
        self._gappy = (~known).any(axis=0) if self.add_indicator else None
        return gaps

    def _solve(self, gaps: Gaps, settings: PathSettings, seeds: tuple[int, int], saved: Checkpoint) -> Point:
        """Train the dense network, solve the path, select a point and train for its columns."""
        until = self.n_features_to_select or 0
        with PathProgress(self.n_features_in_, until=until, shown=bool(self.verbose)) as progress:
            training = self._training(gaps, settings, seeds, progress, saved)
            completer, trained = training.run(self._inputs())
            first = self._trained(training, completer, trained)
            weights, multiplier = completion.val_weights(gaps), settings.grid.multiplier
            if self.columns is not None or first.n_selected <= until:
                self.path_ = Path([first], multiplier=multiplier, val_weights=weights)
                return first if self.columns is not None else self._select()
            sparse = settings.sparse
            if not sparse.n_iters:
                sparse = replace(sparse, n_iters=_ITERS_FACTOR * affordable(completer.problem.X.numel()))
            there = Stopping(0, None, 0.0)  # the dense model is trained already
            (path,) = solve_path(
                completer, trained.weights, settings.grid, there, sparse, until=until, on_point=progress, saved=saved
            )
            evaluated = completion.evaluate_path(path[1:], self._network, gaps, first)
            self.path_ = Path([first, *evaluated], multiplier=multiplier, val_weights=weights)
            return self._refitted(self._select(), training)

    def _refitted(self, point: Point, training: Trainer) -> Point:
        """Train for the columns of a point alone."""
        if not self.refit or not point.lambda_ or not point.n_selected:
            return point
        completer, trained = training.run(point.weights.features, point if self.refit == "warm" else None)
        return self._trained(training, completer, trained, point.lambda_)

    # The fitted model.

    def transform(self, X: ArrayLike) -> NDArray[np.floating]:
        """Fill the gaps of X; known entries come back as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, those of ``fit`` or new ones, with gaps anywhere. Only their selected columns are used.

        Returns
        -------
        array of shape (n_samples, n_features_out)
            Without columns that held nothing when the model was fitted (see ``keep_empty_features``), and with indicators
            appended where ``add_indicator`` is set.
        """
        check_is_fitted(self, "point_")
        table, known = self._check_table(X, fitting=False)
        filled = np.where(known, table, self._known.within(self._completed(table, known).astype(table.dtype)))
        kept = filled[:, self._kept()]
        if self.indicator_ is None:
            return kept
        return np.hstack([kept, self.indicator_.transform(np.where(known, 0.0, np.nan)).astype(kept.dtype)])

    def predict_entries(self, X: ArrayLike) -> Floats:
        """Return the network's estimate of every entry of X, known ones included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.

        Returns
        -------
        array of shape (n_samples, n_features)
            The estimates.
        """
        check_is_fitted(self, "point_")
        return self._completed(*self._check_table(X, fitting=False))

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Hide a tenth of the known entries of X at random, fill them in, and return the share of their variance explained.

        Every column counts on the scale it was trained on: 1 is perfect, 0 is as good as the means of the training table's
        columns. Which entries are hidden depends on the shape of X only.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, with the columns of ``fit``.
        y : None
            Not used; here for scikit-learn's pipelines.

        Returns
        -------
        float
            The share.
        """
        check_is_fitted(self, "point_")
        table, known = self._check_table(X, fitting=False)
        scaled = self._known.scaling
        chance = np.random.default_rng([_SEED, *known.shape]).random(known.shape)
        hidden = known & (chance < _SCORED) & (scaled.scale > 0)
        if not hidden.any():
            raise ValueError(f"X has {int(known.sum())} known entries: too few to hide a tenth of them and score those")
        missed = (table - self._completed(table, known & ~hidden))[hidden]
        scale, center = (np.broadcast_to(row, table.shape)[hidden] for row in (scaled.scale, scaled.center))
        spread = np.square((table[hidden] - center) / scale).sum()
        return float(1 - np.square(missed / scale).sum() / spread) if spread > 0 else 0.0

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the columns of what :meth:`transform` returns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of X, if it had none in ``fit``.

        Returns
        -------
        array of str
            The names.
        """
        check_is_fitted(self, "point_")
        names = super().get_feature_names_out(input_features)
        more = [] if self.indicator_ is None else self.indicator_.get_feature_names_out(names)
        return np.concatenate([names[self._kept()], np.asarray(more, dtype=object)])

    @property
    def indicator_(self) -> MissingIndicator | None:
        """What ``add_indicator`` adds."""
        if self._gappy is None:
            return None
        gaps = np.where(self._gappy, np.nan, 0.0)[None]  # a sample with a gap in each of these columns
        return MissingIndicator(error_on_new=False).fit(gaps)

    @property
    def history_(self) -> pd.DataFrame:
        """The course of training, one row per evaluation."""
        check_is_fitted(self, "path_")
        return pd.DataFrame(self._history)

    @property
    def n_fills_(self) -> int:
        """How many times gaps are filled with the network's output."""
        check_is_fitted(self, "point_")
        return cast(FilledPoint, self.point_).n_fills

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._gaps_are_nan()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # Steps.

    def _settings(self) -> PathSettings:
        check.number("hide", self.hide, high=0.9)
        if not self._gaps_are_nan():
            check.number("missing_values", self.missing_values, low=-np.inf)  # NaN is dealt with already
        settings = self._path_settings()
        if settings.training.dropout or settings.training.batch_size not in ("auto", None):
            raise ValueError("LassoNetImputer takes neither dropout nor batch_size: leave them out of training")
        return settings

    def _gaps_are_nan(self) -> bool:
        value = self.missing_values
        return value is None or type(value).__name__ == "NAType" or (isinstance(value, Real) and value != value)

    def _check_table(self, X: Any, *, fitting: bool) -> tuple[Table, Mask]:
        """Return a table of numbers and which of them are known."""
        table = validate_data(
            self,
            check.numeric_frame(in_memory(X, type(self).__name__), type(self).__name__, dates=False),
            reset=fitting,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self._gaps_are_nan() else True,
            ensure_min_samples=2 if fitting else 1,
        )
        known = ~np.isnan(table) if self._gaps_are_nan() else table != self.missing_values
        if fitting:
            self._check_number()
        if fitting and not known.any():
            raise ValueError(f"X holds nothing but gaps: no entry differs from missing_values={self.missing_values!r}")
        return table, known

    def _training(
        self,
        gaps: Gaps,
        settings: PathSettings,
        seeds: tuple[int, int],
        progress: PathProgress,
        saved: Checkpoint,
    ) -> Trainer:
        """Check what concerns single columns, and put together all that training takes."""
        names = self._names()
        ids = check.groups(self.feature_groups, names, self.n_features_in_)
        costs = check.costs(self.feature_costs, names, self.n_features_in_, ids)
        check.reachable(self.n_features_to_select, costs, ids)
        return Trainer(
            self._network,
            gaps,
            linear_precision(gaps),
            M=float(self.M),
            costs=costs,
            ids=ids,
            gamma=float(settings.training.gamma),
            adaptive=settings.adaptive,
            hide=float(self.hide),
            learning_rate=float(settings.training.learning_rate),
            stopping=settings.dense,
            seeds=seeds,
            on_evaluation=lambda row: progress.train(row.n_iters, row.val_error),
            saved=saved,
        )

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def _inputs(self) -> NDArray[np.int64]:
        if self.columns is None:
            return np.arange(self.n_features_in_)
        given = check.positions(self.columns, self._names(), self.n_features_in_, "columns")
        if not given:
            raise ValueError("columns must name at least one column to measure")
        return np.unique(given)

    def _held_out(self, table: Table, known: Mask, X_val: Any, saved: Checkpoint) -> tuple[Floats, tuple[int, int]]:
        """Return the values of the entries to validate on, NaN elsewhere, and the seeds of training."""
        random = check_random_state(saved.seed(self.random_state))
        seeds = [int(s) for s in random.randint(np.iinfo(np.int32).max, size=3)]
        if X_val is None:
            return hold_out(table, known, self.val_size, seeds[0]), (seeds[1], seeds[2])
        values, there = self._check_table(X_val, fitting=False)
        return given_validation(known, values, there), (seeds[1], seeds[2])

    def _select(self) -> Point:
        """Select a point; where nothing says which is best, all columns are better than few."""
        if self.n_features_to_select is None and isinstance(self.select, str) and self.path_.val_weights is None:
            return self.path_[0]
        return selection.select(self.path_, self.n_features_to_select, self.select, stacklevel=4)

    def _trained(self, training: Trainer, completer: Completer, trained: Trained, lambda_: float = 0.0) -> FilledPoint:
        """Remember how training went, and return where it ended."""
        self._history = trained.history
        return training.point(completer, trained, lambda_)

    def _completed(self, table: Table, known: Mask) -> Floats:
        """Return what the network says of every entry."""
        return self._known.fill(self._network, cast(FilledPoint, self.point_), table, known)

    def _kept(self) -> Any:
        """Mark the columns that are returned."""
        return np.ones(self.n_features_in_, dtype=bool) if self.keep_empty_features else ~self._empty
