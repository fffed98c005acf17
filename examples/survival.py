"""Breast cancer: which features predict how long women live without a recurrence, with a picture.

    python examples/survival.py [picture.png]

The data are those of the German Breast Cancer Study Group, which ship with scikit-survival: 686 women, 299 recurrences or
deaths, five columns of numbers and three of categories. It needs ``pip install riata[survival]``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_gbsg2
from sksurv.linear_model import CoxnetSurvivalAnalysis
from sksurv.preprocessing import OneHotEncoder

from riata import LassoNetCoxRegressorCV, feature_effects, plot

THREE_YEARS = 3 * 365


def coxnet(X: Any, y: Any) -> GridSearchCV:
    """Return the lasso of scikit-survival, with the α of the highest concordance over five folds."""
    path = make_pipeline(OneHotEncoder(), StandardScaler(), CoxnetSurvivalAnalysis(l1_ratio=1.0)).fit(X, y)
    largest = path[-1].alphas_[0]
    alphas = [[alpha] for alpha in path[-1].alphas_ if alpha < largest / 2]  # above, a fold may keep no column
    folds = KFold(5, shuffle=True, random_state=0)
    return GridSearchCV(path, {"coxnetsurvivalanalysis__alphas": alphas}, cv=folds).fit(X, y)


def main(path: str) -> None:
    """Select, score on a third of the women, print effects, and draw."""
    X, y = load_gbsg2()
    X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, stratify=y["cens"], random_state=0)

    model = LassoNetCoxRegressorCV(random_state=0).fit(X, y)
    print(f"selected {model.n_selected_} of {X.shape[1]}: {', '.join(model.get_feature_names_out())}")
    linear = coxnet(X, y)
    n_inputs = np.count_nonzero(linear.best_estimator_[-1].coef_)
    print(f"concordance of {len(X_new)} held-out women: {model.score(X_new, y_new):.3f}")
    print(f"that of Coxnet, {n_inputs} coefficients: {linear.score(X_new, y_new):.3f}")
    print(feature_effects(model, X_new).to_string(index=False))

    figure = Figure(figsize=(10.5, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.4, 1))
    plot.survival(model, X_new, y_new, ax=left)
    left.set(xlabel="days", ylabel="recurrence-free survival")
    plot.calibration(model, X_new, y_new, THREE_YEARS, ax=right)
    right.set_xlabel("predicted recurrence-free survival at three years")
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "survival.png")
