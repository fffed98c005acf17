"""Laws of the figures: they show the numbers they were given, and nothing outside the axes they were given changes."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.metrics import make_scorer, max_error, r2_score

from riata import LassoNetClassifierCV, LassoNetRegressorCV, losses, plot
from riata.network.stacked import SparseWeights
from riata.path.points import Path, Point
from riata.plot import summary_figure
from riata.plot.style import BLUE, GREY


def a_path(counts: list[int], *, validated: bool = True, d: int = 80) -> Path:
    """Points with so many features each; the loss falls with features and rises slowly with λ."""
    none = np.zeros((0, 1))
    points = []
    for i, count in enumerate(counts):
        loss = 1 / (1 + count) + 0.01 * i
        val_loss, error = (loss + 0.1, 0.05) if validated else (np.nan, np.nan)
        selected = np.arange(d) < count
        weights = SparseWeights(np.zeros(0, dtype=int), np.zeros(0, dtype=int), none, none, np.zeros(0))
        points.append(Point(0.31 * i, selected, count, loss, val_loss, error, 0.0, loss, 1, weights))
    return Path(points)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("most", [12, 80])
def test_the_line_goes_through_the_lowest_loss_of_every_number_of_features(most):
    path = a_path([most, 5, 5, 2, 2, 0])
    x, y = plot.path(path).lines[0].get_data()
    assert x.tolist() == [0, 2, 5, most]
    assert y.tolist() == [path[i].val_loss for i in (5, 3, 1, 0)]


def test_the_band_is_one_standard_error_to_either_side():
    ax = plot.path(a_path([12, 5, 0]))
    corners = ax.collections[0].get_paths()[0].vertices
    line = dict(zip(*ax.lines[0].get_data(), strict=True))
    for count, loss in line.items():
        heights = corners[np.isclose(corners[:, 0], count), 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [loss - 0.05, loss + 0.05])


def test_without_validation_the_training_loss_is_shown_without_a_band():
    path = a_path([12, 5, 0], validated=False)
    ax = plot.path(path, path[1])
    assert ax.get_ylabel() == "training loss"
    assert not ax.collections
    assert ax.lines[0].get_ydata().tolist() == [p.loss for p in reversed(path)]


@pytest.mark.parametrize(("position", "label"), [(1, "12 features\nλ = 0.31"), (3, "1 feature\nλ = 0.93")])
def test_the_selected_point_is_marked_and_labelled(position, label):
    path = a_path([40, 12, 5, 1, 0])
    ax = plot.path(path, path[position])
    assert texts(ax) == [label]
    mark = ax.lines[-1].get_data()
    assert (mark[0][0], mark[1][0]) == (path[position].n_selected, path[position].val_loss)
    assert texts(plot.path(path)) == []


@pytest.mark.parametrize("counts", [[1000, 990, 30, 0], [12, 11, 3, 0], [1, 0], [0], [199, 7], [20000, 7], [10**6, 7]])
def test_labels_stay_inside_the_figure_wherever_the_point_is(counts):
    path = a_path(counts, d=max(counts) + 1)
    for point in path:
        figure = Figure(figsize=(4.5, 4), layout="constrained")
        ax = plot.path(path, point, ax=figure.subplots())
        figure.draw_without_rendering()
        box = ax.texts[0].get_window_extent()
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        labels = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(labels))
        shown = [t for t in ax.get_xticks() if ax.get_xlim()[0] <= t <= ax.get_xlim()[1]]
        assert all(float(t).is_integer() for t in shown)


def test_bars_are_the_most_important_features_in_order():
    importances = np.array([0.1, 0.9, 0.5, 0.7])
    ax = plot.importance(importances, names=["a", "b", "c", "d" * 60], top=3)
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.7, 0.5]
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [BLUE, BLUE, BLUE]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "b"
    assert names[1] == "d" * 27 + "…"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is on top


def test_the_axis_says_that_the_line_is_before_the_refit_where_the_marked_point_is_after_it():
    path = a_path([5, 3, 0])
    assert plot.path(path, path[1]).get_ylabel() == "validation loss (± 1 standard error)"
    ax = plot.path(path, a_path([3])[0])
    assert ax.get_ylabel() == "validation loss before the refit\n(± 1 standard error)"
    assert "after the refit" in "".join(text.get_text() for text in ax.texts)


def test_features_that_are_not_selected_have_no_bar():
    ax = plot.importance([0.1, 0.9, 0.5, 0.7], [False, True, False, True], names=list("abcd"))
    assert [bar.get_width() for bar in ax.patches] == [0.9, 0.7]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d"]
    empty = plot.importance([0.1, 0.9], [False, False])
    assert not empty.patches and [text.get_text() for text in empty.texts] == ["no feature is selected"]


def test_given_axes_are_drawn_on_and_returned():
    left, right = Figure().subplots(1, 2)
    assert plot.path(a_path([3, 0]), ax=left) is left
    assert plot.importance([1.0], [True], ax=right) is right
    assert right.get_xscale() == "linear"


def test_a_bar_too_short_to_be_visible_makes_the_axis_logarithmic():
    ax = plot.importance([300.0, 0.1, 0.0])
    assert ax.get_xscale() == "log"
    assert 0 < ax.get_xlim()[0] < 0.1


def test_dollar_signs_in_names_are_shown_as_they_are():
    figure = Figure()
    ax = plot.importance([3.0, 2.0, 1.0], names=["price_$", "$a_{$", "$x^2$"], ax=figure.subplots())
    figure.draw_without_rendering()
    assert not any(label.get_parse_math() for label in ax.get_yticklabels())


def test_the_summary_has_both_panels_and_needs_no_window():
    path = a_path([5, 3, 0], d=5)
    model = SimpleNamespace(path_=path, point_=path[1], feature_importances_=np.arange(5.0), selected_=path[1].selected)
    figure = summary_figure(model, list("abcde"))
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 9
    assert [ax.get_xlabel() for ax in figure.axes] == ["number of features", "importance"]
    assert figure.canvas.manager is None
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def cross_validated(counts: list[float], scores: list[float], selected: int, **networks: list) -> SimpleNamespace:
    results = pd.DataFrame({"n_selected": counts, "mean_test_score": scores, "se_test_score": 0.02})
    results["lambda_"] = 0.5 * np.arange(len(counts))
    results["M"], results["hidden_dims"] = networks.get("M", 10.0), [(4,)] * len(counts)
    results["refit"] = networks.get("refit", "warm")
    place = {"cv_index_": selected, "cv_n_selected_": counts[selected] - 0.2, "cv_score_": scores[selected] - 0.01}
    return SimpleNamespace(cv_results_=results, cv_score_name="accuracy", n_features_to_select=None, **place)


def test_cross_validated_scores_are_a_line_with_a_band_and_the_selected_and_the_best_point_are_marked():
    model = cross_validated([12.0, 5.5, 5.5, 2.0, 0.0], [0.8, 0.9, 0.7, 0.89, 0.5], 3)
    ax = plot.cv(model)
    x, y = ax.lines[0].get_data()
    assert x.tolist() == [0, 2, 5.5, 12]
    assert y.tolist() == [0.5, 0.89, 0.9, 0.8]
    corners = ax.collections[0].get_paths()[0].vertices
    heights = corners[np.isclose(corners[:, 0], 5.5), 1]
    np.testing.assert_allclose([heights.min(), heights.max()], [0.88, 0.92])
    assert texts(ax) == ["best", "1.8 features"]
    assert [line.get_data()[0][0] for line in ax.lines[1:]] == [5.5, 1.8, 1.8]
    assert ax.lines[-1].get_data()[1][0] == pytest.approx(0.88)
    assert ax.get_ylabel() == "cross-validated accuracy (± 1 standard error)"


def user_score(model, X, y):
    return 0.0


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LassoNetClassifierCV(), "accuracy"),
        (LassoNetClassifierCV(loss="focal"), "accuracy"),
        (LassoNetRegressorCV(), "R²"),
        (LassoNetRegressorCV(loss="huber"), "R²"),
        (LassoNetRegressorCV(loss="absolute_error"), "D² of the absolute error"),
        (LassoNetRegressorCV(loss=losses.Quantile((0.1, 0.9))), "D² of the pinball loss"),
        (LassoNetRegressorCV(loss="poisson"), "D² of the deviance"),
        (LassoNetRegressorCV(loss=losses.Tweedie()), "D² of the deviance"),
        (LassoNetRegressorCV(loss=["poisson", "squared_error"]), "minus the mean loss"),
        (LassoNetRegressorCV(loss=torch.nn.functional.huber_loss), "minus the mean loss"),
        (LassoNetRegressorCV(loss="poisson", scoring="neg_mean_absolute_error"), "neg_mean_absolute_error"),
        (LassoNetRegressorCV(scoring=make_scorer(max_error, greater_is_better=False)), "minus max_error"),
        (LassoNetRegressorCV(scoring=make_scorer(r2_score)), "r2_score"),
        (LassoNetRegressorCV(scoring=user_score), "user_score"),
    ],
)
def test_the_cross_validated_score_is_named(model, name):
    assert model.cv_score_name == name


def test_networks_that_were_not_selected_are_grey():
    model = cross_validated([9.0, 4.0, 8.0, 3.0], [0.6, 0.5, 0.9, 0.8], 2, M=[1.0, 1.0, 10.0, 10.0])
    ax = plot.cv(model)
    colours = {tuple(line.get_xdata()): to_hex(line.get_color()) for line in ax.lines[:2]}
    assert colours == {(4.0, 9.0): GREY, (3.0, 8.0): BLUE}


@pytest.mark.parametrize("selected", range(4))
@pytest.mark.parametrize("most", [4.0, 35.0, 900.0])
def test_labels_of_cross_validated_scores_stay_inside_the_figure(most, selected):
    model = cross_validated([most, most - 0.4, 1.0, 0.0], [0.9, 0.91, 0.7, 0.5], selected)
    ax = plot.cv(model)
    ax.figure.draw_without_rendering()
    for text in ax.texts:
        box = text.get_window_extent()
        assert ax.figure.bbox.x0 <= box.x0 and box.x1 <= ax.figure.bbox.x1
        assert ax.figure.bbox.y0 <= box.y0 and box.y1 <= ax.figure.bbox.y1


def a_selector(frequencies: list[float], **more: object) -> SimpleNamespace:
    array = np.array(frequencies)
    found = {"threshold_": 0.75, "n_features_taken_": 3, "n_features_in_": len(array)}
    return SimpleNamespace(frequencies_=array, selected_=array >= 0.75, **(found | more))


def test_bars_are_the_most_stable_features_and_the_line_is_the_threshold():
    ax = plot.stability(a_selector([0.2, 1.0, 0.0, 0.8]))
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.8, 0.2]  # without the one that was never selected
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [BLUE, BLUE, GREY]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x1", "x3", "x0"]
    assert ax.lines[0].get_xdata()[0] == 0.75
    assert texts(ax) == ["threshold 0.75"]
    assert ax.get_xlabel() == "share of half-samples (top 3 of each)"


def test_columns_of_one_name_are_one_bar_and_top_limits_the_bars():
    selector = a_selector([0.9, 0.9, 0.3, 0.1], feature_names_in_=["a=1", "a=2", "b", "c"])
    assert len(plot.stability(selector).patches) == 4
    ax = plot.stability(selector, names=["a", "a", "b", "c"], top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]


def test_the_label_under_the_bars_is_not_cut_off_by_long_names():
    ax = plot.stability(a_selector([1.0, 0.1], feature_names_in_=["long " * 9, "b"], n_features_taken_=1000))
    ax.figure.draw_without_rendering()
    box = ax.xaxis.label.get_window_extent()
    assert ax.figure.bbox.x0 <= box.x0 and box.x1 <= ax.figure.bbox.x1


def test_without_any_stable_feature_the_names_are_shown():
    ax = plot.stability(a_selector([0.0, 0.0]))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x0", "x1"]
    ax.figure.draw_without_rendering()
    box = ax.texts[0].get_window_extent()
    assert box.y1 <= ax.figure.bbox.y1


@pytest.mark.parametrize(
    ("n_features", "counts"), [(8, (8, 7, 5, 4, 3, 0)), (60, (60, 40, 21, 12, 0)), (5000, (5000, 900, 30, 0))]
)
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_nothing_is_cut_off_wherever_the_point_lies(n_features, counts, at):
    """Labels stay inside the figure, for few features and many, long names and points anywhere on the path."""
    path = a_path(list(counts), d=n_features)
    importances = np.geomspace(1, 3e5, n_features)
    model = SimpleNamespace(path_=path, point_=path[at], feature_importances_=importances, selected_=path[at].selected)
    figure = summary_figure(model, [f"a rather long name of a feature {j}" for j in range(n_features)])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, page = canvas.get_renderer(), figure.bbox_inches.padded(0.01)
    drawn = figure.get_tightbbox(renderer)
    assert page.x0 <= drawn.x0 and drawn.x1 <= page.x1 and page.y0 <= drawn.y0 and drawn.y1 <= page.y1
    left = figure.axes[0]
    (label,) = left.texts
    box = label.get_window_extent(renderer)
    assert left.bbox.x0 <= box.x0 and box.x1 <= left.bbox.x1 + 1
