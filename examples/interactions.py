"""
Features that matter only together
==================================

An xor, a ring and a pair of genes among 300 columns each. No column of the xor, and neither gene, says anything of the target
by itself. Genes are codes: the number of rare alleles.
"""

import matplotlib.pyplot as plt
import numpy as np

from riata import LassoNetClassifier, plot

N_ROWS, N_COLUMNS = 1000, 300
PAIR = [12, 200]  # the columns that matter


def xor(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Both columns in the same half, or not."""
    X = rng.random((N_ROWS, N_COLUMNS))
    return X, np.prod(X[:, PAIR] - 0.5, axis=1) > 0


def ring(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Near a circle, or not."""
    X = rng.random((N_ROWS, N_COLUMNS))
    return X, np.abs(np.linalg.norm(X[:, PAIR] - 0.5, axis=1) - 0.35) < 0.115


def genes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ill with a probability of 0.6 where exactly one of the two has one rare allele, else of 0.2."""
    X = rng.binomial(2, 0.5, (N_ROWS, N_COLUMNS)).astype(np.float64)
    risky = (X[:, PAIR] == 1).sum(axis=1) == 1
    return X, rng.random(N_ROWS) < np.where(risky, 0.6, 0.2)


# %%
# All pairs are tested for interactions before the path, on the training samples; ``interactions_`` lists the clearest, with
# p-values that are corrected for the number of tests. :func:`riata.plot.interaction` shows the mean target over a pair.
fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
selected = {}
for ax, table in zip(axes, (xor, ring, genes), strict=True):
    X, y = table(np.random.default_rng(1))
    model = LassoNetClassifier(random_state=0).fit(X, y)
    first, second, _, statistic, p_value, _ = model.interactions_.iloc[0]
    selected[table.__name__] = np.flatnonzero(model.selected_).tolist()
    print(f"{table.__name__}: columns {first} and {second}, statistic {statistic:.1f}, corrected p-value {p_value:.1g}")
    print(f"  selected: {', '.join(map(str, selected[table.__name__]))}")
    plot.interaction(X[:, first], X[:, second], y, names=(f"column {first}", f"column {second}", table.__name__), ax=ax)
    ax.set_title(table.__name__)
plt.show()
