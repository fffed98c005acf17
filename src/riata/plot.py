"""Figures of a path and of a selection: data and axes in, axes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from riata import losses
from riata.path.points import Path, Point

__all__ = [
    "interaction",
    "plot_cross_validation",
    "plot_importances",
    "plot_path",
    "plot_stability",
    "score_name",
    "summary_figure",
]

BLUE, ORANGE, GREY, INK = "#2563a8", "#d9641e", "#c9ced6", "#30363d"
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": 11, "fontweight": "bold", "color": INK, "pad": 10}
_LONGEST_LINEAR = 40  # features up to which every count has room on a linear axis
_LONGEST_BAR = 50  # in shortest ones, up to which the shortest can be seen
_LONGEST_NAME = 28  # characters of a feature's name


def plot_path(path: Path, point: Point | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the loss along a path against the number of features.

    Several points of a path may have the same number of features. The line goes through the one of lowest loss for each
    number; the band is one standard error to either side of it.

    Parameters
    ----------
    path : Path
        What to draw. Its validation loss is shown, or its training loss if nothing was held out.
    point : Point, optional
        A point to mark.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = _axes() if ax is None else ax
    validated = bool(np.isfinite([p.val_loss for p in path]).any())
    best = _best_per_count(path, validated)
    counts = np.array([p.n_selected for p in best])
    losses = np.array([_loss(p, validated) for p in best])
    if validated:
        errors = np.array([p.val_loss_se for p in best])
        ax.fill_between(counts, losses - errors, losses + errors, color=BLUE, alpha=0.16, linewidth=0)
    ax.plot(counts, losses, color=BLUE, linewidth=1.8, marker="o", markersize=3.2)
    _count_axis(ax, int(counts.max()))
    if point is not None:
        _mark(ax, point.n_selected, _loss(point, validated), point.lambda_)
    ax.set_xlabel("number of features")
    ax.set_ylabel("validation loss (± 1 standard error)" if validated else "training loss")
    return _clean(ax)


def plot_importances(
    names: Sequence[str], importances: ArrayLike, selected: ArrayLike, *, ax: Axes | None = None, top: int = 20
) -> Axes:
    """Draw the most important features as bars, the selected ones in colour.

    Parameters
    ----------
    names : sequence of str of length d
        Names of the features.
    importances : array-like of shape (d,)
        For example λ at which each leaves the path.
    selected : bool array-like of shape (d,)
        Which are in the model.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    top : int
        How many features to show at most.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = _axes() if ax is None else ax
    importances, selected = np.asarray(importances, dtype=float), np.asarray(selected, dtype=bool)
    order = np.argsort(-importances, kind="stable")[:top]
    _bars(ax, [str(names[j]) for j in order], importances[order], selected[order])
    ax.set_xlabel("importance")
    _importance_axis(ax, importances[order])
    return _clean_bars(ax)


def plot_cross_validation(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw cross-validated scores against the number of features, with the chosen point and the best one marked.

    The line goes through the highest score for each number of features, a mean over the folds as well; the band is one
    standard error to either side of it. Networks that were not chosen are thin grey lines.

    Parameters
    ----------
    model : LassoNetClassifierCV or LassoNetRegressorCV
        Fitted.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = _axes() if ax is None else ax
    chosen = model.cv_results_.loc[model.cv_index_]
    for network, results in model.cv_results_.groupby(["M", "hidden_dims"], sort=False):
        highest = results.sort_values("mean_test_score", ascending=False).drop_duplicates("n_selected")
        line = highest.sort_values("n_selected")
        counts, scores, errors = (line[name].to_numpy() for name in ("n_selected", "mean_test_score", "se_test_score"))
        if network != (chosen["M"], chosen["hidden_dims"]):
            ax.plot(counts, scores, color=GREY, linewidth=1, zorder=1)
            continue
        ax.fill_between(counts, scores - errors, scores + errors, color=BLUE, alpha=0.16, linewidth=0)
        ax.plot(counts, scores, color=BLUE, linewidth=1.8, marker="o", markersize=3.2)
    ax.margins(y=0.1)  # room for the labels above and below
    _count_axis(ax, int(np.ceil(model.cv_results_["n_selected"].max())))
    best = _best_fold_score(model)
    ax.plot([best["n_selected"]], [best["mean_test_score"]], "o", markersize=11, color=BLUE, fillstyle="none", zorder=4)
    ax.annotate(
        "best",
        (best["n_selected"], best["mean_test_score"]),
        xytext=(0, 8),
        textcoords="offset points",
        color=BLUE,
        fontweight="bold",
        ha="center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85},  # the mark's line may pass behind it
    )
    _mark(ax, model.cv_n_selected_, model.cv_score_, below=True)
    ax.set_xlabel("number of features")
    ax.set_ylabel(f"{score_name(model)} of the folds (± 1 standard error)")
    return _clean(ax)


def interaction(
    first: ArrayLike,
    second: ArrayLike,
    target: ArrayLike,
    *,
    names: Sequence[str] = ("first feature", "second feature", "target"),
    ax: Axes | None = None,
    bins: int = 8,
) -> Axes:
    """Draw the mean of the target over the plane of two features.

    Cells lie between quantiles of the features; a feature of few values, or of text, has one row or column of cells for each
    value. Cells without a sample are empty.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        The features, along the horizontal and the vertical axis.
    target : array-like of shape (n,)
        Numbers, or two classes, of which the share of the second is drawn.
    names : sequence of three str
        What to call features and target.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    bins : int
        Cells along each axis, at most.

    Returns
    -------
    Axes
        What was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import plot
    >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    >>> ax = plot.interaction(x[:, 0], x[:, 1], x[:, 0] * x[:, 1] > 0)
    >>> ax.get_xlabel()
    'first feature'
    """
    ax = _axes() if ax is None else ax
    (across, x_labels), (up, y_labels) = _cells(first, bins), _cells(second, bins)
    values, label = _numbers(target, names[2])
    shape = len(y_labels), len(x_labels)
    known = (across >= 0) & (up >= 0) & np.isfinite(values)
    where = (up * shape[1] + across)[known]
    counts = np.bincount(where, minlength=shape[0] * shape[1]).reshape(shape)
    sums = np.bincount(where, values[known], shape[0] * shape[1]).reshape(shape)
    means = np.ma.masked_array(sums / np.maximum(counts, 1), counts == 0)
    drawn = ax.pcolormesh(means, cmap="cividis", edgecolors="white", linewidth=0.5)
    colours = ax.figure.colorbar(drawn, ax=ax, label=label)
    colours.outline.set_visible(False)
    for axis, labels in ((ax.xaxis, x_labels), (ax.yaxis, y_labels)):
        axis.set_ticks(np.arange(len(labels)) + 0.5, labels)
    ax.tick_params(axis="x", labelrotation=45 if max(map(len, x_labels), default=0) > 4 else 0)
    ax.set_xlabel(_short(str(names[0])))
    ax.set_ylabel(_short(str(names[1])))
    return _clean(ax)


def _cells(feature: ArrayLike, bins: int) -> tuple[NDArray[np.int64], list[str]]:
    """Return the cell of each sample along an axis, −1 where the value is missing, and what to call each cell."""
    column = pd.Series(np.asarray(feature))
    if column.nunique() <= bins or not pd.api.types.is_numeric_dtype(column):
        codes, levels = pd.factorize(column, sort=True)
        return np.where(codes < bins, codes, -1), [_short(f"{level}") for level in levels[:bins]]
    binned, edges = pd.qcut(column, bins, labels=False, retbins=True, duplicates="drop")
    middles = (edges[1:] + edges[:-1]) / 2
    return binned.fillna(-1).to_numpy(dtype=np.int64), [f"{middle:.3g}" for middle in middles]


def _numbers(target: ArrayLike, name: str) -> tuple[NDArray[np.float64], str]:
    """Return the numbers whose mean is drawn, and what the mean is of."""
    values = np.asarray(target)
    levels = pd.unique(values[~pd.isna(values)])
    if len(levels) == 2:
        positive = sorted(levels)[1]
        return np.where(pd.isna(values), np.nan, values == positive).astype(np.float64), f"share of {name} = {positive}"
    if not np.issubdtype(values.dtype, np.number):
        raise ValueError(f"target must hold numbers or two classes; it has {len(levels)}: compare one with the others")
    return values.astype(np.float64), f"mean of {name}"


def score_name(model: Any) -> str:
    """Return what the folds of a cross-validated model were scored by: by the model itself, or by a scorer and its name."""
    scoring = model.scoring
    if scoring is None:
        return "accuracy" if is_classifier(model) else losses.of_numbers(model.loss).score_name
    if isinstance(scoring, str):
        return scoring
    function = getattr(scoring, "_score_func", scoring)  # which a scorer of scikit-learn is made from
    name = getattr(function, "__name__", type(function).__name__)
    return f"minus {name}" if getattr(scoring, "_sign", 1) < 0 else name


def plot_stability(selector: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None, top: int = 20) -> Axes:
    """Draw how often the most stable features were taken as bars, the selected ones in colour, and the threshold.

    Parameters
    ----------
    selector : StabilitySelector
        Fitted.
    names : sequence of str, optional
        What to call each column; columns of the same name, such as the levels of one variable, are one bar. By default
        the names the selector was fitted with.
    ax : Axes, optional
        Where to draw; a new figure if not given.
    top : int
        How many features to show at most; those that were never taken are left out.

    Returns
    -------
    Axes
        What was drawn on.
    """
    ax = _axes() if ax is None else ax
    if names is None:
        names = list(getattr(selector, "feature_names_in_", [f"x{j}" for j in range(selector.n_features_in_)]))
    frame = pd.DataFrame({"name": list(names), "frequency": selector.frequencies_, "selected": selector.selected_})
    bars = frame.groupby("name", sort=False).agg({"frequency": "max", "selected": "any"})
    bars = bars.sort_values("frequency", ascending=False, kind="stable").head(top)
    bars = bars[bars["frequency"] > 0] if bars["frequency"].any() else bars
    _bars(ax, list(bars.index), bars["frequency"].to_numpy(), bars["selected"].to_numpy())
    ax.set_xlim(0, 1.02)
    ax.axvline(selector.threshold_, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)))
    ax.annotate(
        f"threshold {selector.threshold_:.2g}",
        (selector.threshold_, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        color=ORANGE,
        fontweight="bold",
        ha="center",
        va="bottom",
    )
    ax.set_xlabel(f"share of the halves (first {selector.n_features_taken_} of each)")
    return _clean_bars(ax)


def summary_figure(model: Any, names: Sequence[str]) -> Figure:
    """Draw the path and the importances of a fitted model side by side.

    Parameters
    ----------
    model : LassoNetClassifier or LassoNetRegressor
        Fitted.
    names : sequence of str
        Names of the features.

    Returns
    -------
    Figure
        Nine inches wide, not attached to any window.
    """
    figure = Figure(figsize=(9, 4.2), layout=ConstrainedLayoutEngine(wspace=0.06))
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    plot_path(model.path_, model.point_, ax=left)
    plot_importances(names, model.feature_importances_, model.selected_, ax=right)
    left.set_title("Loss along the path", **_TITLE)
    right.set_title("Most important features", **_TITLE)
    return figure


def _axes() -> Axes:
    return Figure(figsize=(5, 4), layout="constrained").subplots()


def _bars(ax: Axes, names: Sequence[str], lengths: NDArray[np.float64], selected: NDArray[np.bool_]) -> None:
    """Draw bars from the top down, those of selected features in colour."""
    ax.barh(np.arange(len(names)), lengths, height=0.72, color=[BLUE if s else GREY for s in selected])
    ax.set_yticks(np.arange(len(names)), [_short(name) for name in names], parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)


def _clean_bars(ax: Axes) -> Axes:
    _clean(ax)
    _key(ax, {"selected": BLUE, "not selected": GREY})
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    return ax


def _loss(point: Point, validated: bool) -> float:
    return point.val_loss if validated else point.loss


def _best_per_count(path: Path, validated: bool) -> list[Point]:
    """For each number of features the point of lowest loss, from few features to many."""
    best: dict[int, Point] = {}
    for point in path:
        other = best.get(point.n_selected)
        if other is None or _loss(point, validated) < _loss(other, validated):
            best[point.n_selected] = point
    return [best[count] for count in sorted(best)]


def _best_fold_score(model: Any) -> pd.Series:
    """Return the row with the highest score; of equals, the one with the fewest features."""
    return model.cv_results_.sort_values(["mean_test_score", "n_selected"], ascending=[False, True]).iloc[0]


def _importance_axis(ax: Axes, shown: NDArray[np.float64]) -> None:
    """From zero, or in logarithms where the smallest would be too short to be seen."""
    positive = shown[shown > 0]
    if len(positive) and positive.max() > _LONGEST_BAR * positive.min():
        ax.set_xscale("log")
        ax.set_xlim(positive.min() / 2, positive.max() * 1.5)
        ax.set_xlabel(f"{ax.get_xlabel()}, logarithmic")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(4))


def _count_axis(ax: Axes, most: int) -> None:
    """Whole numbers: evenly spaced while each has room, in logarithms with a place for 0 beyond that."""
    if most <= _LONGEST_LINEAR:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlim(-0.03 * max(most, 10), 1.03 * max(most, 10))
        return
    ax.set_xscale("symlog", linthresh=1, linscale=0.3)
    steps = (1, 2, 5) if most < 200 else (1, 3) if most < 3000 else (1,)  # as many labels as have room
    ticks = [0] + [m * 10**e for e in range(9) for m in steps if m * 10**e <= most]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda count, _: f"{count:,.0f}" if count < 1e4 else f"{count / 1e3:,.0f}k")
    )
    ax.set_xlim(-0.15, most * 1.12)


def _mark(ax: Axes, count: float, height: float, lambda_: float | None = None, *, below: bool = False) -> None:
    """Mark a point, with its label on the side of the line that has more room, at the top or the bottom."""
    size = f"{f'{count:.1f}'.removesuffix('.0')} feature{'' if count == 1 else 's'}"
    ax.axvline(count, color=ORANGE, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ax.plot([count], [height], marker="o", markersize=8, color=ORANGE, markeredgecolor="white", zorder=5)
    position = ax.transAxes.inverted().transform(ax.transData.transform((count, height)))[0]
    ax.annotate(
        size if lambda_ is None else f"{size}\nλ = {lambda_:.2g}",
        (count, 0.02 if below else 0.98),
        xycoords=("data", "axes fraction"),
        xytext=(7 if position < 0.5 else -7, 0),
        textcoords="offset points",
        color=ORANGE,
        fontweight="bold",
        ha="left" if position < 0.5 else "right",
        va="bottom" if below else "top",
    )


def _key(ax: Axes, colours: dict[str, str]) -> None:
    patches = [Patch(color=colour, label=label) for label, colour in colours.items()]
    box: dict[str, Any] = {"edgecolor": "none", "framealpha": 0.85}
    ax.legend(handles=patches, loc="lower right", fontsize=9, labelcolor=INK, handlelength=1.2, **box)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _clean(ax: Axes) -> Axes:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(INK)
    ax.tick_params(colors=INK, labelsize=9)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)
    return ax
