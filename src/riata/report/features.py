"""The features of a report: importances, effects, and what could have been selected instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from riata.evidence import permutation_importance
from riata.evidence.curves import Curve, described, effect_curve, from_average, main_output
from riata.report.numbers import each, exact, shorter
from riata.report.text import isolated

__all__ = ["alternatives", "effects", "feature_columns", "held_out_table", "names_of"]

_BINS = 20  # of a histogram
_TAILS = 0.01  # share of the samples beyond either end of a histogram
_ENTRIES = 10**9  # to predict from, at most, for permutation importances
_LEVELS = 12  # of a category that are drawn
_CURVES = 60  # features whose effect is drawn


def names_of(model: Any) -> list[str]:
    """Return the names of the features."""
    known = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if known is None else [str(name) for name in known]


def held_out_table(
    model: Any, X: Any, y: Any, *, curves: Sequence[Curve], n_jobs: int | None = None, random_state: Any = None
) -> pd.DataFrame:
    """Describe each selected feature by its effect on predictions for held-out samples, and by what they lose without it.

    Columns are permuted up to 20 times, less often if more than 10⁹ entries would have to be predicted from.

    Returns
    -------
    DataFrame
        One row for each selected feature, the most important first: ``name``, ``importance``, ``effect``, ``shape``,
        ``size``, ``towards``, and ``loss_rise`` with the interval ``loss_rise_low`` to ``loss_rise_high``.
    """
    names = np.array(names_of(model), dtype=object)
    order = ranked(model)
    rows = [described(curve, isolated)[1:] for curve in curves]
    frame = pd.DataFrame(rows, columns=["shape", "size", "towards", "effect"])
    frame = frame[["effect", "shape", "size", "towards"]]
    frame.insert(0, "importance", model.feature_importances_[order])
    frame.insert(0, "name", names[order])
    repeats = min(20, max(1, _ENTRIES // (np.size(X) * max(1, len(frame)))))
    found = permutation_importance(model, X, y, n_repeats=repeats, n_jobs=n_jobs, random_state=random_state)
    found = found.set_index("feature").loc[list(names[order])]
    loss = {"loss_rise": "importance", "loss_rise_low": "low", "loss_rise_high": "high"}
    return frame.assign(**{name: found[column].to_numpy() for name, column in loss.items()})


def ranked(model: Any) -> NDArray[np.int64]:
    """Return the positions of the selected features, the most important first."""
    selected = np.flatnonzero(model.selected_)
    order: NDArray[np.int64] = selected[np.argsort(-model.feature_importances_[selected], kind="stable")]
    return order


def curves_of(model: Any, X: Any, random_state: Any) -> list[Curve]:
    """Return the effect of each selected feature, the most important first."""
    return [effect_curve(model, X, int(j), random_state=random_state) for j in ranked(model)]


def feature_columns(model: Any, table: pd.DataFrame, further: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of the table of all features, in the order of importance, which those not selected have none of.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : DataFrame
        What :func:`held_out_table` returns.
    further : dict
        More columns, with one value for each feature of X.
    """
    importances = model.feature_importances_
    order = np.argsort(-importances, kind="stable")
    order = np.concatenate([order[model.selected_[order]], order[~model.selected_[order]]])
    names = names_of(model)
    place = {int(j): i for i, j in enumerate(ranked(model))}
    columns: dict[str, list[Any]] = {
        "index": order.tolist(),
        "name": [names[j] for j in order],
        "selected": model.selected_[order].tolist(),
        "importance": [exact(importances[j]) if model.selected_[j] else None for j in order],
        "smallest_model": _smallest_models(model)[order].tolist(),
    }
    for column in table.columns.drop(["name", "importance"]):
        values = table[column].tolist()
        numbers = table[column].dtype.kind == "f"
        found = [values[place[j]] if j in place else None for j in order.tolist()]
        columns[column] = [None if value is None else exact(value) for value in found] if numbers else found
    for name, given in further.items():
        columns[name] = [given[j] for j in order]
    return columns


def _smallest_models(model: Any) -> NDArray[np.int64]:
    """Return the number of features of the sparsest point of the path that holds each feature; 0 where none does."""
    selected, counts = model.path_.selected, model.path_.n_selected
    held = np.where(selected, counts[:, None], np.iinfo(np.int64).max).min(axis=0)
    return np.where(selected.any(axis=0), held, 0)


def effects(model: Any, X: pd.DataFrame, curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """Return effect curves with the distribution of each feature in the data; of the first 60 features."""
    return [
        {
            "index": int(j),
            "ordered": curve.ordered,
            "outputs": curve.outputs,
            "text": described(curve, isolated)[-1],
            **(_line(curve, X.iloc[:, j]) if curve.ordered else _levels(curve, X.iloc[:, j])),
        }
        for j, curve in zip(ranked(model)[:_CURVES], curves, strict=False)
    ]


def _line(curve: Curve, column: pd.Series) -> dict[str, Any]:
    return {"values": _values(curve), "prediction": each(curve.prediction.T), **_histogram(column)}


def _levels(curve: Curve, column: pd.Series) -> dict[str, Any]:
    """Return the levels that are drawn, the most common first; of many those that differ most from the average."""
    k = main_output(curve)
    largest = np.argsort(-np.abs(from_average(curve, k)), kind="stable")[:_LEVELS]
    kept = np.sort(largest)
    return {
        "values": [str(value) for value in curve.values[kept]],
        "prediction": [each(curve.prediction[kept, k])],
        "output": curve.outputs[k],
        "average": shorter(curve.shares @ curve.prediction[:, k]),
        "n_compared": len(curve.values),
        "n_levels": int(column.nunique()),
    }


def _values(curve: Curve) -> list[Any]:
    if np.asarray(curve.values).dtype.kind == "M":
        return [str(np.datetime64(value, "D")) for value in curve.values]
    return each(curve.values)


def _histogram(column: pd.Series) -> dict[str, Any]:
    """Return counts of a column between its first and last percentile."""
    known = column.dropna()
    dates = known.dtype.kind == "M"
    numbers = known.to_numpy("datetime64[s]").astype(np.float64) if dates else known.to_numpy(dtype=np.float64)
    if not len(numbers):
        return {"counts": [], "edges": [], "dates": dates}
    low, high = np.quantile(numbers, [_TAILS, 1 - _TAILS])
    counts, edges = np.histogram(numbers, bins=_BINS if high > low else 1, range=(low, high) if high > low else None)
    return {
        "counts": counts.tolist(),
        "edges": each(edges) if not dates else [float(edge) for edge in edges],
        "dates": dates,
    }


def alternatives(model: Any) -> dict[str, list[list[Any]]] | None:
    """Return, for each selected feature, the dropped ones most like it and their r²; None where that is not known."""
    try:
        frame = model.alternatives_
    except AttributeError:  # a loaded model
        return None
    found: dict[str, list[list[Any]]] = {}
    for row in frame.itertuples(index=False):
        found.setdefault(_named(row.feature), []).append([_named(row.alternative), shorter(row.r2)])
    return found


def _named(name: Any) -> str:
    return name if isinstance(name, str) else f"x{name}" if isinstance(name, int | np.integer) else str(name)
