"""Laws of survival curves and calibration: curves are Kaplan-Meier's, groups are those of the risk, and labels fit."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from riata import LassoNetRegressor, plot
from riata.plot import survival_figure
from riata.plot.style import BLUE, INK, ORANGE
from riata.survival.kaplan_meier import at_risk, kaplan_meier

N = 90


class Exponential:
    """Predicts S(t | x) = exp(−t exp(x₀)), known at the times 0.1, 0.2, …; strata multiply the hazard."""

    unique_times_ = np.arange(1, 60) / 10

    def __init__(self, strata: np.ndarray | None = None):
        self.strata_ = strata

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X)[:, 0]

    def predict_survival_function(
        self, X: np.ndarray, strata: np.ndarray | None = None, *, return_array: bool
    ) -> np.ndarray:
        assert return_array and (strata is None) == (self.strata_ is None)
        factor = 1.0 if strata is None else np.where(strata == "b", 2.0, 1.0)
        return np.exp(-(np.exp(self.predict(X)) * factor)[:, None] * self.unique_times_)


def samples(*, late: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Features, and entry, time and event."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(N, 2))
    time, censored = draw.exponential(np.exp(-X[:, 0])), draw.exponential(2, N)
    y = np.column_stack([np.full(N, -1.0), np.minimum(time, censored), time <= censored])
    if late:
        y[:, 0] = y[:, 1] * draw.random(N) * (draw.random(N) < 0.5)
    return X, y


def lines(ax: Axes, style: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Colour, times and heights of the lines drawn as steps, or dashed."""
    found = [each for each in ax.lines if (each.get_drawstyle() == "steps-post") == (style == "steps")]
    return [(to_hex(each.get_color()), *each.get_data()) for each in found if each.get_linestyle() != "None"]


@pytest.mark.parametrize("late", [False, True])
def test_curves_are_kaplan_meier_estimates_of_thirds_by_risk(late):
    X, y = samples(late=late)
    order = np.argsort(X[:, 0]).reshape(3, N // 3)
    ax = plot.survival(Exponential(), X, y)
    curves = lines(ax, "steps")
    assert [colour for colour, *_ in curves] == [BLUE, INK, ORANGE]
    for members, (_, times, heights), band in zip(order, curves, ax.collections, strict=True):
        expected = kaplan_meier(y[members])
        np.testing.assert_array_equal(times[1:], expected.times)
        np.testing.assert_array_equal(heights, [1, *expected.survival])
        drawn = band.get_paths()[0].vertices[:, 1]
        assert {*expected.low, *expected.high} <= set(drawn)


def test_ticks_are_the_censored_samples_on_their_curve():
    X, y = samples()
    ax = plot.survival(Exponential(), X, y, n_groups=1)
    (ticks,) = (line for line in ax.lines if line.get_marker() == "|")
    censored = np.unique(y[y[:, 2] == 0, 1])
    np.testing.assert_array_equal(ticks.get_xdata(), censored)
    np.testing.assert_array_equal(ticks.get_ydata(), kaplan_meier(y).at(censored)[0])


def test_thin_lines_are_the_mean_predictions_of_the_groups():
    X, y = samples()
    members = np.argsort(X[:, 0]).reshape(3, N // 3)
    for group, (_, times, heights) in zip(members, lines(plot.survival(Exponential(), X, y), "dashed"), strict=True):
        known = np.floor(times * 10 + 1e-9) / 10  # the predicted function is constant between tenths
        expected = np.exp(-np.exp(X[group, 0])[:, None] * known).mean(axis=0)
        np.testing.assert_allclose(heights[times < 5.9], expected[times < 5.9], atol=1e-12)
        assert times.max() <= y[group, 1].max()


def test_samples_of_a_stratum_are_predicted_by_its_baseline():
    X, y = samples()
    strata = np.where(np.arange(N) < 40, "a", "b")
    frame = pd.DataFrame({"time": y[:, 1], "event": y[:, 2], "strata": strata})
    model = Exponential(np.array(["a", "b"]))
    _, times, heights = lines(plot.survival(model, X, frame, n_groups=1), "dashed")[0]
    moment = int(np.searchsorted(times, 0.55))
    expected = np.exp(-np.exp(X[:, 0]) * np.where(strata == "b", 2, 1) * (np.floor(times[moment] * 10) / 10)).mean()
    assert heights[moment] == pytest.approx(expected)
    plot.survival(Exponential(), X, frame)  # a model without strata is not given any


@pytest.mark.parametrize("late", [False, True])
def test_numbers_at_risk_stand_below_the_ticks_and_those_at_zero_are_all_that_have_entered(late):
    X, y = samples(late=late)
    ax = plot.survival(Exponential(), X, y, n_groups=2)
    ticks = np.append(1e-300, ax.get_xticks()[1:])
    expected = [at_risk(y[part], ticks) for part in (X[:, 0] < np.median(X[:, 0]), X[:, 0] >= np.median(X[:, 0]))]
    written = [text.get_text() for text in ax.texts]
    rows = [["low risk", *(f"{n:.0f}" for n in expected[0])], ["high risk", *(f"{n:.0f}" for n in expected[1])]]
    assert written == ["at risk", *rows[0], *rows[1]]
    if not late:
        assert (rows[0][1], rows[1][1]) == ("45", "45")


@pytest.mark.parametrize(("risk", "sizes"), [([0.0] * 80 + [1.0] * 10, [80, 10]), ([0.0] * 10 + [1.0] * 80, [10, 80])])
def test_samples_of_the_same_risk_stay_together(risk, sizes):
    _, y = samples()
    ax = plot.survival(Exponential(), np.column_stack([risk, risk]), y)
    assert [len(times) - 1 for _, times, _ in lines(ax, "steps")] == sizes
    assert {"low risk", "high risk"} <= {text.get_text() for text in ax.texts}
    ax = plot.survival(Exponential(), np.zeros((N, 2)), y)
    assert {"all", "90"} <= {text.get_text() for text in ax.texts}


def test_predictions_in_parts_are_those_of_all_samples_at_once(monkeypatch):
    X, y = samples()
    whole = lines(plot.survival(Exponential(), X, y), "dashed")
    monkeypatch.setattr("riata.plot.survival_curves._MAX_ENTRIES", 700)
    frame = pd.DataFrame(X, index=np.arange(N) * 2.5)
    for (*_, heights), (*_, expected) in zip(
        lines(plot.survival(Exponential(), frame, y), "dashed"), whole, strict=True
    ):
        np.testing.assert_array_equal(heights, expected)


@pytest.mark.parametrize("n_groups", [1, 2, 3, 5])
@pytest.mark.parametrize("scale", [1e-3, 1, 4e5])
def test_nothing_overlaps_or_is_cut_off(n_groups, scale):
    X, y = samples()
    X, y = np.tile(X, (20, 1)), np.tile(y * [scale, scale, 1], (20, 1))
    ax = plot.survival(Exponential(), X, y, n_groups=n_groups)
    figure = ax.figure
    figure.draw_without_rendering()
    labels = [*ax.texts, *ax.get_xticklabels(), ax.xaxis.label, *ax.get_legend().get_texts()]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_the_figure_of_the_command_line_names_the_time_as_it_is():
    X, y = samples()
    figure = survival_figure(Exponential(), X, y, title="90 rows", time="$t_{")
    figure.draw_without_rendering()
    (ax,) = figure.axes
    assert (ax.get_title(loc="left"), ax.get_xlabel()) == ("90 rows", "$t_{")
    legend, title = ax.get_legend().get_window_extent(), ax._left_title.get_window_extent()
    assert legend.y1 <= title.y0 and title.y1 <= figure.bbox.y1


# ---- calibration ----------------------------------------------------------------------------------------------------


def test_a_group_lies_at_its_mean_prediction_and_its_kaplan_meier_estimate():
    X, y = samples()
    figure = Figure()
    ax = plot.calibration(Exponential(), X, y, 0.5, ax=figure.subplots())
    assert ax.figure is figure
    members = np.argsort(X[:, 0]).reshape(5, N // 5)
    means, heights = ax.lines[1].get_data()
    np.testing.assert_allclose(means, [np.exp(-0.5 * np.exp(X[group, 0])).mean() for group in members], atol=1e-12)
    expected = np.array([kaplan_meier(y[group]).at(0.5) for group in members])
    np.testing.assert_array_equal(heights, expected[:, 0])
    intervals = np.array([path.vertices[:, 1] for path in ax.collections[0].get_paths()])
    np.testing.assert_array_equal(intervals, expected[:, 1:])
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]


def test_samples_that_follow_the_model_lie_on_the_diagonal():
    draw = np.random.default_rng(3)
    X = draw.normal(size=(20_000, 1))
    time, entry = draw.exponential(np.exp(-X[:, 0])), draw.exponential(0.3, 20_000) * (draw.random(20_000) < 0.5)
    y = np.column_stack([entry, time, np.ones(20_000)])[entry < time]
    ax = plot.calibration(Exponential(), X[entry < time], y, 0.5)
    means, heights = ax.lines[1].get_data()
    # Groups hold more than 3,000 samples, of which half enter late: three standard errors are about 0.03.
    np.testing.assert_allclose(heights, means, atol=0.04)


def test_a_time_that_nobody_reaches_and_a_model_without_survival_are_refused():
    X, y = samples()
    with pytest.raises(ValueError, match="time must lie above 0 and up to the last time of y"):
        plot.calibration(Exponential(), X, y, 1e3)
    for call in (lambda model: plot.survival(model, X, y), lambda model: plot.calibration(model, X, y, 1)):
        with pytest.raises(ValueError, match="needs a survival model, such as LassoNetCoxRegressor; got LassoNetReg"):
            call(LassoNetRegressor())
