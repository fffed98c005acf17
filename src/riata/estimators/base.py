"""Estimators that select features of X: check, prepare, solve the path, apply the selection rule, store."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from riata import check
from riata.estimators import saving, sharing
from riata.estimators.export import Exports
from riata.estimators.fitting import Checked, Prepared, Settings, prepare
from riata.estimators.model import PathModel
from riata.estimators.selector import ColumnSelector
from riata.estimators.solving import Solved, solve
from riata.estimators.streaming import draw, in_batches, in_blocks, opened
from riata.losses.targets import Target
from riata.network import user
from riata.path import selection
from riata.path.points import Point
from riata.preprocess import interactions
from riata.preprocess.categories import Categories
from riata.preprocess.marginal import effective
from riata.preprocess.prepare import ColumnOptions
from riata.preprocess.redundancy import alternatives, stride
from riata.preprocess.samples import Samples, merged
from riata.preprocess.sparse import stacked
from riata.ranks import Ranks, SharedRows
from riata.sources import Rows, in_memory
from riata.storage import UNSAVED, Checkpoint

__all__ = ["BaseLassoNet"]

Floats = NDArray[np.float64]


@dataclass(repr=False, eq=False)
class BaseLassoNet(Exports, ColumnSelector, PathModel):
    """The steps of a fit."""

    _: KW_ONLY
    preprocessing: str | None = "auto"

    _streams: ClassVar[bool] = False  # whether samples may be read block by block

    # What a subclass defines.

    def _learn_target(self, y: Any, weights: Floats) -> tuple[Target, Floats]:
        """Check y; return how it is encoded, and the encoded target, (n, o)."""
        raise NotImplementedError

    def _plain_target(self, y: Any) -> Any:
        """Return y as an array that holds all of it, if it has a form of its own; what is returned is accepted, too."""
        return y

    def _column_options(self) -> ColumnOptions:
        """Check how columns are to be prepared."""
        raise NotImplementedError

    # Steps of fit.

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, resume: bool) -> Self:
        settings = self._settings()
        shared = nullcontext() if settings.ranks is None else settings.ranks.leaving()
        with self._all_or_nothing(), shared, saving.opened(self, resume) as saved:
            prepared = self._prepared(X, y, sample_weight, X_val, y_val, settings, saved)
            solved = solve(prepared, settings, saved)
            return self._store(solved, self._select(solved))

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, settings: Settings, saved: Checkpoint
    ) -> Prepared:
        """Check all data and pose the problem; of a table that is read block by block that of the rows drawn to learn from."""
        ranks = settings.ranks
        X = self._opened(X) if ranks is None else X
        if ranks is not None or not isinstance(X, Rows):
            return prepare(self._check(X, y, sample_weight, X_val, y_val, saved, ranks=ranks), settings)
        if saved is not UNSAVED:
            raise ValueError(
                "a fit to a table that is read block by block has no checkpoints: leave checkpoint out, or give X in memory"
            )
        in_batches(settings)
        drawn = draw(X, self._plain_target(y), sample_weight, self._finite() == "allow-nan", self.random_state)
        checked = self._check(drawn.frame, drawn.target, drawn.sample_weight, X_val, y_val, merges=False)
        drawn.check_target(checked.target)
        drawn = drawn.without_samples()
        return drawn.fed(checked, prepare(checked, settings), settings)

    def _opened(self, X: Any) -> Any:
        """Return X in memory, or as a table that is read block by block."""
        return opened(X) if self._streams else in_memory(X, type(self).__name__)

    def _settings(self) -> Settings:
        """Check every parameter that can be checked without data."""
        shared = self._path_settings()
        training, columns = shared.training, self._column_options()
        network = self.hidden_dims if callable(self.hidden_dims) else check.hidden_dims(self.hidden_dims)
        if not isinstance(network, tuple) and training.dropout:
            raise ValueError(
                f"dropout={training.dropout} is for layers given by their widths: put torch.nn.Dropout into the module instead"
            )
        fixed = not self.M or not user.takes_any_width(network)  # the lasso, and a module that has a width already
        if columns.how == "auto" and fixed:
            columns = columns._replace(how="standard")
        return Settings(
            columns=columns._replace(adaptive=bool(shared.adaptive), linear=not self.M),
            network=network,
            grid=shared.grid,
            dense=shared.dense,
            sparse=shared.sparse,
            M=float(self.M),
            adaptive=shared.adaptive,
            gamma=float(training.gamma),
            dropout=float(training.dropout),
            learning_rate=training.learning_rate,
            batch_size=training.batch_size,
            dtype=training.dtype,
            device=training.torch_device(),
            until=self.n_features_to_select or 0,
            verbose=bool(self.verbose),
            ranks=training.ranks(),
        )

    def _check(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        X_val: Any,
        y_val: Any,
        saved: Checkpoint = UNSAVED,
        *,
        ranks: Ranks | None = None,
        merges: bool = True,
    ) -> Checked:
        """Check all data, leave out samples of weight zero, merge equal ones, and hold some out to validate on.

        Begin or continue a checkpoint of them.
        """
        X, y, weights = self._arrays(X, y, sample_weight, X_val, ranks)
        used = weights > 0
        if not used.all():
            X, y, weights = X[used], y[used], weights[used]
        target, encoded = self._learn_target(y, weights)
        weights = effective(target.weighted(encoded, weights))
        names = getattr(self, "feature_names_in_", None)
        ids = check.groups(self.feature_groups, names, self.n_features_in_)
        costs = check.costs(self.feature_costs, names, self.n_features_in_, ids)
        check.reachable(self.n_features_to_select, costs, ids)
        random = check_random_state(saved.seed(self.random_state))
        seeds = [int(s) for s in random.randint(np.iinfo(np.int32).max, size=3)]
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val go together: give both or neither")
        if ranks is not None:
            seeds = ranks.of_first(seeds)
        if X_val is not None:
            samples = self._with_validation(X, encoded, weights, X_val, y_val, target, ranks)
        else:
            samples = _split(X, encoded, weights, self.val_size, target, seeds[0], merges=merges)
        data = {
            "X": X,
            "y": encoded,
            "sample_weight": weights,
            "the costs of columns": costs,
            "the groups of columns": ids,
        }
        if X_val is not None:
            data |= {"X_val": samples.X[samples.n_fit :], "y_val": samples.target[samples.n_fit :]}
        saved.begin(lambda: saving.fingerprint(self, data, levels=self._categories))
        return Checked(samples, target, self._categories, costs, ids, (seeds[1], seeds[2]))

    def _arrays(self, X: Any, y: Any, sample_weight: Any, X_val: Any, ranks: Ranks | None) -> tuple[Any, Any, Floats]:
        """Check X, y and weights; return them as arrays, X as rows that are shared where ranks hold them."""
        if ranks is not None:
            return sharing.joint(self, X, y, sample_weight, X_val, ranks)
        self._categories = self._learn_categories(X, sample_weight)
        X, y = self._validated(X, y, reset=True, ensure_min_samples=2)
        self._check_number()
        return X, y, check.sample_weight(sample_weight, X.shape[0])

    def _learn_categories(self, X: Any, sample_weight: Any) -> Categories | None:
        """Return the columns that hold categories, and their levels."""
        return None

    def _validated(self, X: Any, y: Any, *, reset: bool, **how: Any) -> tuple[Any, Any]:
        """Check X and y as scikit-learn does, with codes in the place of levels, and y as numbers."""
        X, y = self._encoded(X, reset=reset), self._plain_target(y)
        X, y = validate_data(self, X, y, reset=reset, multi_output=True, y_numeric=False, **self._kinds(), **how)
        if issparse(X) and self.preprocessing == "piecewise":
            raise ValueError(
                'preprocessing="piecewise" would store all entries of a sparse X: use "auto" or "standard", or X.toarray()'
            )
        return check.in_rows(X), y

    def _with_validation(
        self,
        X: Any,
        encoded: Floats,
        weights: Floats,
        X_val: Any,
        y_val: Any,
        target: Target,
        ranks: Ranks | None,
    ) -> Samples:
        if ranks is None:
            X_val, y_val = self._validated(X_val, y_val, reset=False)
            both = stacked(X, X_val)
        else:
            X_val, y_val = sharing.joint_validation(self, X_val, y_val, ranks)
            both = X.above(X_val)
        held_out = target.encode(y_val)
        return Samples(
            both,
            np.vstack([encoded, held_out]),
            np.append(weights, target.weighted(held_out, np.ones(len(held_out)))),
            len(encoded),
        )

    def _select(self, solved: Solved) -> Point:
        """Apply the selection rule."""
        compared = solved.compared(self.refit)
        return selection.select(solved.path, self.n_features_to_select, self.select, refit=compared, stacklevel=4)

    def _store(self, solved: Solved, point: Point) -> Self:
        """Become the model of a point."""
        self._solved, self._categories = solved, solved.preprocessing.categories
        self.path_ = solved.path
        return self.load(self._finished(point))

    def _finished(self, point: Point) -> Point:
        if not self._solved.knows(point, self.refit):
            warnings.warn(
                f"the point with {point.n_selected} features was not asked for before the model was pickled or saved, "
                "without the training samples: it is the penalised network, not refitted",
                UserWarning,
                stacklevel=3,
            )
        return self._solved.finished(point, self.refit)

    # The fitted model.

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature matters; larger is more important, and no two are equal.

        For a selected feature, the λ at which it leaves the path for good. The others come after these, ordered by
        what they explain of the target, by themselves and beside all others: redundant features come before noise.
        """
        check_is_fitted(self, "point_")
        return _ranked(self.path_.importances(), self.selected_, self._solved.strength)

    @property
    def alternatives_(self) -> pd.DataFrame:
        """For each selected feature the dropped ones that are most like it, the most similar first.

        ``r2`` is the share of the feature's variance that a regression on the other one explains, adjusted for the number of
        its inputs, such as the levels of a category; those below 0.25 are left out. It needs the training samples, which a
        pickled model does not hold.
        """
        check_is_fitted(self, "point_")
        solved = self._solved
        if solved.refit is None:
            raise AttributeError(
                "alternatives_ needs the training samples, which a pickled or loaded model does not hold"
            )
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_).astype(object))
        problem, learnt = solved.refit.solver.problem, solved.preprocessing
        inputs = problem.every(stride(problem.n_fit_of_all))
        return alternatives(inputs, learnt.expansion, learnt.scaling.scale, self.selected_, names)

    @property
    def interactions_(self) -> pd.DataFrame:
        """The features that are associated with the target together, the clearest first: pairs, and in narrow tables triples.

        ``statistic`` is standard normal, about, where features do not interact; ``p_value`` is corrected for the number of all
        tests, and below 0.05; ``selected`` says whether all of the features are in the model. ``feature_3`` is None for a pair.
        They come from the training samples. ``screening_`` says what was tested.
        """
        check_is_fitted(self, "point_")
        found = self._solved.preprocessing.screening.interactions or interactions.none(self.n_features_in_)
        given = getattr(self, "feature_names_in_", range(self.n_features_in_))
        names = np.array([*given, None], dtype=object)  # the last for the third feature of a pair
        frame = pd.DataFrame(names[found.features], columns=["feature_1", "feature_2", "feature_3"])
        there = np.array([*self.selected_, True])[found.features].all(axis=1)
        return frame.assign(statistic=found.statistic, p_value=found.p_value, selected=pd.Series(there, dtype=bool))

    @property
    def screening_(self) -> str:
        """What was tested on the training samples before the path, and why pairs were not.

        "none", "pairs", "pairs and triples" or "marginal", followed by the reason where ``screening="auto"`` left pairs out.
        """
        check_is_fitted(self, "point_")
        return self._solved.preprocessing.screening.tested

    def _get_support_mask(self) -> NDArray[np.bool_]:
        return self.selected_

    def _output(self, X: ArrayLike) -> Floats:
        """Return the output for samples of X, on the scale of the target, (n, o)."""
        check_is_fitted(self, "point_")
        weights, X = self.point_.weights, opened(X)
        if isinstance(X, Rows):
            return in_blocks(X, weights.features, lambda block: self._solved.output(weights, self._numbers(block)))
        return self._solved.output(weights, self._numbers(X))

    def _coefficients(self) -> Floats:
        """Return the linear weights on the original scale of X and of the target, (o, d)."""
        check_is_fitted(self, "point_")
        return self._solved.coefficients(self.point_.weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _split(
    X: Any, encoded: Floats, weights: Floats, share: float, target: Target, seed: int, *, merges: bool
) -> Samples:
    """Hold a share of the samples out to validate on, with classes in proportion."""
    if not share:
        apart = isinstance(X, SharedRows) or not merges
        return Samples(X, encoded, weights, len(encoded)) if apart else merged(X, encoded, weights)
    strata, subjects = target.strata(encoded), target.subjects(encoded)
    where = np.arange(len(encoded))
    if subjects is not None:  # a subject has the highest label of its samples
        _, where = np.unique(subjects, return_inverse=True)
        if strata is not None:
            highest = np.full(where.max() + 1, strata.min())
            np.maximum.at(highest, where, strata)
            strata = highest if np.bincount(highest)[np.unique(highest)].min() > 1 else None
    if not where.any():
        raise ValueError(
            "y holds one subject, no part of which can be held out: use val_size=0, or give X_val and y_val"
        )
    n, n_classes = int(where.max()) + 1, 1 if strata is None else len(np.unique(strata))
    n_val = min(max(int(np.ceil(share * n)), n_classes), n - n_classes)
    parts = train_test_split(np.arange(n), test_size=n_val, stratify=strata, random_state=seed)
    fit, val = (np.flatnonzero(np.isin(where, part)) for part in parts)
    order = np.concatenate([fit, val])
    return Samples(X[order], encoded[order], weights[order], len(fit), split=True, order=order)


def _ranked(importances: Floats, selected: NDArray[np.bool_], strength: Floats) -> Floats:
    """Order the features that are not selected by their strength, of equals by importance, below those that are."""
    others = np.flatnonzero(~selected)
    if not len(others) or not strength.any():
        return importances
    order = others[np.lexsort([importances[others], strength[others]])]
    lowest = importances[selected].min(initial=importances.max())
    ranked = importances.copy()
    ranked[order] = lowest * np.arange(1, len(order) + 1) / (len(order) + 1)
    return ranked
