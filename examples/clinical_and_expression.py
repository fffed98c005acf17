"""
Clinical columns and gene expression
====================================

A few clinical columns are known to matter, and are in every record anyway. Which genes add to them?

Clinical columns get a penalty weight of 0: they stay in the model along the whole path, and genes are selected given them.
Genes of one pathway can be told to enter and leave together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from riata import LassoNetClassifier, feature_effects

# %%
# Data
# ----
# Simulated: 800 patients, three clinical columns with gaps, and 120 genes in pathways of four. Age, stage and the genes of
# the first pathway change the risk; so does the gene g40 alone. The genes g41, g42 and g43 are correlated with g40.
rng = np.random.default_rng(0)
n, n_genes = 800, 120
age = rng.normal(62, 9, n)
stage = rng.choice(["I", "II", "III"], n, p=[0.5, 0.3, 0.2])
clinical = pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "stage": stage})

expression = rng.normal(size=(n, n_genes))
expression[:, 41:44] = 0.8 * expression[:, [40]] + 0.6 * expression[:, 41:44]
genes = pd.DataFrame(expression, columns=[f"g{i}" for i in range(n_genes)])
risk = (
    0.1 * (age - 62)
    + np.select([stage == "II", stage == "III"], [1.2, 2.4])
    + 1.0 * expression[:, :4].sum(axis=1)
    + 2.0 * expression[:, 40]
)
y = pd.Series(risk - 0.8 + rng.logistic(size=n) > 0, name="relapse")

clinical.loc[rng.random(n) < 0.1, "age"] = np.nan
X = pd.concat([clinical, genes], axis=1)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
X.iloc[:3, :6]

# %%
# Clinical columns are free
# -------------------------
# Text columns are categories, one feature each, and a missing age becomes a mark of that feature: nothing needs encoding.
# A cost of 0 is no penalty.
free = {name: 0.0 for name in clinical}
model = LassoNetClassifier(feature_costs=free, random_state=0).fit(X, y)
clinical_only = LassoNetClassifier(random_state=0).fit(X[list(clinical)], y)
print(f"selected: {', '.join(model.get_feature_names_out())}")
print(f"accuracy on held-out patients: {model.score(X_new, y_new):.3f}")
print(f"of clinical columns alone: {clinical_only.score(X_new[list(clinical)], y_new):.3f}")

# %%
# Pathways enter and leave together
# ---------------------------------
# One label for each column; columns with the same label are one unit. The gene g40 brings its pathway along.
labels = [*clinical, *(f"pathway {i // 4}" for i in range(n_genes))]
grouped = LassoNetClassifier(feature_costs=free, feature_groups=labels, random_state=0).fit(X, y)
selected = dict.fromkeys(label for label, used in zip(labels, grouped.selected_, strict=True) if used)
print(f"selected: {', '.join(selected)}")
print(f"accuracy on held-out patients: {grouped.score(X_new, y_new):.3f}")

# %%
# What they do
# ------------
# The change of the predicted probability of a relapse with each selected feature, on held-out patients.
effects = feature_effects(model, X_new)
effects

# %%
# The coefficients of the linear part along the path: free columns stay to the end.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
model.plot_coefficients(ax=ax)
plt.show()
