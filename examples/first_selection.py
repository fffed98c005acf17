"""
A first selection
=================

Which measurements of a cell nucleus tell a malignant tumour from a benign one? A fit, its path, and what it selects.

The data ship with scikit-learn: 569 tumours, 30 columns.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from riata import LassoNetClassifier, feature_effects, permutation_importance

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)

# %%
# Fit
# ---
# One call trains a network with all features, increases the penalty until none is left, and selects the point with the fewest
# features whose validation loss is about the lowest.
model = LassoNetClassifier(random_state=0).fit(X, y)
print(f"{model.n_selected_} of {X.shape[1]} features: {', '.join(model.get_feature_names_out())}")
print(f"accuracy on {len(X_new)} held-out tumours: {model.score(X_new, y_new):.3f}")

# %%
# The path
# --------
# All points of the path are kept. Each is a model with its own features.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(1.1, 1), layout="constrained")
model.plot_path(ax=left)
model.plot_importance(ax=right)
plt.show()

# %%
# Another number of features
# --------------------------
# :meth:`~riata.LassoNetClassifier.at` gives the model at another point, refitted on its features, without a new path.
for k in (1, 2, 5, 10):
    few = model.at(n_features=k)
    print(f"at most {k:2}: accuracy {few.score(X_new, y_new):.3f} with {', '.join(few.get_feature_names_out())}")

# %%
# What the features do
# --------------------
# On samples that the model has not seen: how much worse it gets when the values of a feature are permuted, and how its
# prediction changes with the feature.
importances = permutation_importance(model, X_new, y_new, random_state=0)
importances.head()

# %%
effects = feature_effects(model, X_new)
effects
