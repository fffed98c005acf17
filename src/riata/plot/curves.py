"""Loss and score as curves over the number of features."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from riata.plot.style import BLUE, GREY, ORANGE, clean, new_axes

__all__ = ["PointLike", "cv", "path"]


class PointLike(Protocol):
    """What a figure needs of a point of a path."""

    @property
    def lambda_(self) -> float:
        """The penalty."""
        ...

    @property
    def n_selected(self) -> int:
        """Number of features."""
        ...

    @property
    def loss(self) -> float:
        """Training loss."""
        ...

    @property
    def val_loss(self) -> float:
        """Validation loss; NaN without validation samples."""
        ...

    @property
    def val_loss_se(self) -> float:
        """Its standard error."""
        ...


def path(path: Iterable[PointLike], point: PointLike | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the loss along a path against the number of features.

    Several points of a path may have the same number of features. The line goes through the one with the lowest loss for
    each number; the band is one standard error to either side of it.

    Parameters
    ----------
    path : Path
        What to draw, such as ``model.path_``. Its validation loss is shown, or its training loss if nothing was held out.
    point : Point, optional
        A point to mark, such as ``model.point_``. One that was refitted lies off the line, whose points are not.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressor, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressor((10,), random_state=0).fit(X, y)
    >>> plot.path(model.path_, model.point_).get_xlabel()
    'number of features'
    """
    points = list(path)
    if not points:
        raise ValueError("the path has no points")
    refitted = point is not None and all(point is not other for other in points)
    ax = new_axes() if ax is None else ax
    validated = bool(np.isfinite([p.val_loss for p in points]).any())
    best = _best_per_count(points, validated)
    counts = np.array([p.n_selected for p in best])
    losses = np.array([_loss(p, validated) for p in best])
    if validated:
        errors = np.array([p.val_loss_se for p in best])
        ax.fill_between(counts, losses - errors, losses + errors, color=BLUE, alpha=0.16, linewidth=0)
    ax.plot(counts, losses, color=BLUE, linewidth=1.8, marker="o", markersize=3.2)
    _count_axis(ax, int(counts.max()))
    if point is not None:
        label = f"{_features(point.n_selected)}\nλ = {float(f'{point.lambda_:.2g}'):g}"
        _mark(ax, point.n_selected, _loss(point, validated), f"{label}\nafter the refit" if refitted else label)
    ax.set_xlabel("number of features")
    before = " before the refit" if refitted else ""
    error = ("\n" if refitted else " ") + "(± 1 standard error)"
    ax.set_ylabel(f"validation loss{before}{error}" if validated else f"training loss{before}")
    return clean(ax)


def cv(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw cross-validated scores against the number of features, with the selected point and the best one marked.

    The line goes through the highest score for each number of features (a mean over the folds, as the score is); the band is
    one standard error to either side of it. Networks that were not selected are thin grey lines.

    Parameters
    ----------
    model : LassoNetClassifierCV, LassoNetRegressorCV or LassoNetCoxRegressorCV
        Fitted.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from riata import LassoNetRegressorCV, plot
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = LassoNetRegressorCV((10,), cv=3, random_state=0).fit(X, y)
    >>> plot.cv(model).get_ylabel()
    'cross-validated R² (± 1 standard error)'
    """
    ax = new_axes() if ax is None else ax
    selected = model.cv_results_.loc[model.cv_index_]
    for network, results in model.cv_results_.groupby(["M", "hidden_dims"], sort=False):
        highest = results.sort_values("mean_test_score", ascending=False).drop_duplicates("n_selected")
        line = highest.sort_values("n_selected")
        counts, scores, errors = (line[name].to_numpy() for name in ("n_selected", "mean_test_score", "se_test_score"))
        if network != (selected["M"], selected["hidden_dims"]):
            ax.plot(counts, scores, color=GREY, linewidth=1, zorder=1)
            continue
        ax.fill_between(counts, scores - errors, scores + errors, color=BLUE, alpha=0.16, linewidth=0)
        ax.plot(counts, scores, color=BLUE, linewidth=1.8, marker="o", markersize=3.2)
    ax.margins(y=0.1)  # space for the labels above and below
    _count_axis(ax, int(np.ceil(model.cv_results_["n_selected"].max())))
    best = _best(model.cv_results_)
    ax.plot([best["n_selected"]], [best["mean_test_score"]], "o", markersize=11, color=BLUE, fillstyle="none", zorder=4)
    ax.annotate(
        "best",
        (best["n_selected"], best["mean_test_score"]),
        xytext=(0, 8),
        textcoords="offset points",
        color=BLUE,
        fontweight="bold",
        ha="center",
        bbox={
            "facecolor": "white",
            "edgecolor": "none",
            "pad": 1,
            "alpha": 0.85,
        },  # the vertical line may pass behind it
    )
    _mark(ax, model.cv_n_selected_, model.cv_score_, _features(model.cv_n_selected_), below=True)
    ax.set_xlabel("number of features")
    ax.set_ylabel(f"cross-validated {model.cv_score_name} (± 1 standard error)")
    return clean(ax)


def _loss(point: PointLike, validated: bool) -> float:
    return point.val_loss if validated else point.loss


def _best_per_count(path: Iterable[PointLike], validated: bool) -> list[PointLike]:
    """Return the point of lowest loss for each number of features, from few features to many."""
    best: dict[int, PointLike] = {}
    for point in path:
        other = best.get(point.n_selected)
        if other is None or _loss(point, validated) < _loss(other, validated):
            best[point.n_selected] = point
    return [best[count] for count in sorted(best)]


def _best(results: pd.DataFrame) -> pd.Series[Any]:
    """Return the row with the highest score; of equals, the one with the fewest features."""
    return results.sort_values(["mean_test_score", "n_selected"], ascending=[False, True]).iloc[0]


def _count_axis(ax: Axes, most: int) -> None:
    """Set an axis of whole numbers: linear up to 40 features, beyond that logarithmic with a place for 0."""
    if most <= 40:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(-0.03 * max(most, 10), 1.03 * max(most, 10))
        return
    ax.set_xscale("symlog", linthresh=1, linscale=0.3)
    steps = (1, 2, 5) if most < 200 else (1, 3) if most < 3000 else (1,)  # as many labels as fit
    ticks = [0] + [m * 10**e for e in range(9) for m in steps if m * 10**e <= most]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda count, _: f"{count:,.0f}" if count < 1e4 else f"{count / 1e3:,.0f}k")
    )
    ax.set_xlim(-0.15, most * 1.12)


def _features(count: float) -> str:
    return f"{f'{count:.1f}'.removesuffix('.0')} feature{'' if count == 1 else 's'}"


def _mark(ax: Axes, count: float, height: float, label: str, *, below: bool = False) -> None:
    """Mark a point, with its label on the side of the vertical line that has more space, at the top or the bottom."""
    ax.axvline(count, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.plot([count], [height], marker="o", markersize=8, color=ORANGE, markeredgecolor="white", zorder=5)
    position = ax.transAxes.inverted().transform(ax.transData.transform((count, height)))[0]
    ax.annotate(
        label,
        (count, 0.02 if below else 0.98),
        xycoords=("data", "axes fraction"),
        xytext=(7 if position < 0.5 else -7, 0),
        textcoords="offset points",
        color=ORANGE,
        fontweight="bold",
        ha="left" if position < 0.5 else "right",
        va="bottom" if below else "top",
    )
