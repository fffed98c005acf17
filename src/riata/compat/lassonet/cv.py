"""λ by cross-validation, as in ``lassonet``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from riata.compat.lassonet.base import BaseLassoNet, plain
from riata.compat.lassonet.history import HistoryItem
from riata.compat.lassonet.utils import eval_on_path

__all__ = ["BaseLassoNetCV"]


@dataclass(repr=False, eq=False)
class BaseLassoNetCV(BaseLassoNet):
    """Solves a path on every fold, and one on all samples up to the λ with the best mean score.

    Parameters
    ----------
    cv : int, splitter or iterable, optional
        As in scikit-learn; 5 folds by default.
    """

    cv: Any = None
    _: KW_ONLY

    def path(self, X: Any, y: Any, *, return_state_dicts: bool = True) -> list[HistoryItem]:  # type: ignore[override]
        """Select λ, and solve the path on all samples up to it; the model is at that λ afterwards.

        Parameters
        ----------
        X, y : array-like
            Samples and their target.
        return_state_dicts : bool
            Not used: items always have a ``state_dict``.

        Returns
        -------
        list of HistoryItem
            From the dense model to the selected one.
        """
        X, y = plain(X), plain(y)
        self.raw_paths_: list[list[HistoryItem]] = []
        self.raw_scores_: list[list[float]] = []
        for fit, test in check_cv(self.cv).split(X, y):
            self.raw_paths_.append(super().path(X[fit], y[fit]))
            self.raw_scores_.append(eval_on_path(self, self.raw_paths_[-1], X[test], y[test]))
        self._choose()
        path = super().path(X, y, lambda_seq=self.lambdas_[: self._best + 1])
        while len(path) > 1 and not path[-1].selected.any():
            path.pop()  # all samples may lose the last feature before the folds do
        self.load(path[-1])
        self.best_selected_ = path[-1].selected
        return path

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Select λ, and solve the path on all samples up to it.

        Parameters
        ----------
        X, y : array-like
            Samples and their target.

        Returns
        -------
        self
            The estimator, at the selected λ.
        """
        self.path(X, y)
        return self

    def _choose(self) -> None:
        """Interpolate the scores of the folds to one grid of λ, and select the λ with the highest mean."""
        folds = [np.array([item.lambda_ for item in path[1:]]) for path in self.raw_paths_]
        lowest, highest = min(lambdas[0] for lambdas in folds), max(lambdas[-1] for lambdas in folds)
        n_steps = int(np.ceil(np.log(highest / lowest) / np.log(self.path_multiplier)))
        self.lambdas_ = (lowest * self.path_multiplier ** np.arange(max(n_steps, 1))).tolist()
        lines = [
            np.interp(np.log(self.lambdas_), np.log(lambdas), scores[1:])
            for lambdas, scores in zip(folds, self.raw_scores_, strict=True)
        ]
        self.interp_scores_ = np.stack(lines, axis=-1)
        self._best = int(np.nanargmax(self.interp_scores_.mean(axis=1)))
        self.best_lambda_ = self.lambdas_[self._best]
        self.best_cv_scores_ = self.interp_scores_[self._best]
        self.best_cv_score_ = self.best_cv_scores_.mean()
