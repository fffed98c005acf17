"""
Pipelines and grid search
=========================

riata's estimators are scikit-learn estimators: they work as a selector or as the last step of a ``Pipeline``, after a
``ColumnTransformer``, and in ``GridSearchCV``.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from riata import LassoNetRegressor

# %%
# Data: ten columns of the diabetes data, two of them made categories again, and 30 columns of noise.
data = load_diabetes(as_frame=True, scaled=False)
X, y = data.data, data.target
X["sex"] = X["sex"].map({1.0: "f", 2.0: "m"})
X["clinic"] = np.random.default_rng(1).choice(["north", "south", "west"], len(X))
noise = np.random.default_rng(0).normal(size=(len(X), 30))
X = pd.concat([X, pd.DataFrame(noise, columns=[f"noise{i}" for i in range(30)])], axis=1)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)

# %%
# A selector in front of another model
# ------------------------------------
# ``transform`` returns the selected columns. The encoder is what another selector would need; with riata it could be left
# out, as columns of text are categories, one feature each.
columns = make_column_transformer(
    (OneHotEncoder(drop="if_binary", sparse_output=False), ["sex", "clinic"]),
    remainder=StandardScaler(),
    verbose_feature_names_out=False,
)
selector = LassoNetRegressor((10,), n_features_to_select=4, random_state=0)
neighbours = make_pipeline(columns, selector, KNeighborsRegressor(10)).set_output(transform="pandas").fit(X, y)
print(f"selected: {', '.join(neighbours[:-1].get_feature_names_out())}")
print(f"R² of nearest neighbours on these: {neighbours.score(X_new, y_new):.3f}")
everything = make_pipeline(columns, KNeighborsRegressor(10)).fit(X, y)
print(f"R² of nearest neighbours on all:   {everything.score(X_new, y_new):.3f}")

# %%
# Grid search
# -----------
# λ needs no search: every fit solves the whole path and selects a point. To select λ by cross-validation too, use
# :class:`~riata.LassoNetRegressorCV`.
model = make_pipeline(columns, LassoNetRegressor((10,), random_state=0))
grid = {
    "lassonetregressor__M": [0, 10],
    "lassonetregressor__select": ["1se", "best"],
}
search = GridSearchCV(model, grid, cv=3).fit(X, y)
print(f"best: {search.best_params_}")
print(f"R²: {search.score(X_new, y_new):.3f} with {search.best_estimator_[-1].n_selected_} columns")
pd.DataFrame(search.cv_results_)[
    ["param_lassonetregressor__M", "param_lassonetregressor__select", "mean_test_score", "std_test_score"]
]

# %%
# The fitted step is an estimator like any other.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
search.best_estimator_[-1].plot_path(ax=ax)
plt.show()
