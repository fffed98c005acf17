"""Laws of methods that draw: each shows what its function of ``riata.plot`` shows, on given axes, and only once fitted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, LinearRegression

from riata import (
    LassoNetAutoencoder,
    LassoNetClassifierCV,
    LassoNetCoxRegressor,
    LassoNetCoxRegressorCV,
    LassoNetImputer,
    LassoNetRegressor,
    LassoNetRegressorCV,
    StabilitySelector,
    Training,
    effect_curve,
    effect_surface,
    plot,
)
from tests.plot.drawn import drawn

QUICK = {"hidden_dims": (3,), "training": Training(n_iters=(20, 5), path_multiplier=1.3), "random_state": 0}


class Fits(NamedTuple):
    """Small fitted models, and what they were fitted on."""

    X: Any
    y: Any
    times: np.ndarray
    regressor: LassoNetRegressor
    cv: LassoNetRegressorCV
    cox: LassoNetCoxRegressor
    stability: StabilitySelector


@pytest.fixture(scope="module")
def fits() -> Fits:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.iloc[:200].rename(columns={"bmi": "$b_{mi", "s5": "<b>"})
    y, draw = y.iloc[:200], np.random.default_rng(0)
    times = np.column_stack([draw.exponential(np.exp(-20 * X["$b_{mi"].to_numpy())), draw.random(200) < 0.7])
    return Fits(
        X,
        y,
        times,
        LassoNetRegressor(n_features_to_select=3, **QUICK).fit(X, y),
        LassoNetRegressorCV(cv=2, **QUICK).fit(X, y),
        LassoNetCoxRegressor(n_features_to_select=1, **QUICK).fit(X, times),
        StabilitySelector(Lasso(0.3), n_features=3, n_resamples=10, random_state=0).fit(X, y),
    )


def dense(model: Any) -> Any:
    """The model with all of its features."""
    return copy.copy(model).load(model.path_[0])


Draw = Callable[[Fits, Axes | None], Axes]
PAIRS: dict[str, tuple[Draw, Draw]] = {
    "Path.plot": (
        lambda f, ax: f.regressor.path_.plot(f.regressor.path_[2], ax=ax),
        lambda f, ax: plot.path(f.regressor.path_, f.regressor.path_[2], ax=ax),
    ),
    "Path.plot_coefficients": (
        lambda f, ax: f.regressor.path_.plot_coefficients(top=2, ax=ax),
        lambda f, ax: plot.coefficients(
            f.regressor.path_.lambdas, f.regressor.path_.skip_norms(), top=2, label="norm of linear weights", ax=ax
        ),
    ),
    "plot_path": (
        lambda f, ax: f.regressor.plot_path(ax=ax),
        lambda f, ax: plot.path(f.regressor.path_, f.regressor.point_, ax=ax),
    ),
    "plot_coefficients": (
        lambda f, ax: f.regressor.plot_coefficients(top=4, ax=ax),
        lambda f, ax: f.regressor.path_.plot_coefficients(names=list(f.X), at=f.regressor.lambda_, top=4, ax=ax),
    ),
    "plot_importance": (
        lambda f, ax: dense(f.regressor).plot_importance(top=5, ax=ax),
        lambda f, ax: plot.importance(
            dense(f.regressor).feature_importances_, np.ones(10, dtype=bool), names=list(f.X), top=5, ax=ax
        ),
    ),
    "plot_cv": (lambda f, ax: f.cv.plot_cv(ax=ax), lambda f, ax: plot.cv(f.cv, ax=ax)),
    "plot_survival": (
        lambda f, ax: f.cox.plot_survival(f.X, f.times, n_groups=2, confidence=0.9, ax=ax),
        lambda f, ax: plot.survival(f.cox, f.X, f.times, n_groups=2, confidence=0.9, ax=ax),
    ),
    "plot_calibration": (
        lambda f, ax: f.cox.plot_calibration(f.X, f.times, 0.5, n_groups=3, confidence=0.9, ax=ax),
        lambda f, ax: plot.calibration(f.cox, f.X, f.times, 0.5, n_groups=3, confidence=0.9, ax=ax),
    ),
    "StabilitySelector.plot": (
        lambda f, ax: f.stability.plot(top=3, ax=ax),
        lambda f, ax: plot.stability(f.stability, top=3, ax=ax),
    ),
    "Curve.plot": (
        lambda f, ax: effect_curve(LinearRegression().fit(f.X, f.y), f.X, "bp", random_state=0).plot(
            data=f.X["bp"], ax=ax
        ),
        lambda f, ax: plot.effect(
            effect_curve(LinearRegression().fit(f.X, f.y), f.X, "bp", random_state=0), data=f.X["bp"], ax=ax
        ),
    ),
    "Surface.plot": (
        lambda f, ax: effect_surface(LinearRegression().fit(f.X, f.y), f.X, "bp", "<b>", random_state=0).plot(ax=ax),
        lambda f, ax: plot.surface(
            effect_surface(LinearRegression().fit(f.X, f.y), f.X, "bp", "<b>", random_state=0), ax=ax
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_method_draws_what_its_function_draws(name, fits):
    method, function = PAIRS[name]
    shown = drawn(method(fits, None))
    assert len(shown) > 2  # texts, and more than one thing drawn
    assert shown == drawn(function(fits, None))


@pytest.mark.parametrize("name", PAIRS)
def test_a_method_draws_on_the_axes_it_is_given_and_makes_no_figure(name, fits, monkeypatch):
    left, right = Figure(figsize=(9, 4), layout="constrained").subplots(1, 2)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a figure was made")

    monkeypatch.setattr(Figure, "__init__", refuse)
    assert PAIRS[name][0](fits, right) is right
    assert right.has_data() and not left.has_data()


@pytest.mark.parametrize(
    ("estimator", "methods"),
    [
        (LassoNetRegressor(), ("plot_path", "plot_coefficients", "plot_importance")),
        (LassoNetAutoencoder(), ("plot_path", "plot_coefficients", "plot_importance")),
        (LassoNetImputer(), ("plot_path", "plot_coefficients", "plot_importance")),
        (LassoNetClassifierCV(), ("plot_path", "plot_coefficients", "plot_importance", "plot_cv")),
        (StabilitySelector(Lasso()), ("plot",)),
    ],
)
def test_before_fit_scikit_learns_error_is_raised(estimator, methods):
    for method in methods:
        with pytest.raises(NotFittedError):
            getattr(estimator, method)()


def test_survival_figures_are_those_of_survival_models():
    for estimator in (LassoNetCoxRegressor(), LassoNetCoxRegressorCV()):
        with pytest.raises(NotFittedError):
            estimator.plot_survival([[0.0]], [[1.0, 1.0]])
        with pytest.raises(NotFittedError):
            estimator.plot_calibration([[0.0]], [[1.0, 1.0]], 1.0)
    assert not hasattr(LassoNetRegressor(), "plot_survival") and not hasattr(LassoNetRegressor(), "plot_cv")


def test_names_are_those_of_fit_and_shown_as_they_are(fits):
    ax = dense(fits.regressor).plot_importance()
    assert {label.get_text() for label in ax.get_yticklabels()} == set(fits.X)
    ax.figure.draw_without_rendering()
    plain = LassoNetRegressor(n_features_to_select=2, **QUICK).fit(fits.X.to_numpy(), fits.y)
    assert {label.get_text() for label in dense(plain).plot_importance().get_yticklabels()} == {
        f"x{j}" for j in range(10)
    }
