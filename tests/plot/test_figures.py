"""Laws of figures of weights, effects and images: they show the numbers they are given, and names as they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from riata import plot
from riata.evidence import Curve, Surface
from riata.path.points import Path
from riata.plot.style import BLUE, GREY, LINES, ORANGE, shortened
from tests.plot.test_plot import a_path, a_selector, cross_validated
from tests.plot.test_survival_curves import Exponential, samples

LONG = "a very long name of a gene that goes on and on " * 20
NAMES = ["a$b$", "$x_{", "<script>alert(1)</script>", "_hidden", "\\frac{1}{", "two\nlines", "", LONG]


def a_curve(values: Any, prediction: Any, **given: Any) -> Curve:
    prediction = np.asarray(prediction, dtype=float).reshape(len(values), -1)
    known = {"feature": "age", "ordered": True, "outputs": [""] * prediction.shape[1]}
    known |= {"shares": np.full(len(values), 1 / len(values)), "mean_range": np.ptp(prediction, axis=0)}
    return Curve(values=np.asarray(values), prediction=prediction, **known | given)


def a_surface(**given: Any) -> Surface:
    prediction = np.arange(12.0).reshape(2, 3, 2)
    known = {"features": ("age", "sex"), "values": (np.array([1.0, 2.5]), np.array(["f", "m", "?"], dtype=object))}
    known |= {"outputs": ["first", "second"], "interaction": np.array([2.0, 1.0]), "share": np.array([0.5, 0.2])}
    return Surface(prediction=given.pop("prediction", prediction), **known | given)


def names_in_legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- coefficients ---------------------------------------------------------------------------------------------------

LAMBDAS = np.array([0.0, 0.1, 0.2, 0.4])
WEIGHTS = np.array([[9, 9, 9, 9], [3.0, -2, 1, 0], [2.0, -1, 0, 0], [0.0, -0.5, 0, 0]])


def test_lines_are_the_weights_over_lambda_without_the_dense_model():
    ax = plot.coefficients(LAMBDAS, WEIGHTS, names=list("abcd"), at=0.2)
    assert names_in_legend(ax) == ["b", "a", "c"]  # those that stay longest come first, those never in not at all
    for line, j in zip(ax.lines, (1, 0, 2), strict=False):
        np.testing.assert_array_equal(line.get_xdata(), LAMBDAS[1:])
        np.testing.assert_array_equal(line.get_ydata(), WEIGHTS[1:, j])
    assert [to_hex(line.get_color()) for line in ax.lines[:3]] == list(LINES[:3])
    assert (ax.lines[-1].get_xdata(), to_hex(ax.lines[-1].get_color())) == ([0.2, 0.2], ORANGE)
    assert ax.get_xscale() == "log"


def test_features_without_a_name_are_grey_lines():
    ax = plot.coefficients(LAMBDAS, WEIGHTS, top=1)
    assert names_in_legend(ax) == ["x1"]
    grey = [path.vertices[:, 1].tolist() for path in ax.collections[0].get_paths()]
    assert grey == [WEIGHTS[1:, 0].tolist(), WEIGHTS[1:, 2].tolist()]
    assert to_hex(ax.collections[0].get_colors()[0]) == GREY


def test_the_upper_axis_has_the_number_of_features():
    ax = plot.coefficients(LAMBDAS, WEIGHTS)
    (above,) = ax.child_axes
    ticks = dict(zip(above.get_xticks(), (label.get_text() for label in above.get_xticklabels()), strict=True))
    assert ticks == {0.1: "3", 0.2: "2", 0.4: "1"}


def test_weights_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a row for each λ; got"):
        plot.coefficients(LAMBDAS[:2], WEIGHTS)
    with pytest.raises(ValueError, match="one name for each of the 4 features; got 1"):
        plot.coefficients(LAMBDAS, WEIGHTS, names=["a"])
    with pytest.raises(ValueError, match="no λ lies above 0"):
        plot.coefficients(LAMBDAS[:1], WEIGHTS[:1])


# ---- effects --------------------------------------------------------------------------------------------------------


def test_an_effect_is_the_mean_prediction_over_the_values():
    ax = plot.effect(a_curve([1.0, 2, 4], [5, 3, 8]))
    assert [line.tolist() for line in ax.lines[0].get_data()] == [[1, 2, 4], [5, 3, 8]]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_legend()) == ("age", "mean prediction", None)


def test_of_two_classes_the_second_is_shown_and_of_many_those_that_change_most():
    two = a_curve([1.0, 2], [[0.7, 0.3], [0.4, 0.6]], outputs=["no", "yes"])
    ax = plot.effect(two)
    assert ax.get_ylabel() == "mean probability of yes"
    assert ax.lines[0].get_ydata().tolist() == [0.3, 0.6]
    assert plot.effect(two, outputs="no").lines[0].get_ydata().tolist() == [0.7, 0.4]
    many = a_curve([0.0, 1], [np.zeros(8), [1, 9, 2, 8, 3, 7, 4, 6]], outputs=list("abcdefgh"))
    ax = plot.effect(many)
    assert names_in_legend(ax) == list("bdefgh")
    assert [line.get_ydata()[1] for line in ax.lines] == [9, 8, 3, 7, 4, 6]
    with pytest.raises(ValueError, match="outputs must be among 'no', 'yes'; got 'maybe'"):
        plot.effect(two, outputs="maybe")


def test_levels_are_points_at_their_predictions_with_the_most_common_on_top():
    curve = a_curve(["b", "a", "c"], [1.0, 4, 2], ordered=False, shares=np.array([0.2, 0.5, 0.3]))
    ax = plot.effect(curve)
    points, mean = ax.lines[-1], ax.lines[0]
    assert points.get_xdata().tolist() == [4, 2, 1]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a (50 %)", "c (30 %)", "b (20 %)"]
    assert mean.get_xdata()[0] == pytest.approx(0.2 * 1 + 0.5 * 4 + 0.3 * 2)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean prediction", "age")


def test_the_histogram_has_the_counts_of_the_middle_of_the_data_and_stays_below_the_line():
    data = np.append(np.repeat([1.0, 2.0, 4.0], [100, 300, 200]), [np.nan, 1e9])
    ax = plot.effect(a_curve([1.0, 2, 4], [5, 3, 8]), data=data)
    heights = [bar.get_height() for bar in ax.patches]
    assert sorted(heights)[-3:] == pytest.approx([0.06, 0.12, 0.18])
    lowest = ax.transAxes.inverted().transform(ax.transData.transform((2, 3)))[1]
    assert lowest > 0.18
    assert not plot.effect(a_curve([1.0, 2], [5, 3]), data=np.ones(9)).patches  # nothing to see


def test_dates_are_on_an_axis_of_dates():
    days = np.array(["2020-01-01", "2021-06-01", "2024-01-01"], dtype="datetime64[ns]")
    data = pd.Series(pd.date_range("2020-01-01", "2024-01-01", periods=50))
    ax = plot.effect(a_curve(days, [1, 2, 3]), data=data)
    ax.figure.draw_without_rendering()
    bars = [bar.get_x() for bar in ax.patches]
    assert date2num(days[0]) - 1 <= min(bars) < max(bars) <= date2num(days[-1])
    assert "2022-01" in [label.get_text() for label in ax.get_xticklabels()]


# ---- two features ---------------------------------------------------------------------------------------------------


def test_cells_of_a_surface_are_its_predictions_with_the_first_feature_along_the_horizontal_axis():
    surface = a_surface()
    ax = plot.surface(surface)
    np.testing.assert_array_equal(
        ax.collections[0].get_array(), surface.prediction[:, :, 0].T
    )  # the larger interaction
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2.5"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["f", "m", "?"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "sex")
    assert ax.figure.axes[1].get_ylabel() == "mean prediction of first"
    other = surface.plot(output="second")
    np.testing.assert_array_equal(other.collections[0].get_array(), surface.prediction[:, :, 1].T)
    with pytest.raises(ValueError, match="output must be one of 'first', 'second'; got 'third'"):
        plot.surface(surface, output="third")


def test_of_two_classes_a_surface_is_the_probability_of_the_second():
    share = np.linspace(0, 1, 6).reshape(2, 3)
    ax = plot.surface(a_surface(prediction=np.stack([1 - share, share], axis=2)))
    np.testing.assert_array_equal(ax.collections[0].get_array(), share.T)
    assert ax.figure.axes[1].get_ylabel() == "mean probability of second"


def test_cells_of_an_interaction_are_means_of_the_target_and_empty_ones_are_masked():
    first, second = np.array([0, 0, 1, 1, 1, 0]), np.array(["a", "a", "a", "b", "b", np.nan], dtype=object)
    ax = plot.interaction(first, second, [1.0, 3, 5, 7, 9, 100])
    drawn = ax.collections[0].get_array()
    assert drawn.filled(-1).tolist() == [[2, 5], [-1, 8]]
    shares = plot.interaction(first, second, np.array(["n", "y", "y", "n", "y", "y"]), names=("f", "s", "t"))
    assert shares.collections[0].get_array().filled(-1).tolist() == [[0.5, 1], [-1, 0.5]]
    assert shares.figure.axes[1].get_ylabel() == "share of t = y"
    with pytest.raises(ValueError, match="numbers or two classes; it has 3"):
        plot.interaction(first, first, np.array(list("abcabc")))


def test_of_many_levels_the_most_common_have_cells():
    levels = np.repeat(np.array(list("abcd"), dtype=object), [1, 5, 2, 4])
    ax = plot.interaction(levels, np.zeros(12), np.arange(12.0), bins=2)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "d"]
    assert ax.collections[0].get_array().tolist() == [[3.0, 9.5]]
    mixed = plot.interaction(np.array([1, "a", 2, "a"], dtype=object), np.zeros(4), np.arange(4.0))
    assert [label.get_text() for label in mixed.get_xticklabels()] == ["1", "2", "a"]


# ---- images ---------------------------------------------------------------------------------------------------------


def test_pixels_are_the_values_row_by_row():
    values = np.arange(6.0)
    ax = plot.pixels(values, (2, 3), label="weight")
    np.testing.assert_array_equal(ax.images[0].get_array(), values.reshape(2, 3))
    assert ax.figure.axes[1].get_ylabel() == "weight"
    some = plot.pixels(values, (2, 3), selected=values > 3).images[0].get_array()
    np.testing.assert_array_equal(some.mask, [[True, True, True], [True, False, False]])
    mask = plot.pixels(values > 3, (2, 3))
    colours = mask.images[0].cmap(mask.images[0].norm(mask.images[0].get_array()))
    assert [to_hex(colour) for colour in colours.reshape(-1, 4)] == [GREY] * 4 + [BLUE] * 2
    assert len(mask.figure.axes) == 1  # a mask needs no bar of colours


def test_zero_is_in_the_middle_of_the_colours_of_numbers_of_both_signs():
    image = plot.pixels(np.array([-1.0, 0, 3, np.nan]), (2, 2)).images[0]
    assert image.get_clim() == (-3, 3)
    np.testing.assert_allclose(image.cmap(image.norm(0.0))[:3], np.ones(3), atol=0.06)  # white, about
    assert to_hex(image.cmap(np.ma.masked)) == GREY
    assert plot.pixels(np.array([1.0, 2]), (1, 2)).images[0].get_clim() == (1, 2)


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"one pixel for each value; got \(2, 2\)"):
        plot.pixels(np.arange(5.0), (2, 2))


# ---- importances with intervals -------------------------------------------------------------------------------------


def test_the_table_of_permutation_importances_is_drawn_with_its_intervals():
    table = pd.DataFrame(
        {"feature": ["a", "b"], "importance": [0.1, 0.4], "low": [-0.05, 0.3], "high": [0.2, 0.5], "p_value": 0.5}
    )
    ax = plot.importance(table)
    assert [bar.get_width() for bar in ax.patches] == [0.4, 0.1]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]
    assert [path.vertices[:, 0].tolist() for path in ax.collections[0].get_paths()] == [[0.3, 0.5], [-0.05, 0.2]]
    assert ax.get_xscale() == "linear"


# ---- any names, few points, many features, given axes ---------------------------------------------------------------


def figures(names: list[str]) -> dict[str, Callable[[Axes | None], Axes]]:
    """Every figure that shows names, with these."""
    d = len(names)
    weights = np.arange(1.0, 1 + 3 * d).reshape(3, d)
    values = np.array(names, dtype=object)
    several = a_curve([0.0, 1], np.arange(2.0 * d).reshape(2, d), feature=names[0], outputs=names)
    level = a_curve(values, np.arange(float(d)), feature=names[0], ordered=False, outputs=names[1:2])
    surface = a_surface(features=(names[0], names[1]), values=(values[:2], values[-3:]), outputs=names[:2])
    return {
        "coefficients": lambda ax: plot.coefficients([0.1, 0.2, 0.3], weights, names=names, top=d, ax=ax),
        "importance": lambda ax: plot.importance(np.arange(1.0, d + 1), names=names, ax=ax),
        "stability": lambda ax: plot.stability(a_selector([0.9] * d), names=names, ax=ax),
        "several outputs": lambda ax: plot.effect(several, outputs=names[:6], ax=ax),
        "levels": lambda ax: plot.effect(level, ax=ax),
        "surface": lambda ax: plot.surface(surface, ax=ax),
        "interaction": lambda ax: plot.interaction(
            values, values, np.where(np.arange(d) % 2, names[0], names[1]), names=(names[2], names[1], names[0]), ax=ax
        ),
    }


def all_texts(ax: Axes) -> list[Any]:
    legend = ax.get_legend()
    bars = [each.yaxis.label for each in ax.figure.axes if each is not ax]
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    return [ax.xaxis.label, ax.yaxis.label, *ticks, *(legend.get_texts() if legend else []), *bars]


@pytest.mark.parametrize("figure", figures(NAMES))
def test_any_names_are_shown_as_they_are(figure):
    ax = figures(NAMES)[figure](None)
    ax.figure.draw_without_rendering()
    shown = [text for text in all_texts(ax) if text.get_text().strip()]
    for text in shown:
        assert not ("$" in text.get_text() and text.get_parse_math())
        assert "\n" not in text.get_text()
        box = text.get_window_extent()
        assert box.width < 0.6 * ax.figure.bbox.width or box.height < 0.6 * ax.figure.bbox.height
    assert any("a$b$" in text.get_text() for text in shown)


@pytest.mark.parametrize("figure", figures(NAMES))
def test_names_in_arabic_are_drawn(figure):
    arabic = ["العمر", "الوزن", "ضغط الدم", "الجنس", "سكر", "طول", "نبض", "حرارة"]
    ax = figures(arabic)[figure](None)
    ax.figure.draw_without_rendering()  # a warning of a missing glyph would be an error
    assert any("العمر" in text.get_text() for text in all_texts(ax))


def test_a_name_is_cut_where_it_is_long():
    assert shortened("a  b\nc") == "a b c"
    assert shortened("x" * 28) == "x" * 28 and shortened("x" * 29) == "x" * 27 + "…"


ONE = {
    "path": lambda ax: plot.path(a_path([5]), a_path([5])[0], ax=ax),
    "empty path point": lambda ax: plot.path(a_path([0]), a_path([0])[0], ax=ax),
    "coefficients": lambda ax: plot.coefficients([0.1], np.ones((1, 3)), at=0.1, ax=ax),
    "no feature": lambda ax: plot.coefficients([0.1, 0.2], np.zeros((2, 3)), ax=ax),
    "importance": lambda ax: plot.importance([0.0, 0.0], [False, False], ax=ax),
    "cv": lambda ax: plot.cv(cross_validated([3.0], [0.9], 0), ax=ax),
    "stability": lambda ax: plot.stability(a_selector([0.0, 0.0]), ax=ax),
    "effect": lambda ax: plot.effect(a_curve([1.0], [2]), data=[1.0, 1.0], ax=ax),
    "level": lambda ax: plot.effect(a_curve(["a"], [2], ordered=False), ax=ax),
    "surface": lambda ax: plot.surface(
        a_surface(values=(np.array([1.0]), np.array(["f"], dtype=object)), prediction=np.ones((1, 1, 2))), ax=ax
    ),
    "interaction": lambda ax: plot.interaction([1.0], [2.0], [3.0], ax=ax),
    "pixel": lambda ax: plot.pixels([1.0], (1, 1), ax=ax),
    "no pixel": lambda ax: plot.pixels([np.nan, np.nan], (1, 2), ax=ax),
    "survival": lambda ax: plot.survival(Exponential(), *samples(), n_groups=1, ax=ax),
    "calibration": lambda ax: plot.calibration(Exponential(), *samples(), 0.5, n_groups=1, ax=ax),
}


@pytest.mark.parametrize("figure", ONE)
def test_the_smallest_input_is_drawn_on_given_axes_without_another_figure(figure, monkeypatch):
    left, right = Figure(figsize=(9, 4), layout="constrained").subplots(1, 2)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a figure was made")

    monkeypatch.setattr(Figure, "__init__", refuse)
    assert ONE[figure](right) is right
    right.figure.draw_without_rendering()
    assert not left.has_data()


def test_a_path_without_points_is_refused():
    with pytest.raises(ValueError, match="the path has no points"):
        plot.path(Path([]))
    with pytest.raises(ValueError, match="the path has no points"):
        Path([]).plot_coefficients()


def test_ten_thousand_features_are_few_artists():
    """The time of a figure is that of its artists: one collection for all grey lines, and twenty bars."""
    d = 10_000
    weights = np.abs(np.random.default_rng(0).normal(size=(30, d))) * np.linspace(1, 0.1, 30)[:, None]
    names = [f"gene {j}" for j in range(d)]
    ax = plot.coefficients(np.geomspace(0.1, 1, 30), weights, names=names)
    assert len(ax.lines) < 20 and len(ax.collections[0].get_paths()) == d - 8
    assert len(plot.importance(weights[0], names=names).patches) == 20
    assert len(plot.stability(a_selector(weights[-1].clip(0, 1).tolist()), names=names).patches) == 20


def test_labels_of_cells_do_not_overlap():
    draw = np.random.default_rng(0)
    x = draw.uniform(-1e4, 1e4, (400, 2))
    ax = plot.interaction(x[:, 0], x[:, 1], x[:, 0] * x[:, 1])
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
