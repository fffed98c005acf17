"""
Survival times
==============

Which features predict how long women live without a recurrence of breast cancer?

The data are those of the German Breast Cancer Study Group, which ship with scikit-survival: 686 women, 299 recurrences or
deaths, five columns of numbers and three of categories. It needs ``pip install "riata[survival]"``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_gbsg2
from sksurv.linear_model import CoxnetSurvivalAnalysis
from sksurv.preprocessing import OneHotEncoder

from riata import LassoNetCoxRegressorCV, feature_effects, plot

X, y = load_gbsg2()
X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, stratify=y["cens"], random_state=0)

# %%
# Cox's model with a network
# --------------------------
# λ by five-fold cross-validation. The score is the concordance: the share of pairs of women whose order is predicted.
model = LassoNetCoxRegressorCV(random_state=0).fit(X, y)
print(f"selected {model.n_selected_} of {X.shape[1]}: {', '.join(model.get_feature_names_out())}")
print(f"concordance of {len(X_new)} held-out women: {model.score(X_new, y_new):.3f}")

# %%
# Compared with a linear model
# ----------------------------
# The lasso of scikit-survival, with the α of the highest concordance over five folds. Near the largest α a fold may keep no
# column.
coxnet = make_pipeline(OneHotEncoder(), StandardScaler(), CoxnetSurvivalAnalysis(l1_ratio=1.0)).fit(X, y)
alphas = [[alpha] for alpha in coxnet[-1].alphas_ if alpha < coxnet[-1].alphas_[0] / 2]
folds = KFold(5, shuffle=True, random_state=0)
linear = GridSearchCV(coxnet, {"coxnetsurvivalanalysis__alphas": alphas}, cv=folds).fit(X, y)
n_inputs = np.count_nonzero(linear.best_estimator_[-1].coef_)
print(f"that of Coxnet, {n_inputs} coefficients: {linear.score(X_new, y_new):.3f}")

# %%
# What the features do
# --------------------
# Changes of the mean log hazard over held-out women: with a size of 0.8 the hazard changes by a factor of exp(0.8).
print(feature_effects(model, X_new).to_string(index=False))

# %%
# Predicted and observed survival
# -------------------------------
# Thirds of the predicted risk, and the probability of three years without a recurrence.
fig, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), width_ratios=(1.4, 1), layout="constrained")
plot.survival(model, X_new, y_new, ax=left)
left.set(xlabel="days", ylabel="recurrence-free survival")
plot.calibration(model, X_new, y_new, 3 * 365, ax=right)
right.set_xlabel("predicted recurrence-free survival at three years")
plt.show()
