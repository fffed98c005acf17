"""Effect of two features together on the predictions of a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier

from riata.evidence import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Surface", "effect_surface"]

Floats = NDArray[np.float64]
_VALUES = 7  # of each feature
_LEAST = 1e-12  # probability of which a logarithm is taken
_SAMPLES, _ENTRIES = 100, 2**22  # samples, and entries of the tables that are predicted at once


@dataclass(frozen=True, eq=False)
class Surface:
    """Mean prediction of a model where two features are set to values in all samples, and the others are unchanged.

    Attributes
    ----------
    features : tuple of two str
        Their names.
    values : tuple of two arrays
        Increasing numbers, or the most common levels of a category.
    prediction : array of shape (m1, m2, o)
        In units of the target, as for :class:`Curve`.
    outputs : list of str
        Names of the classes, or of the targets where there are several.
    interaction : array of shape (o,)
        Standard deviation, over the cells, of what is left of the prediction after the means of rows and columns. For a
        classifier this is of the log odds of a label, or of the centred logarithms of the probabilities of classes: there,
        features that do not interact add up.
    share : array of shape (o,)
        The share of the variance over the cells that this is.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from riata import effect_surface
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> surface = effect_surface(LinearRegression().fit(X, y), X, "bmi", "s5")
    >>> surface.prediction.shape, bool(surface.share[0] < 1e-9)  # effects that add up
    ((7, 7, 1), True)
    """

    features: tuple[str, str]
    values: tuple[NDArray[Any], NDArray[Any]]
    prediction: Floats
    outputs: list[str]
    interaction: Floats
    share: Floats

    def plot(self, *, output: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the mean prediction as colours over the plane of the features.

        Parameters
        ----------
        output : str, optional
            Which of ``outputs`` to draw. By default the second of two classes, and of more outputs the one with the largest
            interaction.
        ax : Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        Axes
            What was drawn on, as by :func:`riata.plot.surface`.
        """
        from riata import plot  # matplotlib takes a second to import

        return plot.surface(self, output=output, ax=ax)


def effect_surface(model: Any, X: Any, first: Any, second: Any, *, random_state: Any = None) -> Surface:
    """Return the mean prediction as a function of two features: their partial dependence.

    Parameters
    ----------
    model : classifier, regressor or survival model
        Fitted on a data frame or an array with the columns of X.
    X : array-like of shape (n_samples, n_features)
        Samples that the model was not fitted on. A random part of them is used, if there are more than a hundred.
    first, second : str or int
        Names or positions of columns.
    random_state : int, optional
        Seed of that part.

    Returns
    -------
    Surface
        Values, mean predictions, and how much of them is an interaction.

    Examples
    --------
    >>> import numpy as np
    >>> from riata import effect_surface
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    >>> model = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    >>> bool(effect_surface(model, X, 0, 1).share[0] > 0.9)  # an interaction, with next to no effect of either alone
    True
    """
    frame = curves.checked(model, X)
    frame = curves.subsample(frame, random_state, max(20, min(_SAMPLES, _ENTRIES // (_VALUES**2 * frame.shape[1]))))
    places = [curves.position(frame, feature) for feature in (first, second)]
    columns: list[pd.Series] = [frame.iloc[:, j] for j in places]
    values = [_values(model, column, j) for column, j in zip(columns, places, strict=True)]
    cells = [(a, b) for a in values[0] for b in values[1]]
    tables = []
    for a, b in cells:
        changed = curves.with_value(frame, places[0], columns[0], a)
        tables.append(curves.with_value(changed, places[1], columns[1], b))
    stacked = pd.concat(tables, ignore_index=True)
    named = hasattr(model, "feature_names_in_") or not isinstance(X, np.ndarray)
    found = curves.predicted(model, stacked if named else stacked.to_numpy())
    shape = (len(values[0]), len(values[1]), len(frame), -1)
    mean = found.reshape(shape).mean(axis=2)  # (m1, m2, o)
    effect = _where_effects_add_up(model, found).reshape(shape).mean(axis=2)
    rest = effect - effect.mean(axis=0) - effect.mean(axis=1)[:, None] + effect.mean(axis=(0, 1))
    total = effect.std(axis=(0, 1))
    left = rest.std(axis=(0, 1))
    share = np.square(np.divide(left, total, out=np.zeros_like(left), where=total > 1e-9))
    names = (str(frame.columns[places[0]]), str(frame.columns[places[1]]))
    return Surface(names, (values[0], values[1]), mean, curves.output_names(model, mean.shape[2]), left, share)


def _where_effects_add_up(model: Any, predicted: Floats) -> Floats:
    """Return logarithms of probabilities, of each class less their mean or of the odds of a label; numbers as they are."""
    if not is_classifier(model):
        return predicted
    logs = np.log(np.maximum(predicted, _LEAST))
    exclusive = np.allclose(predicted.sum(axis=1), 1)
    against: Floats = logs.mean(axis=1, keepdims=True) if exclusive else np.log(np.maximum(1 - predicted, _LEAST))
    return logs - against


def _values(model: Any, column: pd.Series, j: int) -> NDArray[Any]:
    return curves.grid(column, _VALUES)[0] if curves.has_order(model, column, j) else curves.levels(column)[0][:_VALUES]
