"""What a report shows of predictions for held-out samples: what is known of them, and how a model's outputs compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import auc, confusion_matrix, roc_curve

from riata import check
from riata.estimators import LassoNetClassifier, LassoNetIntervalRegressor, LassoNetRegressor
from riata.report.numbers import Floats, each, shorter
from riata.survival.groups import of_equal_size
from riata.survival.kaplan_meier import kaplan_meier

__all__ = ["Outcome", "outcome_of"]

_MATRIX_CLASSES, _ROC_CLASSES = 40, 12  # at most
_ROC_POINTS, _SAMPLES, _TIMES = 80, 300, 60  # at most


class Outcome(Protocol):
    """Held-out samples of one kind of target."""

    @property
    def kind(self) -> str:
        """Its name in the dictionary of a report."""
        ...

    @property
    def units(self) -> NDArray[np.int64]:
        """Codes of what was sampled, (n,): the samples, or subjects with several of them."""
        ...

    def truth(self) -> dict[str, Any]:
        """Return what a report holds once."""
        ...

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return what it holds for each point."""
        ...


def outcome_of(model: Any, y: Any, n: int) -> Outcome:
    """Return the held-out samples of a model."""
    if isinstance(model, LassoNetClassifier):
        return Labels(np.asarray(y)) if model._target.coding.many else Classes(model.classes_, np.asarray(y))
    if isinstance(model, LassoNetRegressor):
        return Numbers(model._target.loss.expanded(model._target.columns(y)), _names(y))
    if isinstance(model, LassoNetIntervalRegressor):
        return Intervals(n, np.quantile(model.unique_times_, np.linspace(0, 1, _TIMES)))
    return Times(y, check.survival(y))


def _names(y: Any) -> list[str]:
    return [str(name) for name in y.columns] if isinstance(y, pd.DataFrame) else []


@dataclass(frozen=True, eq=False)
class Classes:
    """One class for each sample."""

    classes: NDArray[Any]
    y: NDArray[Any]
    kind: str = "classes"

    @property
    def units(self) -> NDArray[np.int64]:
        """Each sample by itself."""
        return np.arange(len(self.y))

    def truth(self) -> dict[str, Any]:
        """Return the classes."""
        names = [str(name) for name in self.classes]
        counts = [int((self.y == label).sum()) for label in self.classes]
        return {"classes": names, "counts": counts, "has_matrix": len(names) <= _MATRIX_CLASSES}

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return the confusion matrix (rows are true classes) and receiver operating characteristics."""
        found: dict[str, Any] = {"roc": self._curves(model._probability_of(output))}
        if len(self.classes) <= _MATRIX_CLASSES:
            predicted = model._prediction_of(output)
            found["matrix"] = confusion_matrix(self.y, predicted, labels=self.classes).tolist()
        return found

    def _curves(self, probability: Floats) -> list[dict[str, Any]]:
        if len(self.classes) > _ROC_CLASSES:
            return []
        shown = range(1, 2) if len(self.classes) == 2 else range(len(self.classes))
        return [curve for k in shown if (curve := _roc(k, self.y == self.classes[k], probability[:, k]))]


@dataclass(frozen=True, eq=False)
class Labels:
    """A row of labels that are there or not for each sample."""

    y: NDArray[Any]
    kind: str = "labels"

    @property
    def units(self) -> NDArray[np.int64]:
        """Each sample by itself."""
        return np.arange(len(self.y))

    def truth(self) -> dict[str, Any]:
        """Return the labels."""
        return {
            "classes": [f"label {k}" for k in range(self.y.shape[1])],
            "counts": self.y.sum(axis=0).astype(int).tolist(),
        }

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return the receiver operating characteristic of each label."""
        probability = model._probability_of(output)
        each_label = [_roc(k, self.y[:, k] > 0, probability[:, k]) for k in range(self.y.shape[1])[:_ROC_CLASSES]]
        return {"roc": [curve for curve in each_label if curve]}


@dataclass(frozen=True, eq=False)
class Numbers:
    """One number for each sample, or several."""

    y: Floats  # (n, o), each column once for each output of its loss
    names: list[str]
    kind: str = "numbers"

    @property
    def units(self) -> NDArray[np.int64]:
        """Each sample by itself."""
        return np.arange(len(self.y))

    @property
    def _shown(self) -> NDArray[np.int64]:
        n = len(self.y)
        return np.arange(n) if n <= _SAMPLES else np.sort(np.random.default_rng(0).permutation(n)[:_SAMPLES])

    def truth(self) -> dict[str, Any]:
        """Return the true numbers of some samples, a list for each output."""
        o = self.y.shape[1]
        names = self.names if len(self.names) == o else [f"output {k}" for k in range(1, o + 1)]
        return {"true": each(self.y[self._shown].T), "outputs": names, "n_shown": len(self._shown)}

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return the predictions of these samples."""
        predicted = np.asarray(model._prediction_of(output), dtype=np.float64).reshape(len(output), -1)
        return {"predicted": each(predicted[self._shown].T)}


@dataclass(frozen=True, eq=False)
class Times:
    """Survival times, exact or right-censored."""

    y: Any
    target: Floats  # entry, time, event, stratum, subject
    kind: str = "times"
    _thirds: int = field(default=3, repr=False)

    @property
    def units(self) -> NDArray[np.int64]:
        """The subjects."""
        subjects = self.target[:, 4]
        return np.unique(subjects, return_inverse=True)[1] if (subjects >= 0).all() else np.arange(len(subjects))

    @property
    def _grid(self) -> Floats:
        return np.linspace(0, float(self.target[:, 1].max()), _TIMES)

    def truth(self) -> dict[str, Any]:
        """Return the times at which curves are given."""
        return {"times": each(self._grid), "n_events": int(self.target[:, 2].sum())}

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return the Kaplan-Meier estimates of groups of predicted risk, and the mean predicted survival of each."""
        predicted = self._predicted(model, output)
        return {
            "groups": [
                {
                    "name": name,
                    "size": int(members.sum()),
                    "observed": each(kaplan_meier(self.target[members]).at(self._grid)[0]),
                    "predicted": predicted(members),
                }
                for name, members in of_equal_size(output[:, 0], self._thirds)
            ]
        }

    def _predicted(self, model: Any, output: Floats) -> Callable[[NDArray[np.bool_]], list[Any] | None]:
        """Return a function from samples to their mean predicted survival; None without the baseline hazard of a point."""
        try:
            baseline = model._baselines.at(model.point_)
        except ValueError:  # a loaded model knows it only for the points at which it was saved
            return lambda _: None
        labels, strata = check.survival_strata(self.y), self.target[:, 3].astype(np.int64)
        if model.strata_ is None or labels is None:
            codes = np.zeros(len(strata), np.int64)
        else:
            codes = model._codes(labels[strata], len(strata))
        place = np.searchsorted(model.unique_times_, self._grid, side="right")
        cumulative = np.pad(baseline.cumulative, ((0, 0), (1, 0)))[:, place]  # (strata, times)
        survival = np.exp(-np.exp(output[:, :1]) * cumulative[codes])  # (n, times)
        return lambda members: each(survival[members].mean(axis=0))


@dataclass(frozen=True, eq=False)
class Intervals:
    """Times that are known to lie in intervals."""

    n: int
    times: Floats
    kind: str = "intervals"

    @property
    def units(self) -> NDArray[np.int64]:
        """Each sample by itself."""
        return np.arange(self.n)

    def truth(self) -> dict[str, Any]:
        """Return the times at which curves are given."""
        return {"times": each(self.times)}

    def at(self, model: Any, output: Floats) -> dict[str, Any]:
        """Return the mean predicted survival of groups of predicted risk."""
        curves = model._survival_of(output, self.times)
        return {
            "groups": [
                {
                    "name": name,
                    "size": int(members.sum()),
                    "observed": None,
                    "predicted": each(curves[members].mean(axis=0)),
                }
                for name, members in of_equal_size(-output[:, 0], 3)
            ]
        }


def _roc(k: int, true: NDArray[np.bool_], probability: Floats) -> dict[str, Any] | None:
    """Return the curve of one class against all others; None if all samples are of one side."""
    if true.all() or not true.any():
        return None
    false_rate, true_rate, _ = roc_curve(true, probability)
    few = np.unique(np.linspace(0, len(false_rate) - 1, _ROC_POINTS).round().astype(int))
    area = shorter(auc(false_rate, true_rate))
    return {"class": k, "auc": area, "x": each(false_rate[few]), "y": each(true_rate[few])}
