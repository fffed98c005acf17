"""
Marker genes in AnnData
=======================

Which genes tell the types of cells apart? A fit on ``adata.X`` and a column of ``adata.obs``; results go into ``adata.var``.

It needs ``pip install "riata[anndata]"``. On the command line this is ``riata select cells.h5ad --target cell_type``.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from riata import LassoNetClassifier

# %%
# Data
# ----
# Simulated counts: 600 cells of three types and 200 genes. Ten genes are higher in one type each; the type also shows in the
# total count of a cell, which normalisation removes.
rng = np.random.default_rng(0)
n, n_genes = 600, 200
cell_type = rng.choice(["B cell", "T cell", "monocyte"], n, p=[0.3, 0.5, 0.2])
mean = rng.gamma(2, 1, n_genes) * np.ones((n, 1))
markers = {"B cell": [0, 1, 2], "T cell": [3, 4, 5], "monocyte": [6, 7, 8, 9]}
for name, genes in markers.items():
    mean[np.ix_(cell_type == name, genes)] *= 4
depth = rng.lognormal(0, 0.4, (n, 1)) * np.where(cell_type == "monocyte", 2, 1)[:, None]
adata = anndata.AnnData(
    rng.poisson(mean * depth).astype(np.float32),
    obs=pd.DataFrame({"cell_type": pd.Categorical(cell_type)}, index=[f"cell{i}" for i in range(n)]),
    var=pd.DataFrame(index=[f"gene{i}" for i in range(n_genes)]),
)
adata.layers["counts"] = adata.X.copy()
adata.X = np.log1p(1e3 * adata.X / adata.X.sum(axis=1, keepdims=True))
adata

# %%
# Fit
# ---
# A sparse ``adata.X`` becomes an array with ``.toarray()``.
model = LassoNetClassifier(random_state=0).fit(adata.X, adata.obs["cell_type"])
adata.var["selected"] = model.selected_
adata.var["importance"] = model.feature_importances_
adata.obs["predicted"] = model.predict(adata.X)
adata.obsm["probability"] = model.predict_proba(adata.X)
adata.uns["riata"] = {"lambda": model.lambda_, "n_selected": model.n_selected_}
print(f"selected: {', '.join(adata.var_names[adata.var['selected']])}")

# %%
adata.var.sort_values("importance", ascending=False).head(12)

# %%
# A panel of a given size
# -----------------------
# How well would fewer genes do? Validation loss along the path, then a model of three genes.
fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
model.plot_path(ax=ax)
plt.show()

# %%
panel = model.at(n_features=3)
accuracy = panel.score(adata.X, adata.obs["cell_type"])
print(f"three genes: {', '.join(adata.var_names[panel.selected_])}, accuracy on these cells {accuracy:.2f}")

# %%
# The subset for everything that follows.
small = adata[:, panel.selected_].copy()
small
